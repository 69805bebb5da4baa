"""Quantities that a part of a claim asks for, and the ranges they are claimed to lie in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

from perhop import _core
from perhop.experiment.fault import At, DesignError, Fault
from perhop.experiment.rules import half_width
from perhop.judge.factorial import Layout
from perhop.judge.grammar import Claims, Margin, Part, Quantities, place_of
from perhop.judge.verdict import HIGHER, LOWER, Hypothesis

Place = Mapping[str, str]
"""Levels of factors and values of groups, by name."""

PREVIOUS, ALL, PRINTED = "previous", "all", "printed"


@dataclass(frozen=True)
class Quantity:
    """A response somewhere; or its difference from, or ratio to, the same elsewhere.

    `other` is where the second is, of an effect its levels; `effect` has the levels whose effect is meant,
    not the value there; `per` is what it is divided by.
    """

    response: str
    at: Place
    way: Literal["alone", "less", "over"] = "alone"
    other: Place | None = None
    effect: Place | None = None
    per: float = 1.0

    @property
    def first(self) -> tuple[str, Place, Place | None]:
        """Response, levels and effect of its first value."""
        return self.response, self.at, self.effect

    @property
    def second(self) -> tuple[str, Place, Place | None]:
        """The same of its second value, which it has unless it is alone."""
        other = self.other or {}
        return (self.response, other, None) if self.effect is None else (self.response, self.at, other)

    def unit(self, of_response: str | None) -> str | None:
        """Return its unit: that of the response, or 1."""
        return "1" if self.way == "over" or self.per != 1.0 else of_response

    def made_of(self, value: Callable[[str, Place, Place | None], float | None]) -> float | None:
        """Compute it from values at places; None where one is missing, or a ratio is over 0."""
        first = value(*self.first)
        if first is None or self.way == "alone":
            return None if first is None else first / self.per
        second = value(*self.second)
        if second is None or (self.way == "over" and second == 0.0):
            return None
        return (first - second if self.way == "less" else first / second) / self.per


@dataclass(frozen=True)
class Subject:
    """The experiment that claims are about, as known before anything runs.

    Attributes
    ----------
    responses
        By name its groups, and the values of each; None where they are known only after a run.
    reference, references
        What a quantity is to be like, by its name: `"printed"` in a paper, or a model's; None where there is
        no such value. The names that `about` may use.
    in_sample
        Whether a calibration fitted a response at a place.
    also
        Names of sets of levels of a factor, beside `"all"` and `"printed"`.
    """

    responses: Mapping[str, Mapping[str, Sequence[str] | None]]
    levels: Mapping[str, Sequence[str]]
    treatments: Sequence[Place]
    reference: Callable[[str, str, Place, Place | None], float | None] = lambda *_: None
    in_sample: Callable[[str, Place], bool] = lambda *_: False
    also: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    references: Sequence[str] = (PRINTED,)
    units: Mapping[str, str | None] = field(default_factory=dict)
    factorial: Layout | None = None

    def known(self, response: str) -> dict[str, Sequence[str] | None]:
        """Return the names that place a response: factors with levels, groups with values."""
        return {**self.levels, **self.responses[response]}

    def printed(self, quantity: Quantity) -> float | None:
        """Return the printed value of a quantity; None where there is none."""
        return self.like(PRINTED, quantity)

    def like(self, name: str, quantity: Quantity) -> float | None:
        """Return a quantity's value by a reference, such as `printed`; None where it has none."""
        return quantity.made_of(lambda *place: self.reference(name, *place))

    def fitting(self, at: Place) -> list[Place]:
        """Return the treatments at a place; its groups do not narrow them."""
        chosen = {name: level for name, level in at.items() if name in self.levels}
        return [one for one in self.treatments if chosen.items() <= one.items()]

    def whole(self, at: Place) -> dict[str, str]:
        """Return a place with the factors that it leaves out, as those do that do not vary there."""
        return {**next(iter(self.fitting(at)), {}), **at}

    def is_whole(self, fitting: Sequence[Place], at: Place) -> bool:
        """Return whether treatments are every combination of the factors that are left."""
        own = [name for name in self.levels if name not in at]
        cells = {tuple(one[name] for name in own) for one in fitting if {*own} <= {*one}}
        return len(cells) == math.prod(len(set(each)) for each in zip(*cells, strict=True)) > 1

    def check(self, response: str, at: Place, effect: Place | None) -> Iterator[tuple[str, str, str | None]]:
        """Yield the mistakes in a place: a name in it or none, a rule, a hint."""
        known, wrong = self.known(response), list[tuple[str, str, str | None]]()
        for name in {*at} & {*(effect or {})}:
            wrong.append((name, f"`{name}` is in `at` and in the effect", "leave it out of one"))
        for name, level in {**at, **(effect or {})}.items():
            if name not in known:
                rule = f"`{response}` has no factor and no group `{name}`"
                wrong.append((name, rule, _core.suggest(name, list(known))))
            elif (own := known[name]) is not None and level not in own:
                what = "level" if name in self.levels else "value"
                wrong.append((name, f"`{name}` has no {what} `{level}`", among(level, own)))
        if wrong:
            yield from wrong
            return
        fitting = self.fitting(at)
        varied = {name: {one[name] for one in fitting if name in one} for name in self.levels}
        left = {name: own for name, own in varied.items() if len(own) > 1 and name not in at}
        groups = [name for name in self.responses[response] if name not in at]
        still = [name for name in effect or {} if len(varied.get(name, "  ")) < 2]
        if not fitting:
            yield "", f"no treatment has {_words(at)}", None
        elif still:
            yield still[0], f"`{still[0]}` does not vary here, so that it has no effect", None
        elif effect is None and left:
            name = next(iter(left))
            levels = [level for level in self.levels[name] if level in left[name]]
            hint = f'add `{name} = "{levels[0]}"`, or `each = {{ {name} = "all" }}`'
            yield "", f"which level of `{name}` is meant: {_few(levels)}?", hint
        elif effect is None and groups:
            rule = f"`{response}` has a value for each `{groups[0]}`: which is meant?"
            yield "", rule, f'add `{groups[0]} = "..."`'
        elif effect is not None and not self.is_whole(fitting, at):
            yield "", "an effect needs every combination of the factors that `at` leaves open", None


