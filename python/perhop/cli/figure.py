"""`perhop figure`: one figure of a run, or of a campaign, as a file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from perhop.cli import comparing, options
from perhop.cli.exit import UsageError
from perhop.cli.options import argument, option
from perhop.cli.output import answer, meant, print_json
from perhop.say.document import Table
from perhop.say.terminal import show

if TYPE_CHECKING:
    from perhop.experiment.store import Store
    from perhop.plot.style import Look
    from perhop.report.figure import Figure, Format

_FIRST = "response-1-"


def command(
    run: Path = argument("RUN", "Folder of a run, or the store of a campaign."),
    name: str | None = argument(
        "NAME",
        "Figure: cwnd, goodput, queue, delay, red, ...; of a campaign main, ...; else all listed.",
        None,
    ),
    out: Path | None = option(
        "-o --out", "FILE", "svg, pdf, png, or csv for the numbers; default NAME.svg. - for stdout: svg."
    ),
    flow: list[str] | None = option("--flow", "NAME", "Of a trace of TCP this flow; may be repeated."),
    begin: str | None = option("--from", "TIME", "Where the axis of time begins, such as 2.5s."),
    end: str | None = option("--to", "TIME", "Where it ends."),
    where: list[str] | None = options.WHERE,
    over: str | None = option("--over", "FACTOR", "Of a campaign's curve: the axis; others are lines."),
    response: str | None = option("--response", "NAME", "Of a campaign's curve: what is drawn."),
    size: str | None = option("--size", "WxH", "For print: 3.5x2.6in, 88x66mm or 8.8x6.6cm."),
    font: str | None = option("--font", "FONT", "For print: its points, its family, or FAMILY POINTS."),
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> None:
    """Draw one figure of a run or a campaign, for a paper, a slide, or a program of your own."""
    from perhop.experiment.kinds import is_store
    from perhop.plot import style

    of_store = is_store(run)
    if of_store and (flow or begin or end):
        message = f"{run} is a campaign: its figures have no axis of time and no flows"
        raise UsageError(message, "take one of its runs")
    curve = of_store and name == "curve"
    if where and not of_store:
        raise UsageError("--where is about campaigns, and this is a run", "leave it out")
    if (over or response) and not curve:
        given = "--over" if over else "--response"
        hint = "perhop figure STORE curve --over FACTOR"
        raise UsageError(f"{given} is about the curve of a campaign", hint)
    look = _look(size, font)
    if name is None:
        rows = _of_store(options.opened(run, where)) if of_store else _of_run(run)
        if as_json:
            print_json({full: title for full, _, title in rows})
        else:
            show(Table("Figures", ("name", "or", "title"), rows))
        return
    to_stdout = options.to_stdout(out, as_json)
    if of_store:
        store = options.opened(run, where)
        found = _curve(store, over, response) if curve else _in_store(store, name)
    else:
        found = _in_run(run, name, flow or [], begin, end)
    target = out or Path(f"{found.name}.svg")
    with style.looking(look):
        write(found, target, force)
    if not to_stdout:
        answer({"figure": str(target), "name": found.name, "title": found.title}, target, as_json)


def _curve(store: Store, over: str | None, response: str | None) -> Figure:
    """Return the curve of a response over a factor; say what is to be fixed where that is no figure."""
    from perhop.report.effects import CurveError, curve_of

    if response is not None:
        comparing.known(store, [response])
    varied = _varied(store)
    if over is None and len(varied) > 1:
        fixed = " ".join(f"--where {name}=LEVEL" for name in varied)
        hint = f"add --over FACTOR, and the others are lines; or fix all but one of {fixed}"
        raise UsageError(f"over which factor? {', '.join(varied)} vary", hint)
    if over is None and (response is None or not varied):
        return _in_store(store, "curve")
    over = over or varied[0]
    try:
        return curve_of(store, over, response)
    except CurveError as error:
        rest = " and ".join(f"--where {name}=LEVEL" for name in varied if name != over)
        fewer = f"keep fewer of the others: {rest}" if rest and over in varied else ""
        raise UsageError(f"--over {over}: {error}", fewer) from None


def _varied(store: Store) -> list[str]:
    """Return the factors that have levels to compare."""
    return [factor.name for factor in store.campaign.design.factors if len(factor.levels) > 1]


_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "": 1.0}


def _look(size: str | None, font: str | None) -> Look:
    """Read how a figure is to look in print."""
    from perhop import _core
    from perhop.plot.style import Look, families

    inches = points = None
    if size is not None:
        found = re.fullmatch(r"([\d.]+) ?[x×] ?([\d.]+) ?(in|cm|mm|)", size.strip())
        try:
            wide, high = (float(found[k]) * _INCHES[found[3]] for k in (1, 2)) if found else (0.0, 0.0)
        except ValueError:
            wide = high = 0.0
        if not (1.0 <= wide <= 40.0 and 1.0 <= high <= 40.0):
            raise UsageError(f"--size {size}: no width and height of 1 to 40 inches", "such as 88x66mm")
        inches = (wide, high)
    family = (font or "").strip() or None
    if family is not None:
        parted = re.fullmatch(r"(.*?) ?(\d+(?:\.\d+)?)(?: ?pt)?", family)
        family, points = (parted[1] or None, float(parted[2])) if parted else (family, None)
    if points is not None and not 4.0 <= points <= 40.0:
        raise UsageError(f"--font {font}: no size of 4 to 40 points", "such as --font 8")
    if family is not None and family not in families():
        near = _core.suggest(family, families())
        raise UsageError(f"--font {font}: this machine has no font {family!r}", near or "")
    return Look(inches, points, family)


def write(figure: Figure, target: Path, force: bool) -> None:
    """Write a figure in the format of its file's suffix; for `-` print it as SVG."""
    from perhop.report.figure import Format
    from perhop.run.folder import write_file

    to_stdout = str(target) == "-"
    form = "svg" if to_stdout else target.suffix.removeprefix(".").lower()
    if form not in get_args(Format):
        known = ", ".join(get_args(Format))
        raise UsageError(f"{target}: a figure is no .{form or 'file'}", f"take {known}")
    may_replace = options.target(None if to_stdout else target, force)
    content = figure.written(cast("Format", form))
    if content is None:
        raise UsageError(f"{figure.title}: every value is zero, so there is nothing to draw", "take another")
    if to_stdout:
        print(content.decode())
        return
    write_file(target, content, may_replace)


