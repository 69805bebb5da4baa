"""`perhop campaign` and `perhop sweep` from the shell: what they say, leave, and survive."""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import Cli
from perhop.experiment import campaign, ledger
from perhop.experiment.campaign import plan
from perhop.experiment.definition import Campaign
from perhop.experiment.digests import seal_runs
from perhop.experiment.level_names import level_names
from perhop.experiment.store import Store
from test_campaign_run import SCENARIO

FILE = """
scenario = "y.toml"
replications = 3
[[factor]]
name = "rate"
path = "link.a-b.rate"
levels = ["1Mbit/s", "2Mbit/s", "4Mbit/s"]
[[response]]
name = "goodput"
measure = "mean(flows.goodput_bit_s) by name"
"""


@pytest.fixture
def file(cli: Cli, tmp_path: Path) -> Path:
    """Give a campaign file with its scenario, in the folder where commands run."""
    (tmp_path / "y.toml").write_text(SCENARIO)
    (tmp_path / "c.toml").write_text(FILE)
    return Path("c.toml")


def test_plan_says_what_it_would_cost_and_writes_nothing(cli: Cli, file: Path) -> None:
    done = cli("campaign", "plan", file)
    assert (done.code, done.err) == (0, "")
    assert "4Mbit/s   link.a-b.rate=4Mbit/s" in done.out
    assert "c: 3 treatments, 3 replications: 9 runs, a few seconds on " in done.out
    assert done.out.endswith("next: perhop campaign run c.toml\n")
    told = cli("campaign", "plan", file, "--json").json()
    assert (told["runs"], told["done"], told["treatments"][0]["name"]) == (9, 0, "rate=1Mbit/s")
    assert not Path("out").exists()


def test_run_prints_means_and_leaves_a_store(cli: Cli, file: Path) -> None:
    done = cli("campaign", "run", file, "-j", "1")
    assert done.code == 0
    assert "goodput: means in Mbit/s with 95 % intervals" in done.out
    scalars = pl.read_parquet("out/c/scalars.parquet")
    down = scalars.filter((pl.col("name") == "down") & (pl.col("rate") == "4Mbit/s"))["value"]
    assert f"rate=4Mbit/s down {down.mean() / 1e6:.5g}" in " ".join(done.out.split())
    again = cli("campaign", "run", file, "--json")
    assert (again.code, again.json()["kept"], again.json()["made"]) == (0, 9, 0)
    assert "9 runs kept, 0 new" in again.err
    means = {(one["treatment"], one["name"]): one["mean"] for one in again.json()["means"]}
    assert means["rate=4Mbit/s", "down"] == pytest.approx(down.mean())
    # a store goes on by itself
    assert cli("campaign", "run", "out/c", "--json").json()["made"] == 0
    assert cli("campaign", "status", file).out == "out/c: 9 of 9 runs done\n"
    status = cli("campaign", "status", "out/c", "--json").json()
    assert (status["done"], status["missing"], status["running"]) == (9, 0, None)


def test_a_failed_run_is_told_with_the_command_that_makes_it_again(cli: Cli, file: Path) -> None:
    assert cli("campaign", "run", file, "-j", "1").code == 0
    with ledger.driven(Path("out/c")) as book:
        book.connection.execute(
            "UPDATE run SET state = 'failed', failure = 'broke an invariant: a loss' WHERE finished = 1"
        )
        seal_runs(book.connection)
    done = cli("campaign", "run", file)
    assert done.code == 4
    assert "failed, and in no mean: rate=" in done.err
    assert "Rerun: cd out/c && perhop run scenario.toml -s link.a-b.rate=" in done.err
    replay = cli("campaign", "status", file, "--json").json()["failures"][0]["replay"]
    where, _, words = replay.partition(" && perhop ")
    os.chdir(where.removeprefix("cd "))
    assert cli(*words.split(), "-o", "again").code == 0


def test_until_ci_replicates_until_it_is_narrow_enough(cli: Cli, file: Path) -> None:
    done = cli("campaign", "run", file, "-j", "1", "--until-ci", "30%", "--json")
    assert done.code == 0
    stopped = done.json()["stopped"]
    assert stopped["met"]
    assert 5 <= stopped["replications"] < 100
    assert all(one["half_width"] <= 0.3 * one["mean"] for one in done.json()["means"])
    said = (
        f"at most 30 % of its mean to either side: narrow enough after {stopped['replications']} replications"
    )
    assert said in done.err
    assert said in Path("out/c/report.html").read_text()
    assert said in cli("analyze", "out/c").out


