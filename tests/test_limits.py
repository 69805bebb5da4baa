"""Intervals of a score that has a scale are cut to it where they are shown, and nowhere else."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import Cli
from perhop.experiment.analysis import AnalysisRequest
from perhop.experiment.analyze import analyze
from perhop.experiment.response import Response
from perhop.report.effects import curve_over
from perhop.say import analysis
from perhop.stats.intervals import mean_interval
from test_applications import HOUSEHOLD
from test_experiment_analysis import only, said, table

NONE = (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("min(calls.mos)", (1.0, 4.5)),
        ('quantile(calls.mos, 0.05 where name = "call[0]")', (1.0, 4.5)),
        ("mean(calls.mos) by name", (1.0, 4.5)),
        ("sum(calls.mos)", NONE),
        ("std(calls.mos)", NONE),
        ("min(calls.mos) / 2", NONE),
        ("min(calls.rating)", NONE),
    ],
)
def test_what_has_limits(text: str, limits: tuple[float, float]) -> None:
    assert Response.parse("x", text).limits == limits


SCORES = {"fifo": (2.0, 2.1), "codel": (4.2, 4.4)}


def test_an_interval_beyond_the_scale_is_cut_where_it_is_shown_and_told_once() -> None:
    rows = table({"a": [*SCORES]}, lambda a, r, _: SCORES[a][r], 2, response="MOS")
    asked = AnalysisRequest({"a": [*SCORES]}, {"MOS": "1"}, False, limits={"MOS": (1.0, 4.5)})
    one = only(analyze(rows, asked))
    exact = mean_interval(SCORES["codel"])
    assert exact.high > 4.5
    # statistics stay as they are
    assert one.means.rows()[1] == ("codel", exact.mean, exact.low, exact.high, 2)
    shown = [part for part in analysis.tables(one) if part.title.startswith("Means")]
    assert [part.title for part in shown] == ["Means, cut to the scale from 1 to 4.5"]
    assert [row[2] for row in shown[0].rows] == ["1.415 to 2.685", "3.029 to 4.5"]
    assert "to 4.3 (3.029 to 4.5), by" in said(one)
    svg = curve_over(one, "a", "x").svg()
    assert svg is not None
    assert "intervals cut to the scale from 1 to 4.5" in " ".join(svg.split())
    calm = table(
        {"a": [*SCORES]},
        lambda a, r, _: SCORES[a][r] - 1,
        2,
        response="MOS",
    )
    within = only(
        analyze(calm, AnalysisRequest({"a": [*SCORES]}, {"MOS": "1"}, False, limits={"MOS": (0.0, 9.0)}))
    )
    assert "cut to the scale" not in " ".join(str(curve_over(within, "a", "x").svg()).split())
    free = only(analyze(rows, AnalysisRequest({"a": [*SCORES]}, {"MOS": "1"}, False)))
    assert "to 4.3 ± 1.3, by" in said(free)


def test_the_table_of_a_sweep_has_the_ends_of_what_is_cut(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call over a line that loses packets, in runs of two seconds."""
    monkeypatch.setattr("perhop.experiment.executors.open_executor", lambda *_: ThreadPoolExecutor(1))
    done = cli(
        *("sweep", HOUSEHOLD, "--replications", "2", "--vary", "link.isp-home.loss=0.01,0.02", "-o", "q"),
        *("-s", "run.duration=4s", "-s", "run.warmup=2s", "--measure", "MOS=min(calls.mos)"),
        *("--measure", "up=sum(flows.goodput_bit_s)"),
    )
    assert done.code == 0, done.err
    assert "MOS: means with 95 % intervals, cut to the scale from 1 to 4.5\n" in done.out
    assert done.out.count("from 1 to 4.5") == 1
    head = next(line for line in done.out.splitlines() if line.startswith("treatment"))
    assert head.split() == ["treatment", "mean", "from", "to", "runs"]
    exact = [row for row in cli("analyze", "q", "--json").json()["analyses"] if row["response"] == "MOS"]
    ends = [end for one in exact[0]["means"] for end in (one["low"], one["high"])]
    assert min(ends) < 1.0 or max(ends) > 4.5
