"""A campaign of 10,000 runs: its memory, and how long its store takes to open, to analyse and to show."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perhop import Scenario
from perhop.experiment.analyze import analyze, asked_of
from perhop.experiment.campaign import run_campaign
from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor
from perhop.experiment.store import Store
from perhop.experiment.work import Finished, Task, Value
from perhop.report.campaign import render
from test_campaign_run import EACH, GOODPUT, SCENARIO


class Made(Executor):
    """Makes values up instead of running."""

    width = 2

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        task: Task = args[0]
        draw = np.random.default_rng(abs(hash(task.overrides))).normal(1e6, 1e5)
        values = (
            Value(GOODPUT.text, (), draw),
            Value(EACH.text, ("down",), draw - 1e4),
            Value(EACH.text, ("up",), draw + 1e4),
        )
        future: Future[Any] = Future()
        future.set_result(
            Finished(values, event_digest="0" * 64, host="here", worker="here:1", duration_s=1.0)
        )
        return future


def many(runs: int) -> Campaign:
    rate = Factor.vary("link.a-b.rate", [f"{n}Mbit/s" for n in range(1, 11)], "rate")
    mss = Factor.vary("flow.up.tcp.mss", ["500B", "1460B"], "mss")
    design = Design.full([rate, mss], replications=runs // 20)
    return Campaign("many", Scenario.from_text(SCENARIO), design, (GOODPUT, EACH), source=b"# made\n")


def peak(runs: int, folder: Path) -> int:
    tracemalloc.start()
    try:
        run_campaign(many(runs), folder, Made())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_ten_thousand_runs(tmp_path: Path) -> None:
    few = peak(100, tmp_path / "few")
    # what grows is the plan: 1.4 kB for each run, and twice that is too much
    assert (peak(10_000, tmp_path / "s") - few) / 9_900 < 2800
    took = {}
    began = time.perf_counter()
    store = Store.open(tmp_path / "s")
    assert store.runs().height == 10_000
    took["open"] = time.perf_counter() - began
    began = time.perf_counter()
    assert len(analyze(store.scalars(), asked_of(store.campaign))) > 0
    took["analyse"] = time.perf_counter() - began
    began = time.perf_counter()
    assert len(render(store)) > 10_000
    took["show"] = time.perf_counter() - began
    print(", ".join(f"{what} {seconds:.2f} s" for what, seconds in took.items()))
    assert took["open"] + took["analyse"] < 5.0