def _of_run(run: Path) -> list[tuple[str, str, str]]:
    """Return name, short name and title of each figure of a run."""
    from perhop.report import figures
    from perhop.run.record import StoredRun

    rows = figures.names(StoredRun.load(run))
    own = zip(rows, figures.called(rows), rows.values(), strict=True)
    return [(full, "" if short == full else short, title) for full, short, title in own]


def _of_store(store: Store) -> list[tuple[str, str, str]]:
    """Return name, short name (of the first response) and title of each figure of a store."""
    from perhop.report import effects

    rows = []
    for one in effects.of_store(store):
        short = one.name.removeprefix(_FIRST)
        rows.append((one.name, "" if short == one.name else short, one.title))
    varied = _varied(store)
    if rows and len(varied) > 1 and not any(name.endswith("-curve") for name, _, _ in rows):
        over = " or ".join(f"--over {shlex.quote(name)}" for name in varied)
        rows.insert(0, ("curve", "", f"The response over a factor, the others as lines: {over}"))
    return rows


def _in_run(run: Path, name: str, flow: list[str], begin: str | None, end: str | None) -> Figure:
    from perhop.cli.report import view_of
    from perhop.report import figures
    from perhop.run.record import StoredRun

    stored = StoredRun.load(run)
    try:
        found = figures.find(stored, name, view_of(stored, flow, begin, end))
    except KeyError as error:
        known = figures.called(error.args[1])
        message, hint = f"{run}: no figure {name!r}", f"{meant(name, known)}known here: {', '.join(known)}"
        if figures.ALIASES.get(name, name).startswith("early-"):
            if averages := figures.hint(stored, stored.scenario().describe()):
                message, hint = f"{message}, since no average was recorded", f"{averages} -o FOLDER"
            else:
                message += ": no queue of this run drops early"
                hint = "a queue that does is chosen by its kind: port.A-B.class.NAME.queue"
        raise UsageError(message, hint) from None
    if (begin or end) and found.part not in figures.TIMED:
        message = f"figure {name} has no axis of time: --from and --to mean nothing for it"
        raise UsageError(message, "leave them out")
    if flow and found.part != "tcp":
        message = f"figure {name} is not of a trace of TCP: --flow means nothing for it"
        raise UsageError(message, "leave it out, or take the figure tcp of a run with --trace tcp")
    return found


def _in_store(store: Store, name: str) -> Figure:
    from perhop.report import effects

    own = {one.name: one for one in effects.of_store(store)}
    found = own.get(name) or own.get(f"{_FIRST}{name}")
    if found is None:
        known = ", ".join(own) or "none: nothing was varied, or nothing has run"
        hint = f"{meant(name, own)}known here: {known}"
        raise UsageError(f"{store.folder}: no figure {name!r}", hint)
    return found
