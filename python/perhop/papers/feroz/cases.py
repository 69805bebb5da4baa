"""Cases: the set-ups of `figures.toml`, each with one treatment and, where there are several, one level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from perhop.judge.verdict import MIN_REPLICATIONS
from perhop.papers.error import PackError
from perhop.papers.feroz.calibration import Calibration, Values
from perhop.papers.pack import ANY_TEXT, TEXT, TEXTS, WHOLE, Keys, Pack
from perhop.scenario.scenario import Scenario

CASE_KEYS: Keys = {
    **dict.fromkeys(("id", "table", "title", "scenario"), TEXT),
    **dict.fromkeys(("set", "trace"), TEXTS),
    "replications": WHOLE,
    "read": TEXT,
    "quick": ANY_TEXT,
}
"""Keys of `figures.toml` that cases are made of; the study names those of treatments and levels."""

DURATION_S = 100.0
"""Of a run, where `set` has none."""

EXTRA = "extra"
"""The table of runs of ours."""


@dataclass(frozen=True)
class Case:
    """One set-up: a figure with one treatment and one level.

    Attributes
    ----------
    figure, table, title, scenario, set, trace
        As in `figures.toml`.
    treatment
        What is compared within a row.
    level
        What varies within a figure; None where nothing does.
    duration_s, replications
        Of its runs.
    read_s
        Simulated time of its runs under readings; where that is less than `duration_s`, the fitted point is
        judged by such runs as well, as if that were a reading.
    shortened
        Whether it runs shorter than the study says, so that no claim can be judged by it.
    published
        Printed value per quantity.
    """

    figure: str
    table: str
    title: str
    scenario: str
    set: tuple[str, ...]
    trace: tuple[str, ...]
    treatment: str
    level: int | None
    duration_s: float
    replications: int
    read_s: float
    shortened: bool
    published: Mapping[str, float]

    @property
    def row(self) -> str:
        """The figure with its level, which all treatments share."""
        return self.figure if self.level is None else f"{self.figure}-{self.level}"

    @property
    def id(self) -> str:
        """Unique among the cases."""
        return f"{self.row} {self.treatment}"

    @property
    def place(self) -> dict[str, str]:
        """Where claims find it."""
        tokens = {} if self.level is None else {"tokens": str(self.level)}
        return {"figure": self.figure, "marker": self.treatment, **tokens}

    @property
    def is_drawn(self) -> bool:
        """Whether its runs are needed whole; a study may need others than those with a trace."""
        return bool(self.trace)

    def overrides(self, values: Values, calibration: Calibration) -> list[str]:
        """List what turns the scenario file into this case with these values; a study may add more."""
        length = f"run.duration={self.duration_s:g}s"
        return [*calibration.settings(values, self.treatment), *self.set, length]

    def command(self, pack: Pack, calibration: Calibration) -> str:
        """Give the command that runs it alone as fitted, without what the scenario file holds already."""
        file = Scenario(pack.scenario(self.scenario), self.scenario)
        changes = "".join(
            f" -s '{one}'"
            for one in self.overrides(calibration.chosen, calibration)
            if file.override(one).resolve() != file.resolve()
        )
        trace = f" --trace {','.join(self.trace)}" if self.trace else ""
        folder = f"out/{pack.key}-{self.id.replace(' ', '-')}"
        return f"perhop run papers/{pack.key}/{self.scenario}{changes}{trace} -o {folder}"


C = TypeVar("C", bound=Case)


def cases_of(
    kind: type[C],
    table: Mapping[str, Any],
    treatments: str,
    levels: str,
    published: Mapping[str, Mapping[str, float]],
    quick: bool = False,
    own: Sequence[str] = (),
) -> list[C]:
    """Make the cases of a table of `figures.toml`.

    Parameters
    ----------
    kind
        Class of the study's cases.
    table
        Of that file.
    treatments, levels
        Keys of their lists.
    published
        Printed values by case id.
    quick
        For a quick reproduction: a table without the key `quick` has no case, one with a time there runs so
        long.
    own
        Keys that the study's class has besides.

    Raises
    ------
    PackError
        A time is none.
    """
    if quick and "quick" not in table:
        return []
    lengths = [text for text in table["set"] if text.startswith("run.duration=")]
    duration = seconds(lengths[0].partition("=")[2]) if lengths else DURATION_S
    shorter = bool(quick and table["quick"])
    if shorter:
        duration = seconds(table["quick"])
    made = (
        kind(
            figure=table["id"],
            table=table["table"],
            title=table["title"],
            scenario=table["scenario"],
            set=tuple(text for text in table["set"] if text not in lengths),
            trace=tuple(table.get("trace", ())),
            treatment=treatment,
            level=level,
            duration_s=duration,
            replications=table.get("replications", MIN_REPLICATIONS),
            read_s=min(duration, seconds(table["read"])) if "read" in table else duration,
            shortened=shorter,
            published={},
            **{name: table[name] for name in own if name in table},
        )
        for level in table.get(levels, [None])
        for treatment in table[treatments]
    )
    return [replace(case, published=published.get(case.id, {})) for case in made]


def cases_at(cases: Iterable[C], at: Mapping[str, str]) -> list[C]:
    """Give the cases at a place of a claim."""
    return [case for case in cases if at.items() <= case.place.items()]


def at_most(cases: Iterable[C], most: int) -> list[C]:
    """Give cases with no more replications than these."""
    return [replace(case, replications=min(case.replications, most)) for case in cases]


def under_readings(cases: Iterable[C]) -> list[C]:
    """Give cases with runs as long as under readings."""
    return [replace(case, duration_s=case.read_s) for case in cases]


def less_of_cases(pack: Pack) -> list[str]:
    """Say what a quick reproduction does not do of the cases: what runs shorter, and what is not run."""
    shorter: dict[str, list[str]] = {}
    for table in pack.figures:
        if table.get("quick"):
            shorter.setdefault(table["quick"], []).append(f"Table {table['id']}")
    told = [
        f"{', '.join(own)} simulate{'s' * (len(own) == 1)} {seconds(time):g} s "
        f"where the study says {DURATION_S:g} s"
        for time, own in shorter.items()
    ]
    gone = "; ".join(table["title"] for table in pack.figures if "quick" not in table)
    return [*told, f"runs that no claim needs: {gone}"]


def seconds(text: str) -> float:
    """Read a time of `figures.toml`.

    Raises
    ------
    PackError
        It is none.
    """
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise PackError(f"figures.toml: {text!r} is no time in seconds, such as '20s'") from None
