"""`perhop report`: one page about one run, or about a campaign."""

from __future__ import annotations

from mimetypes import MimeTypes
from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import options
from perhop.cli.exit import UsageError
from perhop.cli.options import argument, option

if TYPE_CHECKING:
    from perhop.report.tcp import View
    from perhop.run.record import StoredRun


def command(
    run: Path = argument("RUN", "Folder of a run, or the store of a campaign."),
    flow: list[str] | None = option("--flow", "NAME", "Flow whose trace of TCP is drawn; may be repeated."),
    begin: str | None = option("--from", "TIME", "Where its figures begin, such as 2.5s."),
    end: str | None = option("--to", "TIME", "Where they end."),
    where: list[str] | None = options.WHERE,
    claims: list[Path] | None = option(
        "--claims", "FILE", "Of a campaign: with the claims of a file, judged."
    ),
    out: Path | None = option("-o --out", "FILE", "Page to write, - for stdout; default RUN/report.html."),
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> None:
    """Write one self-contained HTML page about a run or a campaign; it opens offline."""
    from perhop.cli.output import answer
    from perhop.experiment.kinds import is_store
    from perhop.report.page import is_page, write_page
    from perhop.run.folder import always, never, real_name
    from perhop.run.record import StoredRun

    own = run / "report.html"
    page = out or own
    stored = None if is_store(run) else StoredRun.load(run)
    if stored is None:
        if flow or begin or end:
            given = "--flow, --from and --to are about the trace of a run"
            hint = "run the scenario by itself with --trace tcp, and report on that run"
            raise UsageError(f"{given}, and this is the store of a campaign", hint)
        if where and out is None:
            raise UsageError("--where: a page of a slice has no place of its own", "add -o FILE")
    elif where or claims:
        given = "--where" if where else "--claims"
        raise UsageError(f"{given} is about campaigns, and this is a run", "leave it out")
    if options.to_stdout(page, as_json):
        print(_campaign(run, where, claims) if stored is None else _run(stored, flow or [], begin, end))
        return
    may_replace = always if force else is_page if real_name(page) == real_name(own) else never
    options.check_target(page, may_replace)
    _check_format(page)
    html = _campaign(run, where, claims) if stored is None else _run(stored, flow or [], begin, end)
    write_page(page, html, may_replace)
    answer({"report": str(page)}, page, as_json)


def _campaign(folder: Path, where: list[str] | None, claims: list[Path] | None) -> str:
    from perhop.judge.campaign import judge_store
    from perhop.report.campaign import render

    store = options.opened(folder, where)
    if not claims:
        return render(store)
    file = options.once("--claims", claims, "judge one file after the other")
    return render(store, str(file), judge_store(file, store))


def _run(stored: StoredRun, flows: list[str], begin: str | None, end: str | None) -> str:
    from perhop.report.run import render

    if (flows or begin or end) and stored.trace("tcp") is None:
        message = f"{stored.folder} has no trace of TCP, which --flow, --from and --to are about"
        raise UsageError(message, f"run it with one: {stored.record.command} --trace tcp")
    return render(stored, view_of(stored, flows, begin, end))


def _check_format(page: Path) -> None:
    """Refuse a name that promises another format than HTML."""
    kind, packed = MimeTypes().guess_type(page.name)
    if packed or kind not in ("text/html", None):
        hint = f"write {page.with_suffix('.html')}; browsers print to PDF, and the run's tables are Parquet"
        raise UsageError(f"-o {page}: a report is a page (HTML), not {page.suffix}", hint)


def view_of(stored: StoredRun, flows: list[str], begin: str | None, end: str | None) -> View:
    """Return the part of a run that is asked for; refuse one that cannot be shown."""
    from perhop.report.tcp import View

    asked = View()
    names = stored.tables["flows"]["name"].to_list()
    for name in flows:
        if name not in names:
            few = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise UsageError(f"--flow {name}: no such flow", f"choose among {few}")
    begin_s = asked.begin_s if begin is None else options.seconds("--from", begin)
    end_s = asked.end_s if end is None else options.seconds("--to", end)
    if begin is not None and begin_s >= (duration_s := stored.scenario().describe().run.duration_s):
        raise UsageError(f"--from {begin}: the run ends at {duration_s:g}s", "give an earlier time")
    if end_s <= begin_s:
        raise UsageError(f"--to {end} is not after --from {begin or '0s'}")
    return View(tuple(dict.fromkeys(flows)), begin_s, end_s)