def test_status_plans_only_what_may_have_changed(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("campaign", "run", file, "-j", "1").code == 0
    planned: list[Campaign] = []
    monkeypatch.setattr(campaign, "plan", lambda one: planned.append(one) or plan(one))
    assert cli("campaign", "status", file).out == "out/c: 9 of 9 runs done\n"
    assert not planned
    for changed in (file, Path("y.toml")):
        changed.write_text(f"# a comment\n{changed.read_text()}")
        assert cli("campaign", "status", file).out == "out/c: 9 of 9 runs done\n"
        assert len(planned) == 1
        planned.clear()
        assert cli("campaign", "run", file).code == 0
        assert len(planned) == 1, "the runs are planned once"
        planned.clear()


def test_mistakes_have_their_place(cli: Cli, file: Path) -> None:
    file.write_text(FILE.replace('"2Mbit/s"', '"2Mbits"').replace("goodput_bit_s", "goodput"))
    done = cli("campaign", "run", file)
    assert done.code == 3
    assert "c.toml:" in done.err
    assert "`flows` has no column `goodput`" in done.err
    assert "2Mbits" in done.err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["campaign", "run", "none.toml"], 2, "No such file"),
        (["campaign", "run", "y.toml"], 2, "y.toml is a scenario, not the file of a campaign"),
        (["run", "c.toml"], 2, "c.toml is the file of a campaign, not a scenario"),
        (["campaign", "status", "none.toml"], 2, "none.toml: No such file"),
        (["campaign", "status", "c.toml"], 2, "out/c: no such folder; `perhop campaign run FILE` makes it"),
        (["analyze", "out/c"], 2, "out/c: no such folder; `perhop campaign run FILE` makes it"),
        (["sweep", "y.toml", "--vary", "run.seed=1,,2", "--measure", "1"], 2, "value 2 of 3 is empty"),
        (["campaign", "run", "c.toml", "--executor", "slurm"], 2, "write dask://host:port"),
        (["campaign", "run", "c.toml", "-j", "0"], 2, "below 1"),
        (["campaign", "run", "c.toml", "--until-ci", "goodput"], 2, "'goodput' is not a half-width"),
        (["campaign", "run", "c.toml", "--until-ci", "-1%"], 2, "'-1%' is not a half-width above zero"),
        (["campaign", "run", "c.toml", "--until-ci", "x=2%"], 2, "no response 'x'"),
        (["campaign", "run", "c.toml", "--until-ci", "goodput=2%=3"], 2, "write goodput=WIDTH"),
        (["campaign", "run", "c.toml", *["--until-ci", "2%"] * 2], 2, "the option is given twice"),
        (["campaign", "run", "c.toml", *["--until-ci", "2%"] * 3], 2, "the option is given 3 times"),
        (["campaign", "run", "c.toml", "-o", "y.toml"], 2, "y.toml"),
        (["campaign"], 2, ""),
        (["sweep", "y.toml", "--vary", "run.seed", "--measure", "1"], 2, "--vary run.seed: no values"),
        (["sweep", "y.toml", "--vary", "x", "--measure", "1"], 2, "such as --vary link.a-b.delay=10ms,20ms"),
        (["sweep", "y.toml", "--vary", "run.seed=1,2", "--measure", "mean(flows.x)"], 3, "no column `x`"),
        (
            ["sweep", "y.toml", "--vary", "flow.up.x=1,2", "--measure", "mean(flows.goodput_bit_s)"],
            3,
            "no setting",
        ),
        (["sweep", "y.toml", "--vary", "link.a-b.rate=1Mbit/s"], 2, "--measure"),
    ],
)
def test_what_cannot_be_is_told(cli: Cli, file: Path, words: list[str], code: int, told: str) -> None:
    done = cli(*words)
    assert done.code == code
    assert told in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("values", "called"),
    [
        (["1Mbit/s", "2Mbit/s"], ["1Mbit/s", "2Mbit/s"]),
        (['{ limit = "5p", kind = "fifo" }', '{ kind = "red", limit = "5p" }'], ["fifo", "red"]),
        (['{ kind = "fifo", limit = "5p" }', '{ kind = "fifo", limit = "9p" }'], ["5p", "9p"]),
        (['{ kind = "fifo" }', '{ kind = "fifo", limit = "9p" }'], ["no limit", "9p"]),
        (
            ['{ kind = "fifo" }', '{ kind = "fq" }', '{ kind = "fq", queue = { kind = "fifo" } }'],
            ["fifo", "fq", "fq fifo"],
        ),
        (['{ kind = "fq" }', '{ kind = "fq", queue = { kind = "fifo" } }'], ["no queue.kind", "fifo"]),
        (["{ a = 1 }", "{ a = 1 }"], ["{ a = 1 }", "{ a = 1 }"]),
    ],
)
def test_a_level_that_is_a_table_is_called_by_what_tells_it_from_others(
    values: list[str], called: list[str]
) -> None:
    assert level_names(values) == called


