"""`perhop campaign`: designed experiments, planned, run or resumed, and watched."""

from __future__ import annotations

import math
import shlex
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perhop.cli import options, replications
from perhop.cli.exit import ExitCode, UsageError
from perhop.cli.options import argument, flag, option
from perhop.cli.output import note, print_json, warn
from perhop.cli.progress import Progress
from perhop.say.document import MOST_ROWS, Table
from perhop.say.terminal import show
from perhop.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perhop.experiment.campaign import Outcome
    from perhop.experiment.definition import Campaign
    from perhop.experiment.ledger import Planned
    from perhop.experiment.store import Store

group = options.group("Designed experiments: factors, treatments, replications.")

FILE = argument("FILE", "Campaign file (TOML), or the store of one that was begun.")
OUT = option("-o --out", "DIR", "Store; default out/<campaign>, of a campaign.toml out/<its folder>.")
JOBS = option("-j --jobs", "N", "Runs side by side on this machine; default: all cores.", min=1)
EXECUTOR = option("--executor", "dask://HOST:PORT", "Make the runs on a Dask cluster.")
UNTIL_CI = option(
    "--until-ci",
    "WIDTH",
    "Replicate until every interval is at most so wide to either side: 2%, or RESPONSE=2%.",
)
MOST = option("--most", "N", "Most replications of --until-ci; default 100.", min=2, max=1_000_000)
EACH = flag("--each", "With --until-ci: a treatment that is narrow enough gets no more runs.")


@group.command("plan")
def plan_command(
    file: Path = FILE,
    out: Path | None = OUT,
    jobs: int | None = JOBS,
    until_ci: list[str] | None = UNTIL_CI,
    most: int | None = MOST,
    each: bool = EACH,
    whole: bool = options.ALL,
    as_json: bool = options.JSON,
) -> None:
    """Show what a campaign asks for, and about how long it takes; nothing is run or written."""
    from perhop.experiment.campaign import plan
    from perhop.run.cores import count as cores
    from perhop.say.campaign import estimate, planned

    campaign, folder = load(file, out, until_ci, most, each)
    found = estimate(campaign, plan(campaign), folder, jobs or cores())
    treatments = campaign.design.treatments
    if as_json:
        rows = [{"name": one.name, "levels": one.levels, "overrides": one.overrides} for one in treatments]
        print_json({"campaign": campaign.name, "store": str(folder), **found, "treatments": rows})
        return
    cells = [(*one.levels, ", ".join(one.overrides) or "-") for one in treatments]
    columns = (*campaign.design.names, "sets")
    show(Table("Treatments", columns, cells, whole="with --all", most=MOST_ROWS), whole=whole)
    show(planned(campaign, found))
    words = ["perhop", "campaign", "run", str(file), *(["-o", str(out)] if out else [])]
    print(f"next: {shlex.join(words)}")


@group.command("run")
def run_command(
    file: Path = FILE,
    out: Path | None = OUT,
    jobs: int | None = JOBS,
    executor: str | None = EXECUTOR,
    until_ci: list[str] | None = UNTIL_CI,
    most: int | None = MOST,
    each: bool = EACH,
    whole: bool = options.ALL,
    as_json: bool = options.JSON,
) -> int:
    """Run what is missing of a campaign: begins it, or goes on after whatever stopped it."""
    campaign, folder = load(file, out, until_ci, most, each)
    return run_and_tell(campaign, folder, jobs, executor, as_json, whole)


@group.command("status")
def status_command(file: Path = FILE, out: Path | None = OUT, as_json: bool = options.JSON) -> None:
    """Say how far a campaign is, also while it runs."""
    from perhop.experiment import ledger
    from perhop.experiment.campaign import plan
    from perhop.experiment.store import Store
    from perhop.say.campaign import about, counted_states, failures, warm_up

    file.stat()  # what is not there is told as such
    folder = out or (file if file.is_dir() else _default(file))
    store = Store.open(folder)
    if not file.is_dir() and not _is_as_run(file, store):
        check_store(folder, plan(load(file, folder)[0]))
    with ledger.read(folder) as book:
        states, left_s = book.states(), book.left_s()
    who, runs = ledger.driver(folder), store.runs()
    failed = store.failures(runs)
    if as_json:
        left = left_s if who else None
        print_json({"store": str(folder), **states, "running": who, "left_s": left, "failures": failed})
        return
    print(f"{folder}: {counted_states(states)}")
    if who:
        print(f"running: {who}" + (f"; {about(left_s)} left" if left_s is not None else ""))
    elif states["missing"]:
        print(f"not running; go on with: perhop campaign run {shlex.quote(str(folder))}")
    note(*failures(failed), *(f"warning: {text}" for text in warm_up(store, runs)))


