"""Levels of factors in responses: their numbers and units, and that values are of their own treatment."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from perhop.cli.__main__ import run as perhop_command
from perhop.experiment import ledger, levels
from perhop.experiment.campaign import by_key, complete_runs, plan
from perhop.experiment.definition import Campaign
from perhop.experiment.factors import Factor, Level
from perhop.experiment.parser import parse
from perhop.experiment.response import Response, ResponseError
from perhop.experiment.rules import Stop
from perhop.experiment.store import Store
from test_campaign_run import GOODPUT, SCENARIO, campaign, ran, table

OVER = Response.parse("over", "mean(flows.goodput_bit_s) / level.rate by name")
RATES = {"rate=1Mbit/s": 1e6, "rate=2Mbit/s": 2e6, "rate=4Mbit/s": 4e6}


@pytest.mark.parametrize(
    ("level", "number"),
    [
        (Level("slow", ("link.a-b.rate=1.5Mbit/s",)), (1.5e6, "bit/s")),
        (Level("slow", ('flow.up.tcp.window="64KiB"', "flow.down.tcp.window=64KiB")), (65536.0, "byte")),
        (Level("20 ms", ("link.a-b.delay=10ms", "link.b-c.rate=1Mbit/s")), (0.02, "s")),
        (Level("0.5", ()), (0.5, "1")),
        (Level("-3", ()), (-3.0, "1")),
        (Level("30", ("port.a-b.class.all.queue={ kind = 'fifo', limit = '30p' }",)), (30.0, "1")),
        (Level("30p", ()), (30.0, "packets")),
        (Level("7", ("flow.up.count=12",)), (12.0, "1")),
        (Level("red", ("port.a-b.class.all.queue.kind=red",)), None),
        (Level("both", ("link.a-b.delay=10ms", "link.b-c.rate=1Mbit/s")), None),
    ],
)
def test_a_level_stands_for_what_it_sets_or_is_called(level: Level, number: tuple[float, str] | None) -> None:
    assert levels.number(level) == number


@pytest.mark.parametrize(
    ("levels_of", "warning"),
    [
        (
            (Level("0.05", ("link.a-b.loss=0.0025",)),),
            "level `0.05` of `x` counts as what it sets: link.a-b.loss=0.0025",
        ),
        (
            (Level("20ms", ("link.a-b.delay=10ms",)),),
            "level `20ms` of `x` counts as what it sets: link.a-b.delay=10ms",
        ),
        ((Level("100", ("link.a-b.rate=100Mbit/s",)), Level("2Mbit/s", ("link.a-b.rate=2000kbit/s",))), None),
        ((Level("slow", ("link.a-b.rate=1Mbit/s",)),), None),
        ((Level("0.1us", ("link.a-b.delay=0.00010ms",)),), None),
    ],
)
def test_a_name_that_is_another_number_is_doubted(levels_of: tuple[Level, ...], warning: str | None) -> None:
    found = levels.doubts(parse("mean(flows.goodput_bit_s) / level.x").of, [Factor("x", levels_of)])
    assert [one.rule for one in found] == ([warning] if warning else [])
    assert list(levels.doubts(parse("level.y").of, [Factor("x", levels_of)])) == []


@pytest.mark.parametrize(
    "text",
    [
        "mean(flows.goodput_bit_s) / level.target",
        'level."two words" * mean(flows.goodput_bit_s - level.target) - level.x by class',
        "quantile(flows.srtt_s / -level.delay, 0.5)",
    ],
)
def test_what_is_printed_reads_as_the_same(text: str) -> None:
    assert str(parse(text)) == text
    assert str(parse(str(parse(text)))) == text


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("mean(flows.goodput_bit_s) / level.rate", "1"),
        ("mean(flows.goodput_bit_s) - level.rate", "bit/s"),
        ("mean(flows.goodput_bit_s - level.rate)", "bit/s"),
        ("mean(flows.goodput_bit_s) * level.n", "bit/s"),
        ("mean(flows.goodput_bit_s) - level.n", None),
        ("sum(links.bytes) / level.buffer", "1"),
        ("max(queues.max_packets) / level.buffer", "packets/byte"),
    ],
)
def test_units_follow_from_levels(text: str, unit: str | None) -> None:
    factors = [
        Factor.vary("link.a-b.rate", ["1Mbit/s", "2Mbit/s"], "rate"),
        Factor.vary("flow.f.count", [1, 2], "n"),
        Factor.vary("port.a-b.class.all.queue.limit", ["10kB", "20kB"], "buffer"),
    ]
    response = Response.parse("x", text)
    response.check(factors=factors)
    assert response.of_design(factors).unit == unit


@pytest.mark.parametrize(
    ("text", "marked", "rule", "hint"),
    [
        ("mean(flows.srtt_s) / level.rat", "level.rat", "there is no factor `rat`", "did you mean `rate`?"),
        (
            "mean(flows.srtt_s * level.kind)",
            "level.kind",
            "level `red` of `kind` has no number",
            "else its name",
        ),
        (
            "mean(flows.srtt_s) - level.mixed",
            "level.mixed",
            "have different units: '1s' and '1p'",
            "in one unit",
        ),
        (
            "mean(flows.srtt_s) / level.",
            "",
            "a factor should stand here, not the end",
            "such as `level.target`",
        ),
        ("mean(level.rate)", "level", "a statistic is of a column", None),
        ("level.rate", "level.rate", "at least one statistic", None),
        (
            "count(flows where srtt_s > level.rate)",
            "level",
            "a text in quotes or a number should stand",
            None,
        ),
    ],
)
def test_mistakes_have_their_place(text: str, marked: str, rule: str, hint: str | None) -> None:
    factors = [
        Factor.vary("link.a-b.rate", ["1Mbit/s", "2Mbit/s"], "rate"),
        Factor.vary("port.a-b.class.all.queue.kind", ["red", "codel"], "kind"),
        Factor("mixed", (Level("1s"), Level("1p"))),
    ]
    with pytest.raises(ResponseError) as caught:
        Response.parse("x", text).check(factors=factors)
    [fault] = caught.value.faults
    assert text[slice(*fault.span)] == marked
    assert rule in fault.rule
    assert hint is None or hint in (fault.hint or "")


def test_a_run_alone_has_no_levels() -> None:
    with pytest.raises(ResponseError, match=r"`level.rate` is a number of a treatment"):
        OVER.evaluate({"flows": pl.DataFrame({"name": ["a"], "goodput_bit_s": [1.0]})})


def test_values_are_over_the_level_of_their_treatment(tmp_path: Path) -> None:
    whole = campaign(responses=[GOODPUT, OVER, Response.parse("each", "mean(flows.goodput_bit_s) by name")])
    assert ran(tmp_path / "x", whole).made == 9
    scalars = Store.open(tmp_path / "x").scalars()
    each, over = (scalars.filter(response=name) for name in ("each", "over"))
    rates = each["treatment"].replace_strict(RATES, return_dtype=pl.Float64)
    assert len(over) == 18
    assert over["value"].to_list() == (each["value"] / rates).to_list()
    assert over.drop("response", "value").equals(each.drop("response", "value"))
    before = table(tmp_path / "x")
    again = ran(tmp_path / "x", whole)
    assert (again.made, again.kept) == (0, 9)
    assert table(tmp_path / "x") == before
    assert Store.open(tmp_path / "x").whole.responses[1].unit == "1"
    sliced = Store.open(tmp_path / "x").where(["rate=2Mbit/s"])
    assert sliced.scalars().filter(response="over")["value"].to_list() == over["value"].to_list()[6:12]


def test_another_number_of_a_level_is_another_measure(tmp_path: Path) -> None:
    def named(*numbers: str) -> Campaign:
        made = [Level(number, ("link.a-b.rate=1Mbit/s", "link.a-b.delay=5ms")) for number in numbers]
        return campaign(rates=Factor("part", tuple(made)), replications=1, responses=[ratio])

    ratio = Response.parse("ratio", "mean(flows.goodput_bit_s) * level.part")
    # two treatments that are the same scenario share a run, and have each its own value
    assert ran(tmp_path / "x", named("1", "3")).made == 1
    one, three = Store.open(tmp_path / "x").scalars()["value"]
    assert three == 3 * one
    with ledger.read(tmp_path / "x") as book:
        done = [
            len(complete_runs(each, book, by_key(plan(each))))
            for each in (named("1"), named("3", "1"), named("4"))
        ]
    assert done == [1, 1, 0]
    assert ran(tmp_path / "x", named("4", "3")).made == 1
    assert Store.open(tmp_path / "x").scalars()["value"].to_list() == [4 * one, 3 * one]


def test_a_rule_that_stops_looks_at_values_with_levels(tmp_path: Path) -> None:
    part = Response.parse("part", "mean(flows.goodput_bit_s) / level.rate")
    stop = Stop("part", 0.5, relative=False, most=12)
    outcome = ran(tmp_path / "x", campaign(responses=[part], replications=2, stop=stop))
    assert outcome.stopped is not None
    assert outcome.stopped.met
    assert ran(tmp_path / "x", campaign(responses=[part], replications=2, stop=stop)).made == 0
    assert Store.open(tmp_path / "x").scalars()["value"].max() < 1.0  # type: ignore[operator]


def test_files_and_sweeps_have_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    words = ["sweep", "net.toml", "--vary", "link.a-b.rate=1Mbit/s,2Mbit/s", "--replications", "2", "-j", "1"]
    assert (
        perhop_command([*words, "--measure", "over=mean(flows.goodput_bit_s) / level.rate", "-o", "out"]) == 0
    )
    values = Store.open("out").scalars()["value"].to_list()
    assert all(0.5 < value < 1.0 for value in values)
    assert "over: means with 95 % intervals" in capsys.readouterr().out
    assert perhop_command([*words, "--measure", "over=mean(flows.goodput_bit_s) / level.rte"]) == 3
    assert "there is no factor `rte`" in capsys.readouterr().err
    file = tmp_path / "out/campaign.toml"
    assert perhop_command(["check", str(file)]) == 0
    file.write_text(file.read_text().replace('"2Mbit/s"', '"{ }"'))
    capsys.readouterr()
    assert perhop_command(["check", str(file)]) == 3
    assert "has no number" in capsys.readouterr().out


def test_a_worker_gets_the_number() -> None:
    [over] = campaign(responses=[OVER]).at(1)
    assert (over.text, over.key) == ("mean(flows.goodput_bit_s) / 2000000 by name",) * 2
    flows = pl.DataFrame({"name": ["a"], "goodput_bit_s": [1e6]})
    assert over.evaluate({"flows": flows}) == {("a",): 0.5}