def test_a_sweep_is_a_campaign(cli: Cli, file: Path) -> None:
    words = [
        "sweep",
        "y.toml",
        "--vary",
        "link.a-b.rate=1Mbit/s,4Mbit/s",
        "--vary",
        "flow.up.tcp.mss=500B,1460B",
    ]
    words += ["--vary", 'link.a-b.delay={ "a->b" = "5ms", "b->a" = "1ms" },5ms', "-s", "run.duration=2s"]
    words += ["--measure", "mean(flows.goodput_bit_s)", "--measure", "max(queues.mean_packets)"]
    done = cli(*words, "--replications", "2", "-j", "1", "--json")
    assert done.code == 0
    assert (done.json()["made"], done.json()["store"]) == (16, "out/y-sweep")
    store = Store.open("out/y-sweep")
    assert store.campaign.design.names == ("rate", "mss", "delay")
    assert store.runs()["delay"].unique(maintain_order=True).to_list() == [
        '{ "a->b" = "5ms", "b->a" = "1ms" }',
        "5ms",
    ]
    # the file in the store says the same
    written = Campaign.load("out/y-sweep/campaign.toml")
    assert (written.design, written.responses) == (store.campaign.design, store.campaign.responses)
    done = cli("campaign", "run", "out/y-sweep/campaign.toml", "-o", "out/y-sweep", "--json")
    assert (done.json()["kept"], done.json()["made"]) == (16, 0)


def test_a_sweep_that_varies_nothing_gives_intervals_of_what_has_a_name(cli: Cli, file: Path) -> None:
    done = cli("sweep", "y.toml", "--measure", "goodput=sum(flows.goodput_bit_s)", "--replications", "3")
    assert done.code == 0
    assert done.out.startswith("goodput: means in")
    assert "as written" in done.out
    store = Store.open("out/y-sweep")
    (response,) = store.campaign.responses
    assert (response.name, response.text) == ("goodput", "sum(flows.goodput_bit_s)")
    written = Campaign.load("out/y-sweep/campaign.toml")
    assert (written.design, written.responses) == (store.campaign.design, store.campaign.responses)


def test_a_sweep_says_which_values_are_the_same(cli: Cli, file: Path) -> None:
    words = ["--vary", "link.a-b.delay=10ms,0.01s,20ms", "--measure", "mean(flows.goodput_bit_s)"]
    done = cli("sweep", "y.toml", *words, "--replications", "1", "-j", "1", "--json")
    assert (done.code, done.json()["made"]) == (0, 2)
    twins = "delay=10ms and delay=0.01s are the same scenario: they share their runs"
    assert f"warning: --vary: {twins}" in done.err


MEASURE = "mean(flows.goodput_bit_s)"


def test_levels_that_are_the_same_under_every_other_are_told_once(cli: Cli, file: Path) -> None:
    vary = ["--vary", "link.a-b.rate=1Mbit/s,2Mbit/s", "--vary", "link.a-b.delay=10ms,0.01s"]
    done = cli("sweep", "y.toml", *vary, "--measure", "mean(flows.goodput_bit_s)", "-j", "1")
    assert done.err.count("are the same scenario") == 1
    assert "delay=10ms and delay=0.01s are the same scenario" in done.err


