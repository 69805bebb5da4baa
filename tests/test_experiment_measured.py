"""What the responses of docs/campaigns.md give is what the page says, computed again from rows of a run."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import perhop
from conftest import Cli
from perhop.experiment import derived, work
from perhop.experiment.response import Response, ResponseError
from perhop.experiment.vocabulary import words
from perhop.run import phase, summary
from perhop.run.run import Result, run

SCENARIO = """
[run]
duration = "40s"
warmup = "5s"

[[node]]
name = "a"
[[node]]
name = "b"
[[node]]
name = "slow"
kind = "router"
[[node]]
name = "fast"
kind = "router"
[[node]]
name = "z"

[[link]]
ends = ["a", "slow"]
rate = "10Mbit/s"
delay = "1ms"
[[link]]
ends = ["b", "slow"]
rate = "10Mbit/s"
delay = "15ms"
[[link]]
ends = ["slow", "fast"]
rate = "1Mbit/s"
delay = "10ms"
[[link]]
ends = ["fast", "z"]
rate = "10Mbit/s"
delay = "1ms"

[[port]]
at = "slow"
to = "fast"
[[port.class]]
name = "all"
match = ["any"]
queue = { kind = "fifo", limit = "30p" }

[[conditioner]]
name = "customer"
at = "slow"
from = "a"
match = { kind = "data" }
meter = { kind = "token-bucket", cir = "300kbit/s", cbs = "10kB" }
marker = { green = "AF11", red = "AF12" }

[[flow]]
name = "bulk"
class = "premium"
labels = { congestion = "r" }
from = "a"
to = "z"
count = 2
start_jitter = "1s"
[[flow]]
name = "other"
class = "assured"
labels = { congestion = "s" }
from = "b"
to = "z"
[[flow]]
name = "web"
class = "best-effort"
from = "b"
to = "z"
arrivals = { mean_interval = "300ms", size = { kind = "pareto", min = "2kB", max = "300kB", shape = 1.1 } }
"""


@cache
def result() -> Result:
    return perhop.Scenario.from_text(SCENARIO).run()


def rows(table: str) -> list[dict[str, Any]]:
    return result().tables()[table].to_dicts()


def took(
    where: Callable[[dict[str, Any]], bool] = lambda _: True, class_: str = "best-effort"
) -> list[float]:
    """Return the times of a class's complete transfers, the shortest first."""
    flows = [row for row in rows("flows") if row["class"] == class_ and row["completed_s"] is not None]
    return sorted(row["completed_s"] - row["start_s"] for row in flows if where(row))


def size(name: str) -> int:
    return {flow.name: flow.size_bytes for flow in result().scenario.describe().flows}[name] or 0


def between(values: list[float], p: float) -> float:
    return float(np.quantile(values, p))


def goodput(class_: str) -> list[float]:
    return [row["goodput_bit_s"] for row in rows("flows") if row["class"] == class_]


def by_class(column: str, total: Callable[[list[Any]], float] = sum) -> dict[tuple[str, ...], float]:
    return {(row["class"],): total([row[column]]) for row in rows("classes")}


def late(row: dict[str, Any]) -> bool:
    return bool(row["start_s"] >= 5)


def web() -> list[dict[str, Any]]:
    return [row for row in rows("flows") if row["name"].startswith("web[")]


