"""`perhop compare`: runs, or two treatments of a campaign, side by side."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import comparing, options
from perhop.cli.exit import UsageError
from perhop.cli.options import argument, option
from perhop.cli.output import print_json
from perhop.say.terminal import show
from perhop.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perhop.report.side_by_side import Arm

_MOST = 8


def command(
    what: list[str] = argument(
        "RUN RUN...", "Folders of runs; or the store of a campaign and two of its treatments."
    ),
    margin: str | None = option(
        "--margin", "WIDTH", "Treatments: are both the same within it, 2% or a number?"
    ),
    where: list[str] | None = options.WHERE,
    out: Path | None = option("-o --out", "FILE", "Page to write about runs, - for stdout."),
    figure: str | None = option(
        "--figure", "NAME", "Runs: one figure into FILE (svg, pdf, png, csv): over-time or delays."
    ),
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> None:
    """Put runs side by side: what each class got, curves over each other, delays as distributions, settings.

    With the store of a campaign and two of its treatments: differences with their intervals.
    """
    from perhop.experiment.kinds import is_store

    if is_store(Path(what[0])):
        if out is not None or figure is not None:
            hint = f"the campaign's page: perhop report {what[0]}; its figures: perhop figure {what[0]}"
            raise UsageError("-o and --figure are about runs", hint)
        _treatments(what, margin, where, as_json)
        return
    if margin is not None or where:
        given = "--where" if margin is None else "--margin"
        raise UsageError(f"{given} is about treatments of a campaign", "name its store first")
    if figure is not None:
        _figure(what, figure, out or Path(f"{figure}.svg"), force)
        return
    _runs(what, out, force, as_json)


def _figure(what: Sequence[str], name: str, out: Path, force: bool) -> None:
    from perhop.cli.figure import write
    from perhop.report import side_by_side

    own = {one.name: one for one in side_by_side.figures(_arms(what))}
    if name not in own:
        raise UsageError(f"--figure {name}: no such figure", f"known here: {', '.join(own)}")
    write(own[name], out, force)
    if str(out) != "-":
        print(out)


def _treatments(what: Sequence[str], margin: str | None, where: list[str] | None, as_json: bool) -> None:
    from perhop.say import comparisons

    store = options.opened(Path(what[0]), where)
    if len(what) != 3:
        names = ", ".join(shlex.quote(one.name) for one in store.campaign.design.treatments[:6])
        named = f"{counted(len(what) - 1, 'treatment')} {'is' if len(what) == 2 else 'are'} named, not two"
        message = f"{what[0]} is a campaign: {named}"
        raise UsageError(message, f"name two of {names}; all pairs: perhop analyze {what[0]} --pairs")
    found = comparing.comparisons_of(store, (what[1], what[2]), margin, 0.95, ())
    if as_json:
        print_json([comparisons.comparison_document(one) for one in found])
    else:
        show(*([] if store.only is None else [f"Only {store.only}."]), *comparisons.of_two(found, 0.95))


def _runs(what: Sequence[str], out: Path | None, force: bool, as_json: bool) -> None:
    from perhop.report import side_by_side
    from perhop.report.page import write_page

    to_stdout = options.to_stdout(out, as_json)
    may_replace = options.target(None if to_stdout else out, force)
    arms = _arms(what)
    if out is not None:
        page = side_by_side.render(arms, ["perhop", "compare", *what], str(out))
        if to_stdout:
            print(page)
            return
        write_page(out, page, may_replace)
    rows = side_by_side.table(arms)
    if as_json:
        print_json([{"class": row.of, **dict(row.arms)} for row in rows])
        return
    show(*side_by_side.in_words(arms, rows), "", *side_by_side.tables(arms, rows))
    if out is not None:
        print(out)
    else:
        print(f"next: {shlex.join(['perhop', 'compare', *what, '-o', 'compare.html'])}")


def _arms(what: Sequence[str]) -> list[Arm]:
    """Load the runs, each named by its folder, by its path as given where two names are equal."""
    from perhop.report.side_by_side import Arm
    from perhop.run.record import StoredRun

    if not 2 <= len(what) <= _MOST:
        raise UsageError(f"{len(what)} named: compare takes 2 to {_MOST} runs", "perhop compare out/a out/b")
    folders = [Path(one) for one in what]
    short = [folder.resolve().name for folder in folders]
    names = short if len(set(short)) == len(short) else [str(folder) for folder in folders]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"{twice} twice", "name runs that differ")
    return [Arm(name, StoredRun.load(folder)) for name, folder in zip(names, folders, strict=True)]