def test_two_measures_with_one_name_are_refused(cli: Cli, file: Path) -> None:
    done = cli("sweep", "y.toml", "--measure", f"a={MEASURE}", "--measure", "a=sum(flows.timeouts)")
    assert (done.code, "a second response is called `a`" in done.err) == (3, True)
    assert not Path("out").exists()


def test_a_path_that_no_scenario_has_is_told_once(cli: Cli, file: Path) -> None:
    done = cli("sweep", "y.toml", "--vary", "link.a-b.dela=1ms,2ms", "--measure", MEASURE)
    assert (done.code, done.err.count("×")) == (3, 1), done.err
    file.write_text(FILE + '\n[[factor]]\nname = "d"\npath = "link.a-b.dela"\nlevels = ["1ms", "2ms"]\n')
    done = cli("check", file)
    assert (done.code, done.out.count("no setting `dela`")) == (3, 1), done.out
    assert '= "link.a-b.dela"' in done.out


@pytest.mark.parametrize("name", ["a=b", "a|b", "a,b"])
def test_a_factor_has_no_letter_of_conditions_in_its_name(cli: Cli, file: Path, name: str) -> None:
    levels = 'path = "link.a-b.delay"\nlevels = ["1ms", "2ms"]'
    file.write_text(FILE + f'\n[[factor]]\nname = "{name}"\n{levels}\n')
    done = cli("check", file)
    assert (done.code, f"`{name}` has a letter of conditions" in done.out) == (3, True), done.out


@pytest.mark.parametrize("words", [["run", "y.toml"], ["sweep", "y.toml", "--measure", MEASURE]])
def test_the_root_of_all_folders_is_left_alone(cli: Cli, file: Path, words: list[str]) -> None:
    done = cli(*words, "-o", "/")
    assert (done.code, "exists and is left alone" in done.err) == (2, True), done.err


@pytest.mark.parametrize("width", ["35%", "7.1%", "60000"])
def test_the_file_of_a_sweep_has_its_stopping_rule(
    cli: Cli, file: Path, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Campaign] = []
    monkeypatch.setattr("perhop.cli.campaign.run_and_tell", lambda campaign, *_: asked.append(campaign))
    words = ["--vary", "link.a-b.rate=1Mbit/s,4Mbit/s", "--measure", "mean(flows.goodput_bit_s)"]
    cli("sweep", "y.toml", *words, "--until-ci", width)
    [one] = asked
    (file.parent / "scenario.toml").write_text(SCENARIO)
    (file.parent / "again.toml").write_bytes(one.source)
    assert one.stop is not None
    assert Campaign.load("again.toml").stop == one.stop


def test_a_campaign_whose_cap_is_below_the_first_look_can_be_read(cli: Cli, file: Path) -> None:
    file.write_text(FILE + '[stop]\nresponse = "goodput"\nhalf_width = "1%"\nmost = 3\n')
    done = cli("campaign", "run", file, "-j", "1", "--json")
    assert done.code == 0
    assert not done.json()["stopped"]["met"]
    stopped = Store.open("out/c").stopped
    assert stopped is not None
    assert stopped.widest is not None
    assert (stopped.widest.n, stopped.widest.half_width) == (3, math.inf)
    for words in (("analyze", "out/c"), ("report", "out/c"), ("campaign", "run", file)):
        assert cli(*words).code == 0


def test_check_refuses_names_of_columns_that_are_there(cli: Cli, file: Path) -> None:
    labelled = SCENARIO.replace('name = "up"', 'name = "up"\nlabels = { value = "a", position = "b" }')
    Path("y.toml").write_text(labelled)
    for before, after, place in (
        ("by name", "by value", "`value` is a column that every table of runs has"),
        ('name = "rate"', 'name = "mean"', "`mean` is a column that every table of runs has"),
        ('name = "rate"', 'name = "name"', "`name` is also what `goodput` is grouped by"),
    ):
        assert before in FILE
        file.write_text(FILE.replace(before, after))
        done = cli("check", file)
        assert done.code == 3
        assert place in done.err + done.out


