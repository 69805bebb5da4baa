"""What is said beside the verdicts: what the runs tell of the paper's formulas, its network and its modem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from perhop.judge.measured import Floats
from perhop.models import two_way
from perhop.papers.kalampoukas.figures import FigureValues
from perhop.papers.kalampoukas.votes import Unfit
from perhop.papers.readings import Reading

Read = Sequence[tuple[Reading, FigureValues]]
"""What was measured under each reading."""

_THRESHOLDS = ("5.3", "5.3-b2", "5.3-b4", "5.3-b8")


def findings(m: FigureValues, read: Read, without: Sequence[Unfit]) -> list[tuple[str, str]]:
    """Give the findings of the page: a title and a text each."""
    titles = {
        "How many ACKs the two counters let through per data packet": allocation,
        "What a switch of Figure 4.1 changes": switch,
        "What a modem that loses packets does to Figure 3.2": modem,
    }
    found = [(title, text) for title, note in titles.items() for text in note(m, read)]
    unfit = [f"{one.id} {why}" for (one, _), own in zip(read, without, strict=True) for why in own.values()]
    return [*found, *([("Readings that do not fit the paper", f"{'; '.join(unfit)}.")] if unfit else [])]


def allocation(m: FigureValues, _read: Read) -> list[str]:
    """Say which form of (6.2) the two-counter scheduler follows."""
    figure = m.figures["6.2"]
    ours = [m.interval(figure.id, f"{side}_efficiency").mean for side in ("slow", "fast")]
    forms = {form: figure.setup.closed_form(form) or () for form in get_args(two_way.Form)}
    far = {
        form: max(abs(one - float(value)) for one, value in zip(ours, sides, strict=True))
        for form, sides in forms.items()
    }
    nearer = "bounded" if far["bounded"] < far["printed"] else "printed"
    both = {form: "{:.3f} and {:.3f}".format(*map(float, sides)) for form, sides in forms.items()}
    return [
        f"Figure {figure.id}: simulated {ours[0]:.3f} slow and {ours[1]:.3f} fast; equation (6.2) as printed "
        f"gives {both['printed']}, bounded {both['bounded']}. The two-counter scheduler does what the "
        f"{nearer} form says: the largest distance is {far['bounded']:.3f} to the bounded and "
        f"{far['printed']:.3f} to the printed form."
    ]


def switch(m: FigureValues, read: Read) -> list[str]:
    """Say which printed numbers the reading "switch" comes nearer to; nothing without that reading."""
    own = next((own for reading, own in read if reading.id == "switch"), None)
    if own is None:
        return []
    printed = {
        "4.2": "prints 0.50 and 0.92",
        "4.3": "has the slow one severely degraded and the fast one not significantly affected",
        "6.2": "prints 0.54 and 0.46",
    }
    each = [
        f"Figure {id_}: {_pair(m, id_)} without, {_pair(own, id_)} with it; the paper {words}."
        for id_, words in printed.items()
    ]
    return [
        "Section 4.2 simulated Figure 4.1, which has switches between the nodes; section 6 does not say what "
        "it simulated. With one switch that stores each packet, both hops at the rates of the link, the "
        f"efficiencies of the slow and of the fast connection are others. {' '.join(each)} A switch brings "
        "Figure 6.2 to the printed numbers; Figures 4.2 and 4.3 speak against it, so that the study has none "
        "and the reading votes in section 6 alone."
    ]


def modem(m: FigureValues, read: Read) -> list[str]:
    """Say what losses in the modem do to the jump at 16 KB; nothing without such readings."""
    lossy = [(one.id, own) for one, own in read if "modem buffer" in (one.id, *one.of)]
    if not lossy:
        return []
    each = []
    for name, own in (("Nothing lost", m), *((f'"{name}"', own) for name, own in lossy)):
        small, large, slow = (
            _range(own.values(id_, f"{side}_throughput"))
            for id_, side in (("3.2-8192", "fast"), ("3.2-16384", "fast"), ("3.2-16384", "slow"))
        )
        each.append(f"{name}: {small} kbit/s with 8 KB, {large} with 16 KB, the slow connection then {slow}.")
    return [
        f"Figure 3.2, one-way {m.interval('3.2-one-way', 'fast_throughput').mean:.0f} kbit/s, by what the "
        f"modem's buffer and the sender are taken to be, over all runs. {' '.join(each)} "
        "The paper has 100 kbit/s with 8 KB, more than four times that with 16 KB, less than 25 % of 1200 "
        "one-way, and about 50 of the slow connection in all measurements. No run can meet all of it: above "
        f"400 and below 300 exclude each other. {backing_off(m, read)[0]}"
    ]


def backing_off(_m: FigureValues, _read: Read) -> list[str]:
    """Say that the paper's explanation of its jump stands against its own numbers."""
    return [
        "The paper explains the jump at 16 KB by a slow connection that backs off for significant amounts of "
        "time; one that does has less than the 50 kbit/s that the paper gives it in all measurements."
    ]


def thresholds(m: FigureValues, _read: Read) -> list[str]:
    """Say why a higher backpressure threshold does what the claims deny, and how near theory comes to it."""
    distances = [
        abs(m.interval(id_, f"{side}_efficiency").mean - float(value))
        for id_ in _THRESHOLDS
        for side, value in zip(
            ("slow", "fast"), m.figures[id_].setup.closed_form("bounded") or (), strict=True
        )
    ]
    return [
        "With a threshold b above one, the ACKs of one window are spread over b data packets, so the slow "
        "connection gains and the fast one loses; that is what the bounded form says, and the simulated "
        f"efficiencies are within {max(*distances, 1e-4):.1g} of it."
    ]


def sentence(m: FigureValues, _read: Read) -> list[str]:
    """Say that the paper's formula has it the other way round than its sentence about thresholds."""
    forms = [m.figures[id_].setup.closed_form("printed") for id_ in _THRESHOLDS]
    printed = ", ".join(f"{float(form.fast):.3f}" for form in forms if form is not None)
    return [
        "The sentence that is judged contradicts the paper's own (5.13), in which the fast connection's "
        f"efficiency falls with the threshold b, or stays at 1: {printed} for b = 1, 2, 4 and 8. The verdict "
        "is on the sentence, not on the formula. Were the slow connection's throughput meant, the runs would "
        "agree with the sentence, and (5.12), by which that does not depend on b, would not."
    ]


NOTES: Mapping[str, Sequence[Callable[[FigureValues, Read], list[str]]]] = {
    "K1": (allocation, switch),
    "K7": (thresholds,),
    "K8": (sentence, thresholds),
    "K9": (switch,),
    "K12": (modem,),
    "K14": (backing_off,),
}
"""What is said beside the verdict on a claim."""


def _range(values: Floats) -> str:
    low, high = (f"{end:.0f}" for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _pair(m: FigureValues, figure: str) -> str:
    return " and ".join(f"{m.interval(figure, f'{side}_efficiency').mean:.3f}" for side in ("slow", "fast"))
