"""Notes on verdicts, and findings: numbers for the words of `page.toml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from perhop.judge.measured import Floats
from perhop.models import two_way
from perhop.papers.kalampoukas.figures import FigureValues
from perhop.papers.kalampoukas.votes import Unfit
from perhop.papers.pack import Pack
from perhop.papers.readings import Reading
from perhop.papers.study import Finding

Read = Sequence[tuple[Reading, FigureValues]]
"""Measured values under each reading."""

_FINDINGS = ("allocation", "switch", "modem")
_THRESHOLDS = ("5.3", "5.3-b2", "5.3-b4", "5.3-b8")


def findings(pack: Pack, m: FigureValues, read: Read, without: Sequence[Unfit]) -> list[Finding]:
    """Return the findings of the page."""
    words = pack.toml("page.toml")
    found = [(words[name]["title"], text) for name, text in _texts(words, _FINDINGS, m, read)]
    unfit = [f"{one.id} {why}" for (one, _), own in zip(read, without, strict=True) for why in own.values()]
    return [*found, *([("Readings that do not fit the paper", f"{'; '.join(unfit)}.")] if unfit else [])]


def notes(pack: Pack, claim: str, m: FigureValues, read: Read) -> list[str]:
    """Return the notes on the verdict on a claim."""
    words = pack.toml("page.toml")
    return [text for _, text in _texts(words, words["notes"].get(claim, ()), m, read)]


def _texts(
    words: Mapping[str, Any], names: Iterable[str], m: FigureValues, read: Read
) -> Iterator[tuple[str, str]]:
    """Yield name and text of those whose numbers are there: some need a reading."""
    for name in names:
        numbers = _NUMBERS[name](m, read) if name in _NUMBERS else {}
        if numbers is not None:
            yield name, words[name]["text"].format(**numbers, backing_off=words["backing-off"]["text"])


def _allocation(m: FigureValues, _: Read) -> dict[str, Any]:
    """Return numbers on which form of (6.2) the two-counter scheduler follows."""
    figure = m.figures["6.2"]
    ours = [m.interval(figure.id, f"{side}_efficiency").mean for side in ("slow", "fast")]
    forms = {form: figure.setup.closed_form(form) or () for form in get_args(two_way.Form)}
    far = {
        form: max(abs(one - float(value)) for one, value in zip(ours, sides, strict=True))
        for form, sides in forms.items()
    }
    nearer = "bounded" if far["bounded"] < far["printed"] else "printed"
    both = {form: "{:.3f} and {:.3f}".format(*map(float, sides)) for form, sides in forms.items()}
    return {"id": figure.id, "ours": ours, "both": both, "nearer": nearer, "far": far}


def _switch(m: FigureValues, read: Read) -> dict[str, Any] | None:
    """Return efficiencies with a switch and without; None without that reading."""
    own = next((own for reading, own in read if reading.id == "switch"), None)
    if own is None:
        return None

    def pairs(m: FigureValues) -> dict[str, str]:
        means = {
            id_: [m.interval(id_, f"{side}_efficiency").mean for side in ("slow", "fast")]
            for id_ in ("4.2", "4.3", "6.2")
        }
        return {id_: f"{slow:.3f} and {fast:.3f}" for id_, (slow, fast) in means.items()}

    return {"without": pairs(m), "with_it": pairs(own)}


def _modem(m: FigureValues, read: Read) -> dict[str, Any] | None:
    """Return what losses in the modem do to the jump at 16 KB; None without such readings."""
    lossy = [(one.id, own) for one, own in read if "modem buffer" in (one.id, *one.of)]
    if not lossy:
        return None
    each = []
    for name, own in (("Nothing lost", m), *((f'"{name}"', own) for name, own in lossy)):
        small, large, slow = (
            _range(own.values(id_, f"{side}_throughput"))
            for id_, side in (("3.2-8192", "fast"), ("3.2-16384", "fast"), ("3.2-16384", "slow"))
        )
        each.append(f"{name}: {small} kbit/s with 8 KB, {large} with 16 KB, the slow connection then {slow}.")
    one_way = m.interval("3.2-one-way", "fast_throughput").mean
    return {"one_way": one_way, "each": " ".join(each)}


def _thresholds(m: FigureValues, _: Read) -> dict[str, Any]:
    """Return how near theory comes to the effect of a higher backpressure threshold."""
    distances = [
        abs(m.interval(id_, f"{side}_efficiency").mean - float(value))
        for id_ in _THRESHOLDS
        for side, value in zip(
            ("slow", "fast"), m.figures[id_].setup.closed_form("bounded") or (), strict=True
        )
    ]
    return {"within": max(*distances, 1e-4)}


def _sentence(m: FigureValues, _: Read) -> dict[str, Any]:
    """Return what the paper's formula gives for the thresholds."""
    forms = [m.figures[id_].setup.closed_form("printed") for id_ in _THRESHOLDS]
    return {"printed": ", ".join(f"{float(form.fast):.3f}" for form in forms if form is not None)}


_NUMBERS: Mapping[str, Callable[[FigureValues, Read], dict[str, Any] | None]] = {
    "allocation": _allocation,
    "switch": _switch,
    "modem": _modem,
    "thresholds": _thresholds,
    "sentence": _sentence,
}


def _range(values: Floats) -> str:
    low, high = (f"{end:.0f}" for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"