def test_the_store_of_another_campaign_is_left_alone(cli: Cli, file: Path, tmp_path: Path) -> None:
    assert cli("campaign", "run", file).code == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "y.toml").write_text(SCENARIO.replace("seed = 7", "seed = 99"))
    (tmp_path / "other" / "c.toml").write_text(FILE)
    before = Path("out/c/scalars.parquet").read_bytes()
    for command in ("run", "status"):
        done = cli("campaign", command, "other/c.toml")
        assert (done.code, done.out) == (2, "")
        assert "out/c is the store of another campaign: of 9 runs it has none" in done.err
        assert "-o" in done.err
    assert Path("out/c/scalars.parquet").read_bytes() == before
    assert cli("campaign", "status", file).out == "out/c: 9 of 9 runs done\n"


def test_one_replication_has_no_interval(cli: Cli, file: Path) -> None:
    file.write_text(FILE.replace("replications = 3", "replications = 1"))
    done = cli("campaign", "run", file, "-j", "1")
    assert done.code == 0
    assert "inf" not in done.out
    assert " - " in done.out


def test_an_unclosed_parenthesis_is_told_with_the_one_that_opens(cli: Cli, file: Path) -> None:
    file.write_text(FILE.replace("goodput_bit_s)", "goodput_bit_s"))
    done = cli("check", file)
    assert done.code == 3
    file.write_text(FILE.replace("goodput_bit_s) by name", "goodput_bit_s"))
    done = cli("check", file)
    assert "it closes the `(` at character 5" in done.out


def test_stores_that_cannot_be_used_say_what_to_do(cli: Cli, file: Path, tmp_path: Path) -> None:
    assert cli("campaign", "run", file, "-j", "1").code == 0
    ledger_file = tmp_path / "out/c" / ledger.FILE
    whole = ledger_file.read_bytes()
    ledger_file.write_bytes(whole[:4096] + b"x" * (len(whole) - 4096))
    done = cli("analyze", "out/c")
    assert (done.code, "the ledger is damaged" in done.err, "hint: keep a copy" in done.err) == (
        8,
        True,
        True,
    )
    ledger_file.write_bytes(whole)
    with ledger.driven(tmp_path / "out/c") as book:
        book.connection.execute("PRAGMA user_version = 99")
    done = cli("analyze", "out/c")
    assert (done.code, "hint: use the perhop that wrote it" in done.err) == (8, True)
    ledger_file.unlink()
    done = cli("campaign", "status", file)
    assert (done.code, "out/c is not a store of a campaign" in done.err) == (8, True)
    assert "hint: there is a campaign.toml: without its ledger.sqlite the runs are lost" in done.err


def test_a_second_driver_is_refused_without_being_told_to_go_on(cli: Cli, file: Path, tmp_path: Path) -> None:
    assert cli("campaign", "run", file, "-j", "1").code == 0
    file.write_text(FILE.replace("replications = 3", "replications = 4"))
    with ledger.driven(tmp_path / "out/c"):
        done = cli("campaign", "run", file)
    assert done.code == 8
    assert "another campaign is at work on it: process" in done.err
    assert "hint: `perhop campaign status out/c` says how far it is" in done.err
    assert "go on with" not in done.err


def test_a_store_that_may_not_be_written_lacks_something_of_the_machine(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("campaign", "run", file, "-j", "1").code == 0
    opened = os.open

    def refuse(path: str | Path, *more: int, **named: Any) -> int:
        if str(path).endswith(ledger.LOCK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *more, **named)

    monkeypatch.setattr(os, "open", refuse)
    done = cli("campaign", "run", file)
    assert done.code == 7
    assert "error: out/c: Permission denied; `perhop analyze` reads it" in done.err


def test_the_disk_that_a_plan_estimates_is_about_what_is_taken(cli: Cli, file: Path) -> None:
    told = cli("campaign", "plan", file, "--json").json()["about_bytes"]
    assert cli("campaign", "run", file, "-j", "1").code == 0
    taken = sum(one.stat().st_size for one in Path("out/c").iterdir())
    # the log of SQLite, which is most of so short a campaign, is gone at the end
    assert taken / 2 < told < 3 * taken
    assert cli("campaign", "plan", file, "--json").json()["about_bytes"] == 0


def test_a_figure_without_a_home_prints_nothing_on_stderr() -> None:
    script = "import perhop.plot.style as style\nwith style.figure(): pass"
    drawn = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"HOME": "/proc/nowhere", "MPLCONFIGDIR": "/proc/nowhere"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert drawn.stderr == ""
