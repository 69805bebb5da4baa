"""What classes are promised: refused where no run could keep it, measured, judged in each treatment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Cli
from perhop import Scenario
from perhop.cli.exit import ExitCode
from perhop.experiment.definition import Campaign
from perhop.experiment.store import Store
from perhop.judge.promises import judge_promises
from perhop.run.promises import promises_of

LINE = """
[run]
duration = "6s"
warmup = "1s"
[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
[[link]]
ends = ["a", "r"]
rate = "100Mbit/s"
[[link]]
ends = ["r", "b"]
rate = "2Mbit/s"
delay = "10ms"
[[port]]
at = "r"
to = "b"
class = [{ name = "all", queue = { kind = "fifo", limit = "50p" } }]
[[udp]]
name = "voice"
class = "voice"
from = "a"
to = "b"
rate = "80kbit/s"
packet_size = "200B"
start_jitter = "20ms"
[[flow]]
name = "bulk"
class = "bulk"
from = "a"
to = "b"
start_jitter = "300ms"
"""
SLA = """
[[sla]]
class = "voice"
quantity = "delay_p99"
bound = "50ms"
[[sla]]
class = "bulk"
quantity = "goodput"
bound = "1.5Mbit/s"
[[sla]]
class = "voice"
quantity = "loss"
bound = "1%"
"""
LOOSER = '[{ class = "voice", quantity = "delay_p99", bound = "50ms" }]'
NAMES = ["voice delay_p99", "bulk goodput", "voice loss"]
FQ = 'port.r-b.class.all.queue={ kind = "fifo", limit = "50p" },{ kind = "fq" }'


@pytest.fixture
def line(cli: Cli) -> Path:
    file = Path("line.toml")
    file.write_text(LINE + SLA)
    return file


def test_a_promise_is_no_part_of_a_run(line: Path) -> None:
    plain = Scenario.from_text(LINE)
    own = Scenario.load(line)
    assert own.key() == plain.key()
    assert Scenario.from_text(own.resolve()).key() == plain.key()
    assert promises_of(Scenario.from_text(own.resolve()).describe()) == promises_of(own.describe())
    assert [one.name for one in promises_of(own.describe())] == [
        "voice delay_p99",
        "bulk goodput",
        "voice loss",
    ]


def test_describe_names_them(cli: Cli, line: Path) -> None:
    at = (text := cli("describe", line).out).index("Promises\n")
    assert re.search(r"voice: 99 % delay +at most 50ms", text[at:])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('class = "vioce"\nquantity = "loss"\nbound = "1%"', "there is no class of flows `vioce`"),
        ('class = "voice"\nquantity = "delay_p97"\nbound = "1ms"', "delay_p97"),
        ('class = "voice"\nquantity = "delay_p95"\nbound = "5Mbit/s"', "5Mbit/s"),
        ('class = "voice"\nquantity = "goodput"\nbound = "5ms"', "5ms"),
        ('class = "voice"\nquantity = "loss"\nbound = "0.01"', "`0.01` is no percentage from 0 to 100"),
        ('class = "voice"\nquantity = "loss"\nbound = "101%"', "`101%` is no percentage from 0 to 100"),
        ('class = "voice"\nquantity = "delay_p99"\nbound = "60ms"', "`voice` is promised this already"),
        ('class = "bulk"\nquantity = "transfer_p95"\nbound = "1s"', "of the class `bulk` is a transfer"),
        ('class = "voice"\nquantity = "transfer_mean"\nbound = "1s"', "of the class `voice` is a transfer"),
    ],
)
def test_a_promise_that_no_run_could_keep_is_a_mistake(cli: Cli, line: Path, table: str, said: str) -> None:
    line.write_text(f"{line.read_text()}[[sla]]\n{table}\n")
    refused = cli("check", line)
    assert refused.code == ExitCode.INVALID
    assert said in refused.out
    assert "line.toml:" in refused.out


def test_one_run_says_what_it_has_of_each(cli: Cli, line: Path) -> None:
    done = cli("run", line, "-o", "run")
    assert done.code == 0
    at = done.out.splitlines().index("Promises in this run; ten replications judge them (perhop sweep)")
    rows = [line.split("   ") for line in done.out.splitlines()[at + 3 : at + 6]]
    assert [row[0].strip() for row in rows] == ["voice: 99 % delay", "bulk: goodput", "voice: loss"]
    assert [row[-1].strip() for row in rows][:2] == ["no", "yes"]
    assert cli("report", "run").code == 0
    page = Path("run/report.html").read_text()
    assert page.index("Promises in this run") < page.index("What was run</h2>")


def test_runs_side_by_side_say_what_each_has(cli: Cli, line: Path) -> None:
    short = ("-s", "run.duration=3s")
    assert cli("run", line, "-o", "one", *short).code == 0
    more = ("-s", 'port.r-b.class.all.queue={ kind = "fq" }', "-s", f"sla={LOOSER}")
    assert cli("run", line, "-o", "two", *short, *more).code == 0
    done = cli("compare", "one", "two", "-o", "both.html")
    title = "Promises in these runs; ten replications judge them (perhop sweep)"
    at = done.out.splitlines().index(title)
    rows = [re.split(r" {2,}", line.strip()) for line in done.out.splitlines()[at + 3 : at + 7]]
    # of the bound that both have a row each, and of others what one has
    assert [row[:3] for row in rows[:1]] == [["voice: 99 % delay", "at most 50ms", "one"]]
    assert (rows[0][-1], rows[1][0], rows[1][-1]) == ("no", "two", "yes")
    assert [row[:3] for row in rows[2:]] == [
        ["bulk: goodput", "at least 1.5Mbit/s", "one"],
        ["voice: loss", "at most 1%", "one"],
    ]
    assert not done.out.splitlines()[at + 7]
    assert title in Path("both.html").read_text()
    voice = {row["class"]: row for row in cli("compare", "one", "two", "--json").json()}["voice"]
    assert [one["quantity"] for one in voice["one"]["promises"]] == ["delay_p99", "loss"]
    assert [(one["quantity"], one["within"]) for one in voice["two"]["promises"]] == [("delay_p99", True)]


def judged(document: dict[str, Any]) -> dict[str, list[str]]:
    return {
        one["levels"]["queue"]: [promise["verdict"] for promise in one["promises"]]
        for one in document["promises"]
    }


def test_a_sweep_judges_them_in_every_treatment(cli: Cli, line: Path) -> None:
    done = cli("sweep", line, "--vary", FQ, "--replications", "10", "-o", "store", "--json")
    assert done.code == 0, done.err
    document = done.json()
    found = judged(document)
    assert found["fq"] == ["kept"] * 3
    assert found["fifo"][:2] == ["broken", "kept"]
    assert {row["response"] for row in document["means"]} == {*NAMES}
    for one in document["promises"]:
        for promise in one["promises"]:
            assert promise["replications"] == 10
            assert promise["ci95"][0] <= promise["mean"] <= promise["ci95"][1]
    # the same of the store, in words and on its page
    assert cli("analyze", "store").out.splitlines()[0].startswith("Of 3 promises in 2 treatments: ")
    assert judged(cli("analyze", "store", "--json").json()) == found
    page = Path("store/report.html").read_text()
    assert page.index("What is promised") < page.index("What mattered")
    assert "voice: 99 % delay, at most 50ms" in page


def test_with_few_replications_nothing_is_judged(cli: Cli, line: Path) -> None:
    done = cli("sweep", line, "--vary", FQ, "--replications", "2", "-o", "store", "--json")
    assert judged(done.json()) == {"fifo": ["not judged"] * 3, "fq": ["not judged"] * 3}
    text = cli("analyze", "store").out.splitlines()[0]
    assert "6 not judged (2 replications, 10 are needed)" in text


def test_a_campaign_measures_what_its_scenario_promises(cli: Cli, line: Path) -> None:
    file = Path("c.toml")
    factor = '[[factor]]\nname = "delay"\npath = "link.r-b.delay"\nlevels = ["1ms"]\n'
    file.write_text(f'scenario = "line.toml"\n{factor}')
    assert [one.name for one in Campaign.load(file).responses] == NAMES
    file.write_text(
        f'{file.read_text()}[[response]]\nname = "voice loss"\nmeasure = "sum(classes.dropped_packets)"\n'
    )
    refused = cli("check", file)
    assert refused.code == ExitCode.INVALID
    assert "the scenario promises `voice loss`" in refused.out


@pytest.mark.parametrize("name", ['vo"ice', "vo'ice", "vo\\ice", "my voice", "{of}", "ß"])
def test_any_name_of_a_class_is_measured(cli: Cli, name: str) -> None:
    quoted = f'"{name}"' if "'" in name else f"'{name}'"
    Path("line.toml").write_text((LINE + SLA).replace('class = "voice"', f"class = {quoted}"))
    done = cli("sweep", "line.toml", "--replications", "2", "-o", "store", "--json")
    assert done.code == 0, done.err
    (treatment,) = done.json()["promises"]
    assert [one["mean"] is not None for one in treatment["promises"]] == [True] * 3


def test_a_name_with_both_kinds_of_quotes_is_refused(cli: Cli) -> None:
    Path("line.toml").write_text((LINE + SLA).replace('class = "voice"', 'class = "v\'o\\"ice"'))
    assert "both kinds of quotes" in cli("check", "line.toml").out


def test_a_bound_that_is_met_exactly_is_kept(cli: Cli) -> None:
    """A packet of 200 bytes takes 16 us and 0.8 ms on the links, and 7.384 ms of delay: 8.2 ms."""
    alone = LINE[: LINE.index("[[flow]]")].replace("10ms", "7384us")
    Path("line.toml").write_text(
        f'{alone}[[sla]]\nclass = "voice"\nquantity = "delay_p99"\nbound = "8.2ms"\n'
    )
    run = cli("run", "line.toml", "-o", "run").out
    assert re.search(r"at most 8\.2ms +8\.2 ms +yes", run)
    (treatment,) = cli("sweep", "line.toml", "--replications", "10", "--json").json()["promises"]
    assert treatment["promises"][0]["verdict"] == "kept"


def test_treatments_without_a_run_that_finished_are_not_judged(cli: Cli, line: Path) -> None:
    cli("sweep", line, "--vary", FQ, "--replications", "2", "-o", "store")
    store = Store.open("store")
    some = store.scalars().filter(pl.col("queue").cast(pl.String) == "fq")
    found = judge_promises(store, some).treatments
    assert [one.levels["queue"] for one in found] == ["fifo", "fq"]
    assert {part.reason for part in found[0].parts} == {"no run finished"}


def test_a_level_changes_no_promise(cli: Cli, line: Path) -> None:
    refused = cli("sweep", line, "--vary", "sla=[],[{}]", "--replications", "2")
    assert refused.code != 0
    assert "one and the same" in refused.err


def test_without_promises_a_sweep_asks_what_to_measure(cli: Cli) -> None:
    Path("line.toml").write_text(LINE)
    refused = cli("sweep", "line.toml")
    assert refused.code == ExitCode.USAGE
    assert "nothing is measured" in refused.err
    words = ("--measure", "mean(flows.goodput_bit_s)", "--replications", "2", "--json")
    assert "promises" not in cli("sweep", "line.toml", *words).json()
