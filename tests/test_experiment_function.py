"""Responses that are functions of Python: what they are given and give, and what is told of mistakes."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import polars as pl
import pytest

from perhop.cli.__main__ import run as perhop_command
from perhop.experiment import ledger
from perhop.experiment.definition import Campaign
from perhop.experiment.executors import LocalProcesses
from perhop.experiment.fault import DesignError
from perhop.experiment.function import FunctionError
from perhop.experiment.response import Response, ResponseError
from perhop.experiment.store import Store
from perhop.experiment.work import Measure, Task
from perhop.scenario.trust import TRUST
from test_campaign_run import Here, campaign, ran, table

SOURCE = """\
from __future__ import annotations
from dataclasses import dataclass
import polars as pl


@dataclass
class Rates:
    of: pl.Series


def mean(tables):
    return Rates(tables["flows"]["goodput_bit_s"]).of.mean()


def each(tables):
    return {row["name"]: row["goodput_bit_s"] for row in tables["flows"].to_dicts()}


def two(first, second):
    return 0


def nothing():
    return 0


def late(tables, share=0.5, *, more=1):
    return None
"""

FLOWS = pl.DataFrame({"name": ["b", "a"], "goodput_bit_s": [1.0, 3.0], "start_s": [0.0, 1.0]})


def given(text: str, source: str = SOURCE, unit: str | None = None, name: str = "x") -> Response:
    return Response.parse(name, text, unit, source)


def test_it_gives_a_value_or_one_for_each_group() -> None:
    assert given("my.py:mean").evaluate({"flows": FLOWS}) == {(): 2.0}
    each = given("my.py:each by name", unit="bit/s")
    assert (each.by, each.unit, each.faults(), each.statistics) == (("name",), "bit/s", [], ())
    assert list(each.evaluate({"flows": FLOWS}).items()) == [(("a",), 3.0), (("b",), 1.0)]
    assert given("my.py:late").evaluate({"flows": FLOWS}) == {(): None}
    two = given("my.py:f by a, b", "def f(tables):\n    return {('x', 1): float('inf'), ('x', 0): 2}\n")
    assert list(two.evaluate({}).items()) == [(("x", "0"), 2.0), (("x", "1"), None)]


def test_it_is_given_the_columns_that_are_computed() -> None:
    source = "def f(tables):\n    return tables['flows']['duration_s'].max()\n"
    flows = FLOWS.with_columns(completed_s=pl.Series([None, 1.25]))
    assert given("my.py:f", source).evaluate({"flows": flows}) == {(): 0.25}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("tables['links']", "my.py:2: KeyError: 'links'"),
        ("help_me()\n\n\ndef help_me():\n    return 1 / 0", "my.py:6: ZeroDivisionError: division by zero"),
        ("tables['flows'].select('x')", "my.py:2: ColumnNotFoundError: "),
        ("exit(3)", "my.py:2: SystemExit: 3"),
        ("'fast'", "my.py: `f` returned a value of type str, not a number or None"),
        ("{'a': 1.0}", "my.py: `f` returned a mapping: say what its keys are, as in `my.py:f by class`"),
    ],
)
def test_its_errors_are_told_with_file_and_line(body: str, told: str) -> None:
    with pytest.raises(FunctionError) as caught:
        given("my.py:f", f"def f(tables):\n    return {body}\n").evaluate({"flows": FLOWS})
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_it_is_not_run_where_programs_of_users_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = (
        f"__import__('pathlib').Path({str(tmp_path / 'ran')!r}).touch()\ndef f(tables):\n    return 1.0\n"
    )
    monkeypatch.setenv(TRUST, "no")
    with pytest.raises(FunctionError, match=r"my\.py: is a program"):
        given("my.py:f", source).evaluate({"flows": FLOWS})
    assert not (tmp_path / "ran").exists()
    monkeypatch.setenv(TRUST, "yes")
    assert given("my.py:f", source).evaluate({"flows": FLOWS}) == {(): 1.0}
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("1.0", "`f` returned a value of type float, not a mapping of name to a value"),
        ("{('a', 'b'): 1.0}", "`f` returned a value of ('a', 'b'), not one of name"),
        ("{'a': [1]}", "`f` returned a value of type list, not a number or None"),
    ],
)
def test_what_is_no_value_of_groups_is_told(body: str, told: str) -> None:
    with pytest.raises(FunctionError, match=r"^my\.py: ") as caught:
        given("my.py:f by name", f"def f(tables):\n    return {body}\n").evaluate({"flows": FLOWS})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "marked", "rule", "hint"),
    [
        ("no.py:mean", "no.py", "no.py: No such file or directory", "its path begins at "),
        ("my.py:maen", "maen", "my.py has no function `maen`", "did you mean `mean`?"),
        ("my.py:zzzzzz", "zzzzzz", "my.py has no function `zzzzzz`", "mean, each, two, nothing, late"),
        (
            "my.py:two",
            "two",
            "my.py:19: `two` is called with the tables, and with traces",
            "`def two(tables):`",
        ),
        ("my.py:nothing", "nothing", "my.py:23: `nothing` is called with the tables", None),
        ("my.py:", "", "a function of this file should stand here", "such as `my.py:p99`"),
        ("my.py:mean / 1e3", "/", "`by` or the end should stand here, not `/`", None),
        ("my.py:mean by", "", "a column to group by should stand here", None),
        ("broken.py:mean", "broken.py", "broken.py:2: ", None),
        ("bytes.py:mean", "bytes.py", "bytes.py is not UTF-8", None),
    ],
)
def test_mistakes_have_their_place(
    tmp_path: Path, text: str, marked: str, rule: str, hint: str | None
) -> None:
    (tmp_path / "my.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("def mean(tables):\n    return (1\n")
    (tmp_path / "bytes.py").write_bytes(b"\xff")
    with pytest.raises(ResponseError) as caught:
        Response.parse("x", text, folder=tmp_path)
    [fault] = caught.value.faults
    assert text[slice(*fault.span)] == marked
    assert rule in fault.rule
    assert hint is None or hint in (fault.hint or "")


def test_it_is_given_the_traces_that_it_asks_for(tmp_path: Path) -> None:
    source = "def first(tables, packets, cwnd):\n    return packets['time_s'].min() + 0 * len(cwnd)\n"
    asked, plain = given("my.py:first", source), given("my.py:mean")
    assert (asked.traces, plain.traces) == (["packets", "cwnd"], [])
    with pytest.raises(ResponseError, match="this run lacks the trace of packets"):
        asked.evaluate({"flows": FLOWS})
    assert ran(tmp_path / "store", campaign(responses=[asked])).made == 9
    assert Store.open(tmp_path / "store").scalars()["value"].to_list() == [0.0] * 9
    # a run is the same, traced or not
    digests = []
    for name, responses in (("asked", [asked]), ("plain", [plain])):
        ran(tmp_path / name, campaign(responses=responses))
        with ledger.read(tmp_path / name) as book:
            digests.append({key: digest for key, digest, *_ in book.made()})
    assert digests[0] == digests[1]


def test_a_changed_function_is_measured_anew_and_both_texts_are_kept(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = campaign(responses=[given("my.py:mean"), given("my.py:each by name", name="y")])
    assert ran(store, first).made == 9
    assert (store / "my.py").read_text() == SOURCE
    wanted = campaign(responses=[Response.parse("x", "mean(flows.goodput_bit_s)")])
    ran(tmp_path / "same", wanted)
    values = Store.open(store).scalars().filter(pl.col("name").is_null())["value"]
    assert values.to_list() == pytest.approx(Store.open(tmp_path / "same").scalars()["value"].to_list())
    before = table(store)
    assert ran(store, first).made == 0
    changed = SOURCE.replace(".of.mean()", ".of.mean() / 1e3")
    outcome = ran(store, campaign(responses=[given("my.py:mean", changed)]))
    assert (outcome.made, outcome.kept) == (9, 0)
    assert Store.open(store).scalars()["value"].to_list() == pytest.approx((values / 1e3).to_list())
    with ledger.read(store) as book:
        meta = book.meta()
    kept = {text for name, text in meta.items() if name.startswith("function ")}
    assert kept == {SOURCE, changed}
    assert f"function {hashlib.sha256(changed.encode()).hexdigest()}" in meta
    assert (store / "my.py").read_text() == changed
    assert Store.open(store).campaign.responses == (given("my.py:mean", changed),)
    outcome = ran(store, first)
    assert outcome.made == 9
    assert table(store) == before


def test_an_error_fails_the_run_and_a_mended_function_makes_it_again(tmp_path: Path) -> None:
    source = "def f(tables):\n    rate = tables['flows']['srtt_s'].max()\n    assert rate > 1e3, 'short'\n"
    assert ran(tmp_path / "x", campaign(responses=[given("my.py:f", source)])).failed == 9
    failures = Store.open(tmp_path / "x").failures()
    assert {one["failure"] for one in failures} == {"my.py:3: AssertionError: short"}
    assert all(
        one["replay"].endswith("  # calls nothing of my.py: mend that, and run the campaign again")
        for one in failures
    )
    mended = source.replace("1e3", "0")
    assert ran(tmp_path / "x", campaign(responses=[given("my.py:f", mended)])).failed == 0


def test_processes_get_it_as_text(tmp_path: Path) -> None:
    one = given("nowhere/my.py:each by name")
    with LocalProcesses(1) as workers:
        ran(tmp_path / "far", campaign(responses=[one], replications=1), workers)
    ran(tmp_path / "here", campaign(responses=[one], replications=1), Here())
    assert table(tmp_path / "far") == table(tmp_path / "here")
    assert not (tmp_path / "far/my.py").exists()
    executor = Here()
    ran(tmp_path / "seen", campaign(responses=[one], replications=1), executor)
    task: Task = pickle.loads(pickle.dumps(executor.calls[0]))
    assert task.measures == (Measure(one.key, one.text, SOURCE),)
    assert one.key == f"nowhere/my.py:each by name sha256:{hashlib.sha256(SOURCE.encode()).hexdigest()}"


def test_a_file_that_is_changed_in_the_store_is_damage(tmp_path: Path) -> None:
    ran(tmp_path / "x", campaign(responses=[given("my.py:mean")], replications=1))
    (tmp_path / "x/my.py").write_text(SOURCE + "# more\n")
    with pytest.raises(ledger.StoreError, match=r"my\.py changed since the campaign was run"):
        Store.open(tmp_path / "x")


def test_files_and_sweeps_name_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.toml").write_bytes(campaign().scenario.source)
    (tmp_path / "my.py").write_text(SOURCE)
    lines = [
        'scenario = "net.toml"\n[[factor]]\nname = "rate"\npath = "link.a-b.rate"\nlevels = ["1Mbit/s"]\n',
        '[[response]]\nname = "each"\nmeasure = "my.py:each by name"\nunit = "bit/s"\n',
    ]
    file = tmp_path / "lab/file.toml"
    file.parent.mkdir()
    file.write_text("".join(lines).replace("net.toml", "../net.toml").replace("my.py", "../my.py"))
    [response] = Campaign.load(file).responses
    assert (response.source, response.unit, response.by) == (SOURCE, "bit/s", ("name",))
    file.write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    assert perhop_command(["check", "lab/file.toml"]) == 3
    assert "lab/file.toml:8:12" in (told := capsys.readouterr().out)
    assert "my.py: No such file or directory" in told
    words = ["sweep", "net.toml", "--vary", "link.a-b.rate=1Mbit/s,2Mbit/s", "--replications", "2", "-j", "1"]
    assert perhop_command([*words, "--measure", "mean=my.py:mean", "-o", "out"]) == 0
    assert Campaign.load("out/campaign.toml").responses == (Response.parse("mean", "my.py:mean"),)
    assert Store.open("out").scalars()["value"].is_not_null().all()
    assert perhop_command([*words, "--measure", "no.py:mean"]) == 3
    assert "no.py: No such file or directory" in capsys.readouterr().err


def test_a_response_is_not_called_as_a_factor(tmp_path: Path) -> None:
    twice = campaign(responses=[Response.parse("rate", "mean(flows.goodput_bit_s)")])
    with pytest.raises(DesignError, match="`rate` is a factor too"):
        ran(tmp_path / "x", twice)