BY_HAND: dict[str, Callable[[], Any]] = {
    'mean(flows.goodput_bit_s where class = "premium" and congestion = "r")': lambda: (
        sum(goodput("premium")) / 2
    ),
    'sum(links.bytes where name = "slow->fast") / 1e6': lambda: (
        sum(row["bytes"] for row in rows("links") if row["name"] == "slow->fast") / 1e6
    ),
    "quantile(flows.duration_s, 0.99) by class": lambda: {
        ("assured",): None,
        ("best-effort",): between(took(), 0.99),
        ("premium",): None,
    },
    "sum(classes.transfers_unfinished) by class": lambda: by_class("transfers_unfinished"),
    "sum(queues.dropped_packets / queues.measured_s)": lambda: (
        sum(row["dropped_packets"] for row in rows("queues"))
        / (result().scenario.describe().run.duration_s - result().scenario.describe().run.warmup_s)
    ),
    "quantile(flows.duration_s, 0.95 where size_bytes <= 20000 and start_s >= 5)": lambda: between(
        took(lambda row: size(row["name"]) <= 20000 and late(row)), 0.95
    ),
    "count(flows.size_bytes where start_s >= 5) - count(flows.duration_s where start_s >= 5)": lambda: sum(
        late(row) and row["completed_s"] is None for row in web()
    ),
    "mean(8 * flows.size_bytes / flows.duration_s)": lambda: float(
        np.mean(
            [
                8 * size(row["name"]) / (row["completed_s"] - row["start_s"])
                for row in web()
                if row["completed_s"]
            ]
        )
    ),
    "mean(classes.delay_p95_s) by class": lambda: by_class("delay_p95_s"),
    'jain(flows.goodput_bit_s where class in ("assured", "premium")) by congestion': lambda: {
        ("r",): sum(goodput("premium")) ** 2 / 2 / sum(x * x for x in goodput("premium")),
        ("s",): 1.0,
    },
    "count(flows where timeouts > 0) / count(flows)": lambda: (
        sum(row["timeouts"] > 0 for row in rows("flows")) / len(rows("flows"))
    ),
    'sum(flows.goodput_bit_s where class = "premium") / sum(conditioners.cir_bit_s '
    'where path = "conditioner.customer")': lambda: sum(goodput("premium")) / 300e3,
}


def examples() -> list[str]:
    page = (Path(__file__).parents[1] / "docs/campaigns.md").read_text()
    [table] = re.findall(r"^\| Response \| .*?\n\n", page, re.MULTILINE | re.DOTALL)
    return [re.findall(r"`(.*?)` \|", line)[0] for line in table.splitlines()[2:] if line]


def test_every_example_of_the_page_is_held_here() -> None:
    assert set(examples()) == set(BY_HAND)


@pytest.mark.parametrize("text", examples())
def test_an_example_measures_what_it_says(text: str) -> None:
    response = Response.parse("x", text)
    response.check(words(result().scenario))
    assert response.doubts(words(result().scenario)) == []
    found = BY_HAND[text]()
    wanted = found if isinstance(found, dict) else {(): found}
    assert response.evaluate(result()) == {
        group: value if value is None else pytest.approx(value, rel=1e-9) for group, value in wanted.items()
    }


@pytest.mark.parametrize(
    "name",
    [
        *("transfer_p50_s", "transfer_p95_s", "delay_p50_s", "delay_p95_s", "delay_p99_s", "delay_p999_s"),
        *("pdv_p50_s", "pdv_p95_s", "pdv_p999_s", "ipdv_p95_s"),
    ],
)
def test_quantiles_that_are_computed_are_those_of_the_table(name: str) -> None:
    run = result()
    tables = run.tables() | {"classes": run.classes.drop(name)}
    measured = derived.Measured(tables, None, run.delays)
    own = run.classes[name]
    assert own.is_not_null().any()
    assert derived.extended(measured, "classes", [name])[name].equals(own, null_equal=True)


def test_two_quantiles_of_a_few_values_are_those_of_the_page() -> None:
    times = [float(k) for k in range(1, 134)]
    flows = pl.DataFrame({"class": "web", "start_s": 0.0, "completed_s": times})
    tables = {"flows": flows, "classes": pl.DataFrame({"class": ["web"]})}
    between, nearest = (
        Response.parse("x", text).evaluate(tables)[()]
        for text in ("quantile(flows.duration_s, 0.99)", "max(classes.transfer_p99_s)")
    )
    assert between is not None
    assert times[-3] < between < times[-2] == nearest


def test_a_quantile_may_have_any_digits() -> None:
    shares = ("01", "5", "05", "500", "90", "975", "99999")
    found = [
        Response.parse("x", f"max(classes.delay_p{share}_s where class = 'premium')") for share in shares
    ]
    [[fault]] = [one.faults() for one in found if one.faults()]
    assert "no column `delay_p5_s`" in fault.rule
    assert "did you mean `delay_p" in (fault.hint or "")
    values = [one.evaluate(result())[()] for one in found if not one.faults()]
    numbers = [value for value in values if value is not None]
    assert len(numbers) == 6
    assert numbers == sorted(numbers)
    premium = result().classes.row(by_predicate=pl.col("class") == "premium", named=True)
    assert numbers[2] == premium["delay_p50_s"]
    assert premium["delay_min_s"] <= numbers[0] < numbers[-1] <= premium["delay_max_s"]


