"""Figures for a paper: the curve over any factor, size and font; effects of three factors."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.experiment.analysis import AnalysisRequest
from perhop.experiment.analyze import analyze
from perhop.say.analysis import what_mattered
from test_campaign_page import LOSSES, made
from test_campaign_run import RATES


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("store") / "crossed", [RATES, LOSSES])


def drawn(cli: Cli, store: Path, out: Path, *words: str) -> str:
    done = cli("figure", store, "curve", *words, "-o", out, "--force")
    assert done.code == 0, done.err
    return out.read_text()


def test_the_curve_over_a_factor_has_a_line_for_each_level_of_the_others(
    cli: Cli, store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "curve.svg"
    picture = drawn(cli, store, out, "--over", "rate")
    assert re.search(r"rate in Mbit/s: loss 0.01: 1 [\d.]+, 2 [\d.]+, 4 [\d.]+ / loss 0.05: 1 ", picture)
    # of a response by group the group is a line, or the axis
    picture = drawn(cli, store, out, "--over", "loss", "--response", "each", "--where", "rate=1Mbit/s")
    assert re.search(r"loss: name down: 0.01 [\d.]+, 0.05 [\d.]+ / name up: ", picture)
    picture = drawn(cli, store, out, "--over", "name", "--response", "each", "--where", "loss=0.01")
    assert re.search(r"name: rate 1Mbit/s: down [\d.]+, up [\d.]+ / rate 2Mbit/s: ", picture)
    # with one left to vary it need not be named
    drawn(cli, store, out, "--response", "each", "--where", "loss=0.01")


def test_what_is_no_curve_says_what_to_do(cli: Cli, store: Path, tmp_path: Path) -> None:
    for words, told, hint in (
        (("curve", "--over", "rat"), "--over rat: rat does not vary: rate, loss does", ""),
        (("curve", "--response", "goodput"), "over which factor? rate, loss vary", "add --over FACTOR"),
        (("curve",), "over which factor? rate, loss vary", "all but one of --where rate=LEVEL --where loss"),
        (("curve", "--over", "rate", "--response", "godput"), "no such response", "did you mean `goodput`?"),
        (("main", "--over", "rate"), "--over is about the curve of a campaign", "curve --over FACTOR"),
        (("main", "--size", "0x3"), "--size 0x3: no width and height of 1 to 40 inches", "such as 88x66mm"),
        (("main", "--size", "3"), "--size 3: no width and height", "such as 88x66mm"),
        (("main", "--font", "2"), "--font 2: no size of 4 to 40 points", "such as --font 8"),
        (("main", "--font", "DejaVu Sanz"), "this machine has no font 'DejaVu Sanz'", "DejaVu Sans"),
    ):
        done = cli("figure", store, *words, "-o", tmp_path / "x.svg")
        assert (done.code, told in done.err, hint in done.err) == (ExitCode.USAGE, True, True), done.err


def test_a_figure_has_the_size_and_the_font_that_are_asked_for(cli: Cli, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "curve.svg"
    plain = drawn(cli, store, out, "--over", "rate")
    small = drawn(cli, store, out, "--over", "rate", "--size", "88x66mm", "--font", "DejaVu Serif 7")

    def inches(picture: str) -> list[float]:
        found = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', picture)
        assert found is not None
        return [float(one) / 72 for one in found.groups()]

    assert inches(plain) == pytest.approx([5.6, 3.7])
    assert inches(small) == pytest.approx([88 / 25.4, 66 / 25.4], rel=1e-3)
    assert inches(drawn(cli, store, out, "--over", "rate", "--size", "3.5x2.5")) == pytest.approx([3.5, 2.5])
    assert "DejaVu Serif" in small
    assert "DejaVu Serif" not in plain
    sizes = [{float(one) for one in re.findall(r"font-size: ([\d.]+)px", text)} for text in (plain, small)]
    assert max(sizes[0]) == 11
    assert max(sizes[1]) == 7
    # what follows is as it was
    assert drawn(cli, store, out, "--over", "rate") == plain
    pdf = tmp_path / "curve.pdf"
    done = cli("figure", store, "main", "--size", "8.8x6cm", "--font", "8", "-o", pdf)
    assert done.code == 0, done.err
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf.read_bytes())
    assert box is not None
    assert [float(one) / 72 * 2.54 for one in box.groups()] == pytest.approx([8.8, 6.0], rel=1e-3)


def five_factors() -> tuple[pl.DataFrame, AnalysisRequest]:
    """Give a design in which three factors do something together, and nothing else does anything."""
    chance, names = np.random.default_rng(4), "ABCDE"
    rows = [
        ("k", "".join(levels), *levels, i, "y", 5.0 + 3.0 * sign + float(chance.standard_normal()))
        for levels in product("-+", repeat=5)
        for sign in [np.prod([1 if one == "+" else -1 for one in levels[:3]])]
        for i in range(3)
    ]
    columns = ("key", "treatment", *names, "replication", "response", "value")
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return frame, AnalysisRequest({name: ["-", "+"] for name in names}, {"y": None}, common_seeds=False)


def test_effects_of_three_factors_are_shown_where_they_are_asked_for() -> None:
    frame, asked = five_factors()
    (plain,) = analyze(frame, asked)
    assert "higher orders" in plain.tests["source"].to_list()
    assert "`--order 3` shows effects of 3 factors one by one." in " ".join(what_mattered(plain))
    order = AnalysisRequest(asked.factors, asked.units, asked.common_seeds, order=3)
    (three,) = analyze(frame, order)
    (own,) = three.tests.filter(source="A:B:C").to_dicts()
    assert own["percent"] > 80
    assert "A:B:C" in three.found
    assert three.effects is not None
    assert three.effects.at(A="+", B="+", C="+").value == pytest.approx(3.0, abs=0.3)
    # orders above are still one row, too small to be told of
    assert three.tests.filter(source="higher orders")["df"].to_list() == [5 + 1]
    assert "--order" not in " ".join(what_mattered(three))
    assert plain.tests.filter(source="A:B")["f"].equals(three.tests.filter(source="A:B")["f"])
