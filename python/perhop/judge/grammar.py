"""A file of claims, read with every mistake in its keys and kinds of values.

What they mean: `perhop.judge.quantity`; the grammar with an example for each kind of part: `docs/claims.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from perhop.experiment import shape
from perhop.experiment.fault import At, Fault, FileError
from perhop.experiment.shape import Text

if TYPE_CHECKING:
    from perhop._core import Diagnostic


class ClaimsError(FileError):
    """A file of claims with mistakes."""


Margin = float | str
"""A number, or a share of what it is about, such as `10%`."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A quantity, and what is claimed of it.

    Attributes
    ----------
    response
        Of the campaign.
    at
        Levels of factors and values of groups, by name.
    less, over
        Levels that differ in what is subtracted from it, replication by replication, or that its sum is
        divided by. `"previous"` is the one before in `each`.
    effect
        Levels whose effect is meant: what they do beyond the mean and the effects of fewer of them.
    per
        A number that it is divided by.
    each
        Levels of a factor, or responses: one part for each. `"all"` or `"printed"` names them too.
    above, below
        It lies beyond this: a direction.
    low, high
        It lies between these: a size. With `about` they count from there.
    within
        It lies so near to what it is about: a number, a share of that, or both, of which the smaller counts.
    about
        A number, or what is `"printed"`. Without it `within` is about no difference, or a ratio of one.
    stated
        What the paper says in words, for the power of the verdict.
    printed
        What the paper prints of it, where no table of printed values says so.
    quantity
        What it is called, a template.
    predicate, parameters
        In place of all this: a function of the study that judges.
    """

    response: Text | None = None
    at: dict[str, str] = {}
    less: dict[str, str] | None = None
    over: dict[str, str] | None = None
    effect: dict[str, str] | None = None
    per: float = 1.0
    each: dict[str, str | list[str]] = {}
    above: float | None = None
    below: float | None = None
    low: float | None = None
    high: float | None = None
    within: Margin | list[Margin] | None = None
    about: float | str | None = None
    stated: float | None = None
    printed: float | None = None
    quantity: Text | None = None
    predicate: Text | None = None
    parameters: dict[str, Any] = {}


class WrittenClaim(Part, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A claim, with what its parts have in common; without parts it is one.

    Attributes
    ----------
    id, statement
        Its name, and what is claimed.
    where
        Section or page of a paper.
    ours
        Which number in it is not the paper's.
    part
        What must hold for it.
    """

    id: Text
    statement: Text
    where: str = ""
    ours: Text | None = None
    part: list[Part] = []


