"""`perhop figure`: one figure of a run, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Figure: cwnd, goodput, queue, delay, red, ...; without it they are listed."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="svg, pdf, png, or csv for the numbers; default NAME.svg. - for stdout: svg.",
        ),
    ] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option("--flow", metavar="NAME", help="Of a trace of TCP: this flow; may be repeated."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Where it begins, such as 2.5s.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Where it ends.")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Draw one figure of a run, for a paper, a slide, or a program of your own."""
    from perhop.cli.output import print_json, print_table
    from perhop.cli.report import view_of
    from perhop.folder import always, never, write_file
    from perhop.record import StoredRun
    from perhop.report import figures
    from perhop.report.figure import Format

    stored = StoredRun.load(run)
    if name is None:
        rows = figures.names(stored)
        if as_json:
            print_json(rows)
        else:
            own = zip(rows, figures.called(rows), rows.values(), strict=True)
            shown = [(full, "" if short == full else short, title) for full, short, title in own]
            print_table("Figures", ("name", "or", "title"), shown, most=len(shown))
        return
    to_stdout = str(out) == "-"
    if to_stdout and as_json:
        raise CommandError(ExitCode.USAGE, "-o - and --json both write to standard output", "take one")
    try:
        found = figures.find(stored, name, view_of(stored, flow or [], begin, end))
    except KeyError as error:
        averages = figures.hint(stored, stored.scenario().describe())
        if averages and figures.ALIASES.get(name, name).startswith("early-"):
            told = f"{run}: no figure {name!r}, since no average was recorded"
            raise CommandError(ExitCode.USAGE, told, f"{averages} -o FOLDER") from None
        known = ", ".join(figures.called(error.args[1]))
        raise CommandError(ExitCode.USAGE, f"{run}: no figure {name!r}", f"there is {known}") from None
    target = out or Path(f"{found.name}.svg")
    form = "svg" if to_stdout else target.suffix.removeprefix(".").lower()
    if form not in get_args(Format):
        known = ", ".join(get_args(Format))
        raise CommandError(ExitCode.USAGE, f"{target}: a figure is no .{form or 'file'}", f"take {known}")
    may_replace = always if force else never
    if not to_stdout:
        options.check_target(target, may_replace)
    content = found.written(cast("Format", form))
    if content is None:
        raise CommandError(
            ExitCode.USAGE, f"{found.title}: every value is zero, so there is nothing to draw", "take another"
        )
    if to_stdout:
        print(content.decode())
        return
    write_file(target, content, may_replace)
    if as_json:
        print_json({"figure": str(target), "name": found.name, "title": found.title})
    else:
        print(target)