def test_the_time_of_transfers_is_what_classes_have_the_mean_of() -> None:
    found = Response.parse("x", "mean(flows.duration_s) by class").evaluate(result())
    row = result().classes.row(by_predicate=pl.col("class") == "best-effort", named=True)
    assert found["best-effort",] == pytest.approx(row["transfer_mean_s"], rel=1e-12)


def test_what_tables_alone_lack_is_told() -> None:
    for text, why in (
        ("mean(flows.size_bytes)", "`size_bytes` is known from a scenario, and these are tables alone"),
        (
            "mean(classes.pdv_p90_s)",
            "`pdv_p90_s` needs the counters of a run in virtual time; these tables have `pdv_p50_s`",
        ),
    ):
        with pytest.raises(ResponseError, match=re.escape(why)):
            Response.parse("x", text).evaluate(result().tables())


def test_a_label_that_is_called_as_a_computed_column_is_the_label() -> None:
    flows = pl.DataFrame({"name": ["a", "b"], "size_bytes": ["small", "large"], "srtt_s": [1.0, 3.0]})
    response = Response.parse("x", "max(flows.srtt_s where size_bytes = 'small')")
    response.check({"flows": {"size_bytes": frozenset({"small", "large"})}})
    assert response.evaluate({"flows": flows}) == {(): 1.0}


def test_a_run_without_series_is_the_same_but_for_them() -> None:
    whole = result()
    without = run(whole.scenario, series=False)
    own, others = whole.tables(), without.tables()
    assert without.event_digest == whole.event_digest
    assert without.counts == whole.counts
    assert [name for name in own if not own[name].equals(others[name], null_equal=True)] == ["series"]
    endless = ["flow.bulk[0]", "flow.bulk[1]", "flow.other"]
    kept = whole.series.filter(pl.col("quantity") == "goodput_bit_s", pl.col("path").is_in(endless))
    assert without.series.equals(kept, null_equal=True)
    assert 0 < len(without.series) < len(whole.series) / 100
    meaning = whole.scenario.describe()
    assert summary.unsettled(without.series, meaning) == summary.unsettled(whole.series, meaning)
    assert phase.effect(others, meaning) == phase.effect(own, meaning)


@pytest.mark.parametrize(
    ("measure", "source", "reads"),
    [
        ("max(flows.goodput_bit_s)", None, False),
        ("max(flows.goodput_bit_s) - max(series.value where quantity = 'cwnd_bytes')", None, True),
        ("my.py:f", "def f(tables):\n    return len(tables['series'])\n", True),
    ],
)
def test_a_worker_records_series_where_they_are_read(
    measure: str, source: str | None, reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def seen(scenario: perhop.Scenario, *, series: bool, **others: Any) -> Result:
        asked.append(series)
        return run(scenario, series=series, **others)

    monkeypatch.setattr(work, "run", seen)
    _, version, results_version = work.identity()
    one = Response.parse("x", measure, source=source)
    scenario = result().scenario
    task = work.Task(
        *(scenario.source, "x", ("run.duration=10s",)),
        (work.Measure(one.key, measure, source),),
        version,
        results_version,
    )
    [value] = [value for value in work.execute(task).values if value.measure == one.key]
    assert asked == [reads]
    assert value.value == one.evaluate(scenario.override("run.duration=10s").run())[()]


def test_a_response_without_any_value_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(SCENARIO)
    short = ("-s", "run.duration=10s", "--replications", "2", "-j", "1", "-o", tmp_path / "x")
    measure = "none=mean(flows.srtt_s where timeouts > 1000) by class"
    done = cli("sweep", tmp_path / "net.toml", *short, "--measure", measure)
    assert done.code == 0, done.err
    told = "warning: `none` has no value in any of 2 runs: no row passes its filter"
    assert told in done.err
    done = cli("campaign", "run", tmp_path / "x", "--json")
    assert told in done.err
    (warning,) = done.json()["warnings"]
    assert f"warning: {warning}".startswith(told)
    done = cli("analyze", tmp_path / "x")
    assert told in done.err
    assert "nothing has been measured yet" not in done.out