group.command("replications")(replications.command)


def load(
    file: Path,
    out: Path | None,
    until_ci: list[str] | None = None,
    most: int | None = None,
    each: bool = False,
) -> tuple[Campaign, Path]:
    """Return a campaign and its store, from its file or from the store."""
    from perhop.experiment.definition import CampaignError, read
    from perhop.experiment.store import Store

    if file.is_dir():
        campaign, folder = Store.open(file).campaign, out or file
    else:
        found, mistakes, warnings = read(file)
        if found is None:
            refuse_scenario(file)
            raise CampaignError(mistakes)
        warn(warnings)
        campaign, folder = found, out or _default(file)
    return with_stop(campaign, until_ci, most, each), folder


def refuse_scenario(file: Path) -> None:
    """Refuse a scenario or a file of claims in place of a campaign's file."""
    from perhop.scenario.scenario import Scenario

    scenario = Scenario.load(file)
    options.refuse_lesson(file)
    options.refuse_claims(file, scenario.source)
    if not scenario.check():
        word = shlex.quote(str(file))
        message = f"{file} is a scenario, not the file of a campaign"
        raise UsageError(message, f"perhop run {word}, or perhop sweep {word} --vary PATH=A,B --measure EXPR")


def run_and_tell(
    campaign: Campaign,
    folder: Path,
    jobs: int | None,
    executor: str | None,
    as_json: bool,
    whole: bool = False,
) -> int:
    """Run a campaign with progress on stderr; print its results and the path of its page."""
    from perhop.judge.promises import judge_promises
    from perhop.say import campaign as words
    from perhop.say import promises

    made = make(campaign, folder, jobs, executor)
    without = words.without_values(made.store)
    note(*(f"warning: {text}" for text in without))
    if as_json:
        found = words.document(made.store, made.outcome, made.page, made.failed)
        print_json({**found, "warnings": [*made.warnings, *without]})
    else:
        show(*promises.parts(judge_promises(made.store)), *words.tables(made.store), whole=whole)
        note(*words.failures(made.failed))
        print(f"report: {made.page.resolve()}")
    return ExitCode.FAILED_RUNS if made.failed else ExitCode.DONE


class Made(NamedTuple):
    """A campaign that has been run: its page, the runs that failed, and the warnings that were printed."""

    store: Store
    outcome: Outcome
    page: Path
    failed: list[dict[str, Any]]
    warnings: list[str]


def make(campaign: Campaign, folder: Path, jobs: int | None, executor: str | None, begin: str = "") -> Made:
    """Run a campaign and write its page; `begin` is printed first in place of the estimate."""
    from perhop.experiment.campaign import plan, run_campaign
    from perhop.experiment.executors import open_executor, width
    from perhop.experiment.store import Store
    from perhop.report.campaign import write
    from perhop.say import campaign as words

    runs = plan(campaign)
    check_store(folder, runs)
    try:
        workers = open_executor(executor, jobs if executor else side_by_side(campaign, jobs))
    except ValueError as error:
        raise UsageError(f"--executor {error}") from error
    with _how_far(folder), workers:
        note(begin or words.planned(campaign, words.estimate(campaign, runs, folder, width(workers))))
        with Progress(campaign.name, bound=bool(campaign.stop or campaign.select)) as progress:
            outcome = run_campaign(campaign, folder, workers, progress=progress.update, runs=runs)
    store = Store.open(folder)
    ended = store.runs()
    warnings = [*words.alike(store.scalars()), *words.warm_up(store, ended)]
    note(*words.changes(campaign, outcome), *(f"warning: {text}" for text in warnings))
    return Made(store, outcome, write(store), store.failures(ended), warnings)


