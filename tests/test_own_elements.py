"""A scenario with elements that perhop does not have: the command says which, and where."""

from __future__ import annotations

from pathlib import Path

from conftest import Cli
from perhop.cli.exit import ExitCode

SCENARIO = Path(__file__).resolve().parents[1] / "examples" / "own-elements" / "scenario.toml"


def test_check_names_the_elements_that_perhop_does_not_have(cli: Cli) -> None:
    done = cli("check", SCENARIO, "--json")
    assert done.code == ExitCode.INVALID
    found = done.json()["files"][0]["diagnostics"]
    assert [(one["path"], one["value"]) for one in found] == [
        ("conditioner.customer.meter.name", "tsw-tcm"),
        ("port.edge-sink.class.all.queue.name", "drop-front"),
    ]
    assert all("with the program that brings it" in one["hint"] for one in found)


def test_run_refuses_them(cli: Cli) -> None:
    done = cli("run", SCENARIO)
    assert done.code == ExitCode.INVALID
    assert "there is no queue `drop-front` here" in done.err
    assert "scenario.toml" in done.err
    assert not Path("out").exists()
