"""Packs of `perhop init` that say what comes of them: their files, and figures of their READMEs."""

from __future__ import annotations

import csv
import re
import runpy
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import perhop
from conftest import Cli
from test_docs import blocks, words
from test_docs_commands import _words

STARTERS = Path(perhop.__file__).parent / "starters"
PACKS = ["docsis", "lte", "enterprise"]


@pytest.mark.parametrize("pack", PACKS)
def test_what_init_writes_is_valid_without_warnings(cli: Cli, pack: str) -> None:
    assert f"next: perhop run lab/{pack}.toml" in cli("init", "--pack", pack, "lab").out
    checked = cli("check", f"lab/{pack}.toml", "lab/campaign.toml")
    assert (checked.code, checked.err) == (0, "")
    told = re.findall(r"`([\w.]+)`", Path("lab/README.md").read_text().partition("```")[0])
    assert set(told) >= {one.name for one in Path("lab").iterdir()} - {"README.md"}


def test_the_tutorial_is_a_page_that_needs_no_other(cli: Cli) -> None:
    done = cli("init", "--pack", "tutorial", "lab")
    assert (done.code, done.out) == (0, "lab/tutorial.md\nnext: read lab/tutorial.md\n")
    assert not re.search(r"\]\((?!https?:)", Path("lab/tutorial.md").read_text()), "a link that leads out"
    assert cli("init", "--pack", "tutorial", "--notebook", "other").code == 2


def lines(program: str, function: str, *words: Any) -> str:
    """Return what a function of a pack's program gives, as a file."""
    found = runpy.run_path(str(STARTERS / f"{program}.py.txt"))[function](*words)
    return "".join(f"{one}\n" for one in found)


def test_programs_make_the_traces_that_are_there() -> None:
    assert lines("docsis/grants", "lines") == (STARTERS / "docsis/grants.csv").read_text()
    for seed, trace in ((5, "down"), (6, "up")):
        text = lines("lte/radio", "opportunities", seed)
        assert text == (STARTERS / f"lte/{trace}.trace").read_text()


def test_an_idle_modem_waits_as_long_as_is_said() -> None:
    """A packet may come at any time: waits for the next grant, from the gaps between grants."""
    with (STARTERS / "docsis/grants.csv").open() as file:
        rows = list(csv.DictReader(file))
    begins = [float(one["time_s"]) for one in rows if one["rate_bit_s"] not in ("0", "repeat")]
    ends = [float(one["time_s"]) for one in rows[2:] if one["rate_bit_s"] == "0"]
    period = float(rows[-1]["time_s"])
    gaps = [begin - end for end, begin in zip(ends, [*begins[1:], begins[0] + period], strict=True)]
    mean, longest = 1e3 * sum(gap**2 for gap in gaps) / 2 / period, 1e3 * max(gaps)
    told = f"{mean:.1f} ms on average and {longest:.1f} ms at most"
    assert told in (STARTERS / "docsis/docsis.toml").read_text()
    assert f"an idle modem takes 4 to {4 + longest:.0f} ms" in (STARTERS / "docsis/README.md").read_text()


def test_seeds_of_the_radio_are_the_first_without_an_outage() -> None:
    def longest(seed: int) -> int:
        times = [int(one) for one in lines("lte/radio", "opportunities", seed).split()]
        return max(after - before for before, after in pairwise([0, *times]))

    assert [seed for seed in range(1, 7) if longest(seed) <= 100] == [5, 6]
    assert 1000 <= longest(4) < 2000


@pytest.mark.parametrize("pack", PACKS)
def test_runs_of_a_readme_print_what_it_shows(cli: Cli, pack: str) -> None:
    assert cli("init", "--pack", pack).code == 0
    printed: list[str] = []
    for kind, text, _ in blocks(Path("README.md")):
        if kind == "shell":
            runs = [line for line in text.splitlines() if line.startswith("perhop run ")]
            done = [cli(*_words(line)) for line in runs]
            assert [one.code for one in done] == [0] * len(runs)
            printed = [line for one in done for line in words(one.out)]
        elif printed:
            assert [line for line in words(text) if line not in printed] == []


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def rate(bit_s: float) -> str:
    return f"{bit_s / 1e6:.1f} Mbit/s"


COLUMNS: dict[str, tuple[tuple[str, Callable[[float], str]], ...]] = {
    "docsis": (
        ("game, half", duration),
        ("game, 99 %", duration),
        ("pages", duration),
        ("call", "{:.1f}".format),
        ("upload", rate),
    ),
    "lte": (
        ("call", "{:.1f}".format),
        ("delay", duration),
        ("pages", duration),
        ("download", rate),
    ),
}
"""Responses of a campaign in the table of its README, and how they are written there."""


def rows(pack: str, means: list[dict[str, Any]]) -> Iterator[str]:
    """Write the rows of a README's table: levels, then means."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for one in means:
        found[one["treatment"]][one["response"]] = one["mean"]
    for treatment, values in found.items():
        levels = re.findall(r"=(.+?)(?= \w+=|$)", treatment)
        yield f"| {' | '.join([*levels, *(write(values[name]) for name, write in COLUMNS[pack])])} |"


@pytest.mark.long
@pytest.mark.parametrize("pack", COLUMNS)
def test_the_table_of_a_readme_has_the_means_of_its_campaign(cli: Cli, pack: str) -> None:
    """40 and 20 seconds of CPU time."""
    assert cli("init", "--pack", pack).code == 0
    done = cli("campaign", "run", "campaign.toml", "-o", "out", "--json")
    assert done.code == 0
    table = [line for line in Path("README.md").read_text().splitlines() if line.startswith("| ")]
    made = list(rows(pack, done.json()["means"]))
    assert [row for row in made if row not in table] == []
    assert len(made) == 8


@pytest.mark.long
def test_the_campaign_of_the_enterprise_begins_with_what_holds(cli: Cli) -> None:
    """Half a minute of CPU time."""
    assert cli("init", "--pack", "enterprise").code == 0
    done = cli("campaign", "run", "campaign.toml", "-o", "out")
    shown = list(blocks(Path("README.md")))[-1][1]
    assert words(done.out)[: len(words(shown))] == words(shown)