@dataclass(frozen=True)
class QuantityClaim:
    """A quantity, and what is claimed of it: a direction, a size, or both."""

    quantity: Quantity
    hypotheses: tuple[Hypothesis, ...]


@dataclass(frozen=True)
class Words:
    """Names of quantities: templates, and words for responses and levels."""

    templates: Quantities
    words: Mapping[str, str] = field(default_factory=dict)

    def of(self, part: Part, quantity: Quantity) -> str:
        """Fill in a template; a `KeyError` names what is not there."""
        second = quantity.other or {}
        levels = {name: self.word(level) for name, level in quantity.at.items()}
        others = {name: self.word(level) for name, level in second.items()}
        known = {
            **levels,
            **{f"{quantity.way} {name}": level for name, level in others.items()},
            "response": self.word(quantity.response),
            "at": ", ".join(levels.values()),
            quantity.way: ", ".join(others.values()),
        }
        template: str = part.quantity or getattr(self.templates, quantity.way)
        if quantity.effect is not None and not part.quantity:
            place = " at {at}" if quantity.at else ""
            template = self.templates.effect or f"{{response}}{place}: effect of {{effect}}"
        if quantity.effect is not None:
            known["effect"] = _effect(quantity.effect)
            known["effect"] += f" less {_effect(second)}" if quantity.way == "less" else ""
        elif not part.quantity and not quantity.at and quantity.way == "alone":
            template = "{response}"
        text = template.format_map(known)
        return text if part.quantity or quantity.per == 1.0 else f"{text}, over {quantity.per:g}"

    def word(self, name: str) -> str:
        """Return the word for a response or a level: its own, or its name."""
        return self.words.get(name, name)


def quantity_claims(part: Part, subject: Subject, words: Words) -> Iterator[QuantityClaim]:
    """Yield the quantities that a part asks for: one, or one for each of `each`.

    A `DesignError` says why it cannot be asked of this subject.
    """
    if fault := _wrong(part):
        raise DesignError([fault])
    sets = {name: _levels(part, subject, name, levels) for name, levels in part.each.items()}
    for chosen in product(*sets.values()):
        place = dict(zip(sets, chosen, strict=True))
        response = place.pop("response", None) or part.response or ""
        if response not in subject.responses:
            at: At = ("each", "response") if "response" in part.each else ("response",)
            raise DesignError([absent(at, "response", response, subject.responses)])
        quantity = _quantity(part, response, {**part.at, **place}, sets)
        if quantity is None:
            continue
        _check(part, subject, quantity)
        # of levels in `each` one may be that which the others are compared with
        own = {**(part.less or {}), **(part.over or {})}
        if quantity.way != "alone" and quantity.first == quantity.second and not own.keys() & sets.keys():
            hint = "write a level that differs from that in `at`"
            raise DesignError([Fault((quantity.way,), "it is compared with itself", hint)])
        if PRINTED in part.each.values() and subject.printed(quantity) is None:
            continue
        try:
            described = words.of(part, quantity)
        except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
            raise DesignError([Fault(("quantity",), f"there is nothing to fill in for {error}")]) from None
        yield QuantityClaim(quantity, tuple(_claimed(part, subject, quantity, described)))


