"""`perhop init --pack line`: a scenario of the words that were given, or asked for on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from perhop import Scenario
from perhop.cli.exit import ExitCode
from perhop.units import quantity


def described(folder: str) -> dict[str, dict[str, Any]]:
    tables = tomllib.loads(Path(f"{folder}/line.toml").read_text())
    return {f"{one['at']}->{one['to']}": one for one in tables["port"]} | {
        one["name"]: one for kind in ("flow", "udp") for one in tables.get(kind, ())
    }


def test_a_line_has_the_rates_buffers_and_users_that_were_given(cli: Cli) -> None:
    rates = ["--down", "1Gbit/s", "--up", "50Mbit/s"]
    words = [*rates, "--round-trip", "24ms", "--buffer", "100ms", "--use", "upload,video=2"]
    assert cli("init", "--pack", "line", *words, "own").code == 0
    tables = described("own")
    assert tables["isp->home"]["class"][0]["queue"] == {"kind": "fifo", "limit": "12500000B"}
    assert tables["home->isp"]["class"][0]["queue"] == {"kind": "fifo", "limit": "625000B"}
    assert [tables["video"]["count"], set(tables) - {"isp->home", "home->isp"}] == [2, {"video", "upload"}]
    # nothing waits: the base round trip is the one that was given
    run = Scenario.load("own/line.toml").override(
        "run.duration=12s", "flow.video.start=11.9s", "flow.upload.tcp.window=3kB"
    )
    flows = run.run().flows
    assert flows.filter(flows["name"] == "upload")["srtt_s"].item() == pytest.approx(0.024, rel=0.05)


def test_what_the_line_adds_to_a_packet_counts(cli: Cli) -> None:
    words = ["--down", "20Mbit/s", "--buffer", "50ms", "--use", "download"]
    assert cli("init", "--pack", "line", *words, "plain").code == 0
    assert cli("init", "--pack", "line", *words, "--overhead", "150B", "own").code == 0
    runs = (Scenario.load(f"{one}/line.toml").override("run.warmup=20s").run() for one in ("plain", "own"))
    plain, own = (one.flows["goodput_bit_s"].item() for one in runs)
    assert own / plain == pytest.approx(1500 / 1650, rel=0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--down 50", "--down: `50` is not a rate"),
        ("--up -1Mbit/s", "--up: `-1Mbit/s` is not a rate"),
        ("--round-trip 0ms", "--round-trip: `0ms` is not a time"),
        ("--buffer 3p", "--buffer: `3p` is not a time or a size"),
        ("--overhead 1ms", "--overhead: `1ms` is not a size"),
        ("--use films", "--use: `films` is not one of pages"),
        ("--use call,call", "--use: `call` is not one of pages"),
        ("--use video=0,call", "--use: `video=0` has no number from 1 to 999"),
    ],
)
def test_a_mistake_is_told_and_nothing_written(cli: Cli, words: str, said: str) -> None:
    refused = cli("init", "--pack", "line", *words.split(), "own")
    assert refused.code == ExitCode.USAGE
    assert said in refused.err
    assert not Path("own").exists()


@pytest.mark.parametrize("use", ["pages", "chat=2", "video", "call", "download", "upload", "upload,call"])
def test_scenario_and_campaign_are_valid_whoever_uses_the_line(cli: Cli, use: str) -> None:
    assert cli("init", "--pack", "line", "--use", use, "own").code == 0
    checked = cli("check", "own/line.toml", "own/campaign.toml")
    assert checked.code == 0, checked.out
    assert "⚠" not in checked.out + checked.err


@pytest.mark.parametrize(
    "words",
    [
        "--round-trip 3s",
        "--round-trip 1us",
        "--down 20Gbit/s --up 33333333bit/s",
        "--down 1Tbit/s",
        "--buffer 1ns",
    ],
)
def test_uncommon_lines_are_valid_too(cli: Cli, words: str) -> None:
    assert cli("init", "--pack", "line", *words.split(), "own").code == 0
    assert cli("check", "own/line.toml").code == 0
    ends = [link["rate"] for link in tomllib.loads(Path("own/line.toml").read_text())["link"]]
    assert quantity(ends[0])[0] >= 10 * quantity(ends[1]["isp->home"])[0]


@pytest.mark.parametrize("words", ["--overhead 1.5B", "--down 1e30Gbit/s", "--buffer 1e30B"])
def test_what_no_scenario_can_have_is_refused(cli: Cli, words: str) -> None:
    refused = cli("init", "--pack", "line", *words.split(), "own")
    assert refused.code == ExitCode.USAGE
    assert not Path("own").exists()


def test_an_empty_word_is_a_mistake(cli: Cli) -> None:
    assert "--down: `` is not a rate" in cli("init", "--pack", "line", "--down", "", "own").err
    assert "add --pack line" in cli("init", "--down", "", "own").err


def test_words_of_a_line_go_with_no_other_pack(cli: Cli) -> None:
    refused = cli("init", "--down", "50Mbit/s", "own")
    assert refused.code == ExitCode.USAGE
    assert "--pack line" in refused.err


def test_it_asks_on_a_terminal(tmp_path: Path) -> None:
    ours, its = pty.openpty()
    answers = "30\n30Mbit/s\n3Mbit/s\n\n64kB\n\npages,upload\n"
    os.write(ours, answers.encode())
    words = [sys.executable, "-m", "perhop.cli", "init", "--pack", "line", "own"]
    done = subprocess.run(words, stdin=its, stdout=its, stderr=its, cwd=tmp_path, check=False)
    os.close(its)
    assert done.returncode == 0
    first = (tmp_path / "own" / "line.toml").read_text().splitlines()[2]
    given = "--down=30Mbit/s --up=3Mbit/s --round-trip=30ms --buffer=64kB --overhead=0B --use=pages,upload"
    assert given in first