@contextmanager
def _how_far(folder: Path) -> Iterator[None]:
    """Context that prints how much is done and how to go on, if it does not end well."""
    from perhop.experiment import ledger
    from perhop.say.campaign import counted_states

    try:
        yield
    except ledger.StoreError:  # in use by another, or not to be used at all
        raise
    except BaseException:
        # what cannot be read is no reason to hide what went wrong first
        with suppress(OSError, ledger.StoreError), ledger.read(folder) as book:
            states = book.states()
            if states["missing"]:
                again = f"perhop campaign run {shlex.quote(str(folder))}"
                note(f"{folder}: {counted_states(states)}; go on with: {again}")
        raise


def side_by_side(campaign: Campaign, jobs: int | None) -> int | None:
    """Return the number of runs to make at once; on real packets as many as are undistorted."""
    scenarios = [campaign.scenario.override(*one.overrides) for one in campaign.design.treatments]
    live = [one for one in scenarios if one.core.live]
    if not live:
        return jobs
    from perhop.run.cores import allowed
    from perhop.run.machine import check_controls

    check_controls(live)
    some, why = allowed(jobs)
    if why:
        note(why)
    return some


def _is_as_run(file: Path, store: Store) -> bool:
    """Return whether a campaign file, its scenario and its files are, to the byte, those of the store."""
    import tomllib

    from perhop.scenario.files import Files

    campaign = store.campaign
    if file.read_bytes() != campaign.source:
        return False
    scenario = file.parent / str(tomllib.loads(campaign.source.decode())["scenario"])
    if not scenario.is_file() or scenario.read_bytes() != campaign.scenario.source:
        return False
    beside = Files(scenario.parent)
    try:
        return all(beside.read(name)[0] == held for name, held in campaign.scenario.files.held.items())
    except ValueError:
        return False


def check_store(folder: Path, runs: Sequence[Planned]) -> None:
    """Refuse another campaign's store: one in which none of these runs was ever asked for."""
    from perhop.experiment import ledger

    if not (folder / ledger.FILE).exists():
        return
    with ledger.read(folder) as book:
        there = {run.key for run in book.plan()}
    if there and there.isdisjoint(run.key for run in runs):
        message = f"{folder} is the store of another campaign: of {counted(len(runs), 'run')} it has none"
        hint = "give another folder with -o; a scenario that was changed since needs one too"
        raise UsageError(message, hint)


def _default(file: Path) -> Path:
    from perhop.experiment.rules import name_of

    return Path("out") / name_of(file)


_MOST = 100
"""Replications after which `--until-ci` gives up, unless the campaign says how many."""


def with_stop(
    campaign: Campaign, until_ci: list[str] | None, most: int | None = None, each: bool = False
) -> Campaign:
    """Return a campaign with the rule that `--until-ci`, `--most` and `--each` ask for."""
    from perhop.experiment.rules import Stop, half_width

    if most is not None and most < campaign.design.replications:
        message = f"--most {most}: below `replications`, {campaign.design.replications}"
        raise UsageError(message, "the least and the most are of every treatment")
    own = campaign.stop
    each = each or (own is not None and own.each)
    if not until_ci:
        if most is None and not each:
            return campaign
        if own is None:
            given = "--each" if most is None else f"--most {most}"
            raise UsageError(f"{given}: until what?", "add --until-ci 2%; or set `replications`")
        return replace(campaign, stop=replace(own, most=most or own.most, each=each))
    text = options.once("--until-ci", until_ci, "give it once, for the response that is to be known")
    known = [response.name for response in campaign.responses]
    name, _, width = text.rpartition("=")
    value, relative = half_width(width)
    if math.isnan(value):
        message = f"--until-ci {text}: {width!r} is not a half-width above zero"
        raise UsageError(message, "such as 2%, or a number in the unit of the response")
    if not name and campaign.stop is not None:
        name = campaign.stop.response
    if not name and len(known) == 1:
        name = known[0]
    if name not in known:
        message = f"--until-ci {text}: " + (f"no response {name!r}" if name else "of which response?")
        # with one = too many it is open which width is meant
        meant = "WIDTH" if "=" in name else width
        such = " or ".join(shlex.quote(f"{each}={meant}") for each in known[:3])
        raise UsageError(message, f"write {such}")
    if most is None:
        most = campaign.stop.most if campaign.stop else max(_MOST, campaign.design.replications)
    return replace(campaign, stop=Stop(name, value, relative, most, each), select=None)
