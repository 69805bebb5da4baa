"""`perhop recommend`: the best ACK marking of a scenario, in words, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perhop.cli import campaign, options
from perhop.cli.exit import CommandError, ExitCode, UsageError
from perhop.cli.options import flag, option
from perhop.cli.output import note, print_json, warn
from perhop.say.terminal import show
from perhop.units import fraction

if TYPE_CHECKING:
    from perhop.experiment.definition import Campaign
    from perhop.experiment.factors import Factor
    from perhop.experiment.rules import Goal
    from perhop.scenario.scenario import Scenario


def command(
    scenario: Path = options.SCENARIO,
    overrides: list[str] | None = options.SET,
    goal: str | None = option(
        "--goal",
        "NAME",
        "household, gaming or bulk: what counts; or promises: what the scenario promises is kept. "
        "Buffers, queues and ways for ACKs are tried.",
    ),
    promises: Path | None = option(
        "--promises", "FILE", "With --goal promises: a file of [[sla]] tables in the place of the scenario's."
    ),
    beside: list[str] | None = option(
        "--try",
        "KIND,...",
        "Try other elements too: queue, scheduler, meter; may be repeated: all are crossed.",
    ),
    vary: list[str] | None = option(
        "--vary", "PATH=A,B,C", "Try values of another setting, too; all are crossed."
    ),
    weigh: str | None = option(
        "--weigh",
        "CLASS:MEASURE=WEIGHT,...",
        "What counts, and how much: goodput, delay_p99, transfer_mean and so on of classes. "
        "Without it one measure of each class counts, all alike.",
    ),
    measure: str | None = option("--measure", "EXPR", "What counts, as in a campaign; more is better."),
    less: bool = flag("--less", "Of --measure less is better."),
    delta: str = option("--delta", "WIDTH", "A difference worth having, in percent.", "2%"),
    level: float = option("--level", "P", "Confidence of the answer, inside (0, 1).", 0.95),
    most: int = option("--most", "N", "Replications at most.", 60, min=2, max=10_000),
    out: Path | None = option("-o --out", "DIR", "Store; default out/<scenario>-recommend, and -<goal>."),
    jobs: int | None = campaign.JOBS,
    executor: str | None = campaign.EXECUTOR,
    as_json: bool = options.JSON,
) -> int:
    """Try ways to treat ACKs or a line under common random numbers, and say which is best, and how sure."""
    loaded = options.load(scenario, overrides)
    what = _What(goal, promises, weigh, measure, less)
    asked = _asked(scenario.stem, loaded, what, beside or [], vary or [], _worth(delta, level), level, most)
    folder = out or Path("out") / asked.name
    tried = f"{len(asked.design.treatments)} candidates, at most {asked.most} replications"
    begin = f"{asked.name}: {tried}; losers are dropped on the way"
    return _tell(campaign.make(asked, folder, jobs, executor, begin), as_json)


@dataclass(frozen=True)
class _What:
    """The measures that are to count, as asked for."""

    goal: str | None
    promises: Path | None
    weigh: str | None
    measure: str | None
    less: bool

    def check(self) -> None:
        given = [name for name in ("goal", "weigh", "measure") if getattr(self, name) is not None]
        if self.keeps:
            given.remove("goal")
        elif self.promises is not None:
            raise UsageError(f"--promises {self.promises}: for which goal?", "give --goal promises with it")
        if len(given) > 1:
            raise UsageError(f"{' and '.join(f'--{name}' for name in given)}: give one of them")
        if self.less and self.measure is None:
            raise UsageError("--less: of what?", "give --measure EXPR with it")

    @property
    def keeps(self) -> bool:
        """Whether promises are to be kept; the measures then are of what keeps them."""
        return self.goal == "promises"

    def goals(self, scenario: Scenario) -> tuple[Goal, ...]:
        from perhop.experiment.rules import Goal
        from perhop.recommend import goals

        if self.measure is not None:
            return (Goal(goals.EXPRESSION, (), -1.0 if self.less else 1.0),)
        if self.weigh is not None:
            try:
                return goals.weighed(self.weigh, scenario)
            except goals.GoalError as error:
                raise UsageError(f"--weigh {error}") from error
        return goals.usual(scenario) if self.goal is None else goals.of_goal(self.goal, scenario)


def _asked(
    stem: str,
    scenario: Scenario,
    what: _What,
    beside: list[str],
    vary: list[str],
    worth: float,
    level: float,
    most: int,
) -> Campaign:
    from perhop.cli.sweep import factors
    from perhop.experiment.definition import Campaign
    from perhop.experiment.design import Design
    from perhop.experiment.design_check import message
    from perhop.experiment.fault import DesignError
    from perhop.experiment.promises import promised_responses
    from perhop.experiment.rules import Select
    from perhop.experiment.vocabulary import words_of_design
    from perhop.recommend import goals
    from perhop.recommend.candidates import fitting

    what.check()
    if what.goal is not None:
        scenario = _of_goal(scenario, what.goal, what.promises, beside, most)
    factor, left_out = _candidates(scenario, what.goal)
    chosen = what.goals(scenario)
    warn(scenario.warnings())
    crossed = Design.full([factor, *_tried(beside, scenario), *factors(vary)], replications=most)
    design, in_use, unfit = fitting(crossed, scenario)
    note(*(f"not tried: {reason}" for reason in (*left_out, *unfit)))
    bounds = goals.bounds(scenario) if what.keeps else ()
    responses = goals.responses(chosen, what.measure, scenario)
    known = words_of_design(scenario, design)
    for response in responses:
        response.check(known)
    if what.measure is not None and responses[-1].by:
        raise UsageError(f"--measure {what.measure}: one number counts, not one of each group")
    mistakes, warnings = design.check(scenario)
    if mistakes:
        raise DesignError(mistakes)
    told = [message(one) for one in scenario.warnings()]
    for one in warnings:
        # of candidates alone there is nothing to mend
        if one.at[:2] != ("factor", 0) and not any(text in one.rule for text in told):
            note(f"warning: {one}")
    if bounds:
        responses += tuple(promised_responses(scenario))
    select = Select(chosen, what.measure is None, worth, level, in_use, most, bounds)
    name = "-".join([stem, "recommend", *([what.goal] if what.goal else [])])
    return Campaign(name, scenario, design, responses, select=select)


def _of_goal(scenario: Scenario, goal: str, file: Path | None, beside: list[str], most: int) -> Scenario:
    """Return the scenario as a goal has it: with probes, or with promises, which are judged without."""
    from perhop.experiment.rules import MIN_REPLICATIONS
    from perhop.recommend.goals import GOALS, PROMISES
    from perhop.recommend.line import probed
    from perhop.recommend.promised import promised

    if goal not in GOALS:
        raise UsageError(f"--goal {goal}: there are {', '.join(GOALS)}")
    if beside:
        hint = "--goal tries queues by itself; --vary crosses more"
        raise UsageError("--goal and --try: give one of them", hint)
    if goal != PROMISES:
        return probed(scenario)
    if most < MIN_REPLICATIONS:
        raise UsageError(f"--most {most}: promises are judged from {MIN_REPLICATIONS} replications on")
    own = scenario if file is None else promised(scenario, file)
    if not own.describe().settings.sla:
        hint = "add [[sla]] tables (docs/scenario.md#sla), or give a file that has some with --promises FILE"
        raise UsageError(f"--goal promises: {file or scenario.name} promises nothing", hint)
    return own


def _candidates(scenario: Scenario, goal: str | None) -> tuple[Factor, tuple[str, ...]]:
    """Return the candidates as one factor, and those left out, each with the reason."""
    from perhop.recommend.candidates import NothingToTryError, candidates
    from perhop.recommend.line import line

    try:
        if goal is not None:
            return line(scenario)
        found = candidates(scenario)
    except NothingToTryError as error:
        raise UsageError(str(error), error.hint) from error
    return found.factor, found.left_out


def _tried(beside: list[str], scenario: Scenario) -> list[Factor]:
    """Return a factor for each kind of element that `--try` names."""
    from perhop.recommend.elements import TRIED, elements

    found = []
    for kind in dict.fromkeys(word.strip() for text in beside for word in text.split(",")):
        if kind not in TRIED:
            raise UsageError(f"--try {kind}: there are {', '.join(TRIED)}")
        factor, left_out = elements(kind, scenario)
        for reason in left_out:
            note(f"not tried: {kind} {reason}")
        if factor is None:
            note(f"--try {kind}: there is nothing to try, so that it stays as it is")
        else:
            found.append(factor)
    # a scheduler writes its port's classes anew, with the queues that they have: queues come after it
    return sorted(found, key=lambda one: one.name == "queue")


def _worth(delta: str, level: float) -> float:
    if not 0.0 < level < 1.0:
        raise UsageError(f"--level {level:g}: not inside (0, 1)", "such as 0.95")
    worth = fraction(delta)
    if not 0.0 < worth < math.inf:
        raise UsageError(f"--delta {delta}: not a percentage above zero", "write --delta 2%, say")
    return worth


def _tell(made: campaign.Made, as_json: bool) -> int:
    """Print the answer of a race and the path of its page."""
    from dataclasses import asdict

    from perhop.judge.promises import judge_promises
    from perhop.recommend.forms import closed_forms
    from perhop.say import campaign as words
    from perhop.say import promised, promises, recommendation

    store, _, page, failed, _ = made
    answered = recommendation.described(store)
    assert answered is not None, "a race that has been run is over"
    found, sentences = answered
    if found is None:
        note(*words.failures(failed))
        # promises are judged whatever else has no value
        judged = judge_promises(store)
        if as_json:
            print_json({"store": str(store.folder), "report": str(page), **promises.document(judged)})
        else:
            show(*promises.parts(judged), f"report: {page.resolve()}")
        status = ExitCode.FAILED_RUNS if failed else ExitCode.USAGE
        hint = "weigh something else with --weigh, or make the run longer"
        raise CommandError(status, sentences[0], hint)
    commands = recommendation.commands(store, found)
    taken = next(one for one in store.campaign.design.treatments if one.name == found.taken)
    forms = closed_forms(store.campaign.scenario.override(*taken.overrides), found)
    if as_json:
        select = store.campaign.select
        assert select is not None
        document: dict[str, object] = {"store": str(store.folder), "report": str(page), "said": sentences}
        document |= {"delta": select.delta, "level": select.level, **asdict(found)}
        document |= promises.document(found.promises) if found.promises else {}
        print_json(document | {"failures": failed, "commands": commands, "estimates": forms})
    else:
        show(*sentences[: recommendation.LEAD])
        if found.promises is not None:
            show("", promised.table(found, found.promises))
        show(*sentences[recommendation.LEAD :], "", *recommendation.tables(found, forms))
        for what, line in commands.items():
            print(f"{what}: {line}")
        print(f"report: {page.resolve()}")
        note(*words.failures(failed))
    return ExitCode.FAILED_RUNS if failed else ExitCode.DONE
