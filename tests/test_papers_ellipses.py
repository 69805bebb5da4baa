"""Ellipses of two responses: their shape, their figure on a study's page, and mistakes in it."""

from __future__ import annotations

import csv
import io
import re
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.plot.ellipses import Group

FIGURE = """
[[figure]]
kind = "ellipses"
title = "Goodput against wait"
response = "goodput"
against = "wait"
at = { delay = "0ms" }
each = { name = ["up", "down"], share = "all" }
"""


def test_an_ellipse_holds_one_standard_deviation_along_each_axis() -> None:
    generator = np.random.default_rng(7)
    u, v = generator.normal(size=(2, 20_000))
    # 3 along the diagonal, 1 across it
    x, y = (3 * u - v) / np.sqrt(2), (3 * u + v) / np.sqrt(2)
    width, height, angle = Group("g", x + 5, y - 2).axes()
    assert (width, height) == pytest.approx((6, 2), rel=0.02)
    assert angle % 180 == pytest.approx(45, abs=1)
    turned = np.radians(angle)
    along, across = np.cos(turned) * x + np.sin(turned) * y, np.cos(turned) * y - np.sin(turned) * x
    inside = (along / (width / 2)) ** 2 + (across / (height / 2)) ** 2 <= 1
    assert inside.mean() == pytest.approx(1 - np.exp(-0.5), abs=0.01)


def test_a_single_run_is_a_point() -> None:
    assert Group("g", np.array([1.0]), np.array([2.0])).axes() == (0.0, 0.0, 0.0)


@pytest.fixture
def mine(cli: Cli) -> Path:
    assert cli("init", "--study", "mine").code == 0
    study, campaign = Path("mine/study.toml"), Path("mine/campaign.toml")
    study.write_text(
        study.read_text()
        .replace("[citation]", FIGURE + FIGURE.replace("wait", "timeouts") + "\n[citation]")
        .replace("duration=12s", "duration=6s")
    )
    campaign.write_text(
        campaign.read_text()
        + '\n[[response]]\nname = "wait"\nmeasure = "mean(flows.srtt_s) by name"\n'
        + '\n[[response]]\nname = "timeouts"\nmeasure = "sum(flows.timeouts) by name"\n'
    )
    return Path("mine")


def test_the_figure_stands_on_the_page_with_every_run_as_data(cli: Cli, mine: Path) -> None:
    assert cli("check", mine).code == 0
    done = cli("reproduce", mine, "--quick", "-j", "2")
    assert done.code == 0, done.err
    page = Path("out/mine/report.html").read_text()
    assert "<title>Goodput against wait</title>" in page
    assert re.search(r"wait in m?s", page)

    texts = [b64decode(one).decode() for one in re.findall(r'data:text/csv;base64,([^"]+)"', page)]
    (own,) = [text for text in texts if text.startswith("name,share,wait,goodput\n")]
    # a response without a unit has none on its axis
    assert "goodput in Mbit/s over timeouts. " in page
    rows = list(csv.DictReader(io.StringIO(own)))
    assert len(rows) == 2 * 3 * 10
    assert all(float(row["wait"]) > 0 and float(row["goodput"]) > 0 for row in rows)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('against = "wait"\n', "", "ellipses need `against`"),
        ('against = "wait"', 'against = "wai"', "there is no response `wai`"),
        ('against = "wait"', 'against = "fairness"', "there is no response `fairness` with the groups"),
        ('kind = "ellipses"\n', "", "only ellipses are drawn against a response"),
    ],
)
def test_mistakes_are_shown_with_their_place(old: str, new: str, said: str, cli: Cli, mine: Path) -> None:
    file = mine / "study.toml"
    text = file.read_text()
    assert old in text
    file.write_text(
        text[: text.index(FIGURE)] + FIGURE.replace(old, new) + text[text.index(FIGURE) + len(FIGURE) :]
    )
    done = cli("check", mine)
    assert done.code == ExitCode.INVALID
    assert said in " ".join(done.out.split()), done.out