def faults(claims: Claims, subject: Subject, predicates: Callable[[Part], str | None]) -> list[Fault]:
    """Return what claims cannot ask of a subject, before anything runs.

    `predicates` says what is wrong with a part that names a predicate; None where nothing is.
    """
    found, words = [], Words(claims.file.quantities, claims.file.words)
    for i, (claim, written) in enumerate(zip(claims.claims, claims.file.claim, strict=True)):
        for k, part in enumerate(claim.parts):
            place = place_of(written, i, k)
            if part.predicate is not None:
                if rule := predicates(part):
                    found.append(Fault((*place, "predicate"), rule))
                continue
            try:
                if not list(quantity_claims(part, subject, words)):
                    found.append(Fault(place, "asks for nothing: no level is left in `each`"))
            except DesignError as error:
                found += [replace(one, at=(*place, *one.at)) for one in error.faults]
    return found


def _wrong(part: Part) -> Fault | None:
    """Return the first mistake in how a part is put together; None where there is none."""
    direction = [name for name in ("above", "below") if getattr(part, name) is not None]
    size = [name for name in ("low", "high", "within") if getattr(part, name) is not None]
    two = [name for name in ("less", "over") if getattr(part, name) is not None]
    if part.response is None and "response" not in part.each:
        return Fault((), "`response` is missing", 'add `response = "..."`, one that the campaign measures')
    if len(two) == 2:
        return Fault(("over",), "`less` and `over` do not go together", of_key=True)
    if part.effect is not None and "over" in two:
        return Fault(("over",), "an effect has a difference (`less`), no ratio", of_key=True)
    if len(direction) == 2:
        hint = "for a range: `low` and `high`"
        return Fault(("below",), "`above` and `below` do not go together", hint, of_key=True)
    if not (direction or size):
        hint = "add `above` or `below` (a direction), or `low`, `high` or `within` (a size)"
        return Fault((), "nothing is claimed of the quantity", hint)
    if "within" in size and len(size) > 1:
        return Fault((size[0],), f"`within` and `{size[0]}` do not go together", of_key=True)
    if part.about is None and part.within is not None and not (two or part.effect):
        hint = 'add `about = "printed"` or a number, or `less` or `over`'
        return Fault(("within",), "within so much of what?", hint)
    if part.low is not None and part.high is not None and part.low > part.high:
        return Fault(("low",), f"`low` is above `high`, {part.high:g}")
    shares = [one for one in _margins(part) if isinstance(one, str)]
    if any(_share(one) is None for one in shares):
        return Fault(("within",), "a text is a share above zero", 'such as "10%"')
    if any(not isinstance(one, str) and one < 0.0 for one in _margins(part)):
        return Fault(("within",), "a distance is not below zero")
    if shares and (part.about == 0.0 or (part.about is None and "over" not in two)):
        return Fault(("within",), "a share of zero is zero", "write a number, in the unit of the response")
    if part.per == 0.0:
        return Fault(("per",), "nothing is divided by zero")
    return None


def _levels(part: Part, subject: Subject, name: str, given: str | list[str]) -> Sequence[str]:
    """Return the levels that `each` stands for, of a factor, a group or `response`."""
    if isinstance(given, list):
        twice = [k for k, level in enumerate(given) if level in given[:k]]
        if twice:
            raise DesignError([Fault(("each", name, twice[0]), f"`{given[twice[0]]}` is there twice")])
        return given
    known: Sequence[str] | None = [*subject.responses]
    if name != "response":
        known = {**subject.levels, **subject.responses.get(part.response or "", {})}.get(name)
    if known is None:
        every = [*subject.levels, *subject.responses.get(part.response or "", ())]
        rule = f"there is no factor and no group `{name}` whose levels are known before a run"
        raise DesignError([Fault(("each", name), rule, _core.suggest(name, every), of_key=True)])
    also = subject.also.get(name, {})
    if given not in (ALL, PRINTED, *also):
        hint = 'write a list of levels, or "all"'
        raise DesignError([Fault(("each", name), f"`{given}` names no set of levels", hint)])
    if given in also or name not in subject.levels:
        return also.get(given, known)
    # those that there are where the part is; where nothing is, the check of its place says why
    there = {one.get(name) for one in subject.fitting(part.at)}
    return [level for level in known if level in there] if there else known