class Published(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Printed values of a response.

    Attributes
    ----------
    file
        A table (CSV) by its path from this file's folder; columns called like factors and groups say where.
    response
        What its values are of; a column in braces stands for the text of its cell, `"{metric}_sdev"`.
    column
        Where they stand.
    unit
        What one of the column is in the response's unit.
    at
        Levels that no column says.
    """

    file: Text
    response: Text
    column: Text
    unit: float = 1.0
    at: dict[str, str] = {}


class Derived(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A response of the campaign divided by a number, under a name of its own.

    Attributes
    ----------
    name, response
        Its own, and that of the campaign.
    per
        What it is divided by, for each of some levels of one factor; at others it has no value.
    unit
        Its own.
    """

    name: Text
    response: Text
    per: dict[str, dict[str, float]]
    unit: Text | None = None


class Statistic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Statistics over several runs of a treatment, which no single run has: more responses.

    Attributes
    ----------
    name
        Of the response that it makes; `{of}` stands for that which it is of.
    of
        Responses of the campaign. Of one with groups all its values in a run count.
    statistic
        Of their values: `"std"`, `"min"` or `"max"`.
    runs
        Of so many replications together: the first, the next, each of which gives one value. Without it of
        all, with the interval of a jackknife over replications.
    """

    name: Text
    of: list[Text]
    statistic: Text
    runs: int | None = None


class Factorial(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A factorial experiment in the campaign, all of whose cells claims may be about.

    Attributes
    ----------
    factors
        Factors, and groups that responses are by; a term of them is `P:C`.
    at
        Levels of the other factors.
    levels
        Values of groups in order; without it those that are known before a run, by name.
    model
        By response: the terms of the paper's model, for claims about what it leaves over.
    """

    factors: list[Text]
    at: dict[str, str] = {}
    levels: dict[str, list[str]] = {}
    model: dict[str, list[str]] = {}


class Fitted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Responses that a calibration fitted, at these levels."""

    response: list[Text]
    at: dict[str, str] = {}


class Quantities(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Templates of names of quantities; a name in braces stands for a level.

    Attributes
    ----------
    alone, less, over, effect
        Of a `{response}` somewhere, a difference, a ratio, an effect; an effect's may be empty.
    """

    alone: Text = "{response} at {at}"
    less: Text = "{response} at {at}, less that at {less}"
    over: Text = "{response} at {at}, over that at {over}"
    effect: str = ""


class ClaimsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of claims.

    Attributes
    ----------
    campaign
        The campaign file that they are about, by its path from this file's folder.
    beside
        Campaigns over the same scenario, with the same factors and responses and other levels, which stand
        beside its own.
    split
        Factors whose levels are of several words, and the factors that the words are levels of:
        `split = { contract = ["marker", "tokens"] }` of a level `token-bucket 15`.
    derived, statistic
        Responses made of those of the campaign: by level, and over several runs.
    factorial
        A factorial in the campaign: for its predicates, and for ratios beside what is printed.
    published
        What a paper prints.
    fitted
        What of it a calibration fitted: claims about that are in sample.
    quantities, words
        What quantities are called; words for responses and levels.
    claim
        In order.
    """

    claim: list[WrittenClaim]
    campaign: Text | None = None
    split: dict[str, list[Text]] = {}
    derived: list[Derived] = []
    beside: list[Text] = []
    statistic: list[Statistic] = []
    factorial: Factorial | None = None
    published: list[Published] = []
    fitted: list[Fitted] = []
    quantities: Quantities = Quantities()
    words: dict[str, str] = {}


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
for _kind in (Part, ClaimsFile):
    msgspec.json.Decoder(_kind)


@dataclass(frozen=True)
class Claim:
    """A sentence that measurements can contradict, as `WrittenClaim` has it, and what must hold for it."""

    id: str
    statement: str
    where: str = ""
    parts: tuple[Part, ...] = ()
    ours: str | None = None

    def levels(self, factor: str) -> set[str]:
        """Return the levels of a factor that the parts name one by one."""
        found: set[str] = set()
        for part in self.parts:
            each = part.each.get(factor, [])
            found |= set() if isinstance(each, str) else set(each)
            for place in (part.at, part.less, part.over):
                found |= {place[factor]} if place and factor in place else set()
        return found - {"previous"}


@dataclass(frozen=True)
class Claims:
    """A file of claims that was read; in `claims` each part has what its claim has for all."""

    path: Path
    source: bytes = field(repr=False)
    file: ClaimsFile
    claims: tuple[Claim, ...]

    def diagnostics(self, faults: Iterable[Fault]) -> list[Diagnostic]:
        """Return mistakes with their places, from top to bottom."""
        written = shape.written(self.source)
        placed = [replace(one, at=tuple(_placed(written, one.at))) for one in faults]
        return shape.diagnostics(self.path, self.source, placed)

    def refuse(self, faults: Sequence[Fault]) -> None:
        """Raise a `ClaimsError` where there are mistakes."""
        if faults:
            raise ClaimsError(self.diagnostics(faults))


def read(path: Path, source: bytes | None = None) -> Claims:
    """Read a file of claims; a `ClaimsError` has its mistakes."""
    source = path.read_bytes() if source is None else source
    written = shape.parsed(path, source, ClaimsFile, ClaimsError)
    claims = tuple(map(_claim, written["claim"]))
    found = Claims(path, source, msgspec.convert(written, ClaimsFile), claims)
    found.refuse(
        [
            Fault(("claim", k, "id"), f"a second claim is called `{one.id}`")
            for k, one in enumerate(claims)
            if one.id in {before.id for before in claims[:k]}
        ]
    )
    return found


def place_of(written: WrittenClaim, claim: int, part: int) -> At:
    """Return the place of a part in the file."""
    return ("claim", claim, "part", part) if written.part else ("claim", claim)


def schema() -> str:
    """Return the JSON Schema of a file of claims."""
    return shape.schema(ClaimsFile)


_OF_PART = tuple(one.name for one in msgspec.structs.fields(Part))


def _claim(written: Mapping[str, Any]) -> Claim:
    common = {name: written[name] for name in _OF_PART if name in written}
    parts = [{**common, **part, **_joined(common, part)} for part in written.get("part", [{}])]
    made = msgspec.convert(parts, tuple[Part, ...])
    return Claim(written["id"], written["statement"], written.get("where", ""), made, written.get("ours"))


def _joined(common: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the levels of a part together with those that its claim has for all."""
    return {name: {**common.get(name, {}), **part.get(name, {})} for name in ("at", "each")}


shape.WORDS.update(
    {
        str | list[str]: 'a string or a list of strings, such as "all" or ["a", "b"]',
        float | str: 'a number, or a string such as "printed"',
        Margin | list[Margin]: 'a number, a share such as "10%", or both in a list',
    }
)


def _placed(written: Mapping[str, Any], at: At) -> list[str | int]:
    """Return where a setting of a part is: in its claim, where that has it for all."""
    in_claim = (*at[:2], *at[4:])
    return list(in_claim if len(at) > 4 and not _has(written, at) and _has(written, in_claim) else at)


def _has(written: Any, at: At) -> bool:
    try:
        reduce(getitem, at, written)
    except (KeyError, IndexError, TypeError):
        return False
    return True