def _quantity(
    part: Part, response: str, at: dict[str, str], sets: Mapping[str, Sequence[str]]
) -> Quantity | None:
    """Return a part's quantity; None for the first of an order, which has none before it."""
    way: Literal["less", "over"] = "less" if part.less is not None else "over"
    given = part.less if part.less is not None else part.over
    if given is None:
        return Quantity(response, at, "alone", None, part.effect, part.per)
    other = dict(at if part.effect is None else part.effect)
    for name, level in given.items():
        if level == PREVIOUS:
            if name not in sets:
                rule = f'"previous" is the level before in `each`, which has no `{name}`'
                raise DesignError([Fault((way, name), rule, f'add `each = {{ {name} = "all" }}`')])
            place = sets[name].index(at[name])
            if place == 0:
                return None
            level = sets[name][place - 1]
        other[name] = level
    return Quantity(response, at, way, other, part.effect, part.per)


def _check(part: Part, subject: Subject, quantity: Quantity) -> None:
    """Refuse a quantity at a place that does not exist."""
    found = [*_placed(part, "at", subject.check(*quantity.first))]
    if quantity.way != "alone" and not found:
        found += _placed(part, quantity.way, subject.check(*quantity.second))
    if found:
        raise DesignError(found)


def _placed(part: Part, where: str, wrong: Iterator[tuple[str, str, str | None]]) -> Iterator[Fault]:
    for name, rule, hint in wrong:
        own: At = (where,) if where == "at" or name in (getattr(part, where) or {}) else ("at",)
        for key in ("each", "effect"):
            own = (key,) if name in (getattr(part, key) or {}) and own == ("at",) else own
        yield Fault((*own, name) if name else own, rule, hint)


def _claimed(part: Part, subject: Subject, quantity: Quantity, described: str) -> Iterator[Hypothesis]:
    """Yield what is claimed of a quantity: a direction, then a size."""
    printed = subject.printed(quantity) if part.printed is None else part.printed
    places = [quantity.first, *([] if quantity.way == "alone" else [quantity.second])]
    in_sample = quantity.effect is None and any(subject.in_sample(*one[:2]) for one in places)
    about, stated = _about(part, subject, quantity), part.stated
    if part.within is not None and stated is None:
        # it is said to be like something: that is what the paper says, where it prints nothing else
        is_stated = part.about not in (None, PRINTED) or printed is None
        stated = about if is_stated else None
    base = 0.0 if part.about is None else about
    if part.above is not None or part.below is not None:
        low = -math.inf if part.above is None else base + part.above + HIGHER
        high = math.inf if part.below is None else base + part.below + LOWER
        yield Hypothesis(described, "direction", low, high, printed, in_sample, stated)
    if part.within is not None:
        margins = _margins(part)
        near = min((_share(one) or 0.0) * abs(about) if isinstance(one, str) else one for one in margins)
        yield Hypothesis(described, "size", about - near, about + near, printed, in_sample, stated)
    elif part.low is not None or part.high is not None:
        low = -math.inf if part.low is None else base + part.low
        high = math.inf if part.high is None else base + part.high
        yield Hypothesis(described, "size", low, high, printed, in_sample, stated)


def _margins(part: Part) -> list[Margin]:
    within = [] if part.within is None else part.within
    return within if isinstance(within, list) else [within]


def _share(text: str) -> float | None:
    """Read a share, `10%`; None where it is none."""
    value, relative = half_width(text)
    return value if relative and math.isfinite(value) else None


def _about(part: Part, subject: Subject, quantity: Quantity) -> float:
    """Return the value that a quantity is claimed to be near."""
    if isinstance(part.about, str):
        if part.about not in subject.references:
            hint = _core.suggest(part.about, list(subject.references))
            raise DesignError([Fault(("about",), f"nothing is called `{part.about}`", hint)])
        found = subject.like(part.about, quantity)
        if found is None:
            where = _words({"response": quantity.response, **quantity.at})
            raise DesignError([Fault(("about",), f"nothing is {part.about} for {where}")])
        return found
    return part.about if part.about is not None else 1.0 if quantity.way == "over" else 0.0


def absent(at: At, what: str, name: str, known: Iterable[str], *, of_key: bool = False) -> Fault:
    """Return the mistake that there is no such response, factor or group."""
    return Fault(at, f"there is no {what} `{name}`", _core.suggest(name, [*known]), of_key=of_key)


def among(level: str, known: Sequence[str]) -> str | None:
    """Name the nearest of some levels, or a few of them."""
    return _core.suggest(level, list(known)) or (f"known here: {_few(known)}" if known else None)


def _few(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _words(place: Place) -> str:
    return ", ".join(f"{name} = {level}" for name, level in place.items())


def _effect(levels: Place) -> str:
    return " ".join(f"{name}={level}" for name, level in levels.items())
