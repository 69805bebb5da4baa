"""`perhop emulate`: one run of a scenario on real packets."""

from __future__ import annotations

from pathlib import Path

from perhop.cli import options, run
from perhop.cli.options import option


def command(
    scenario: Path = options.SCENARIO,
    overrides: list[str] | None = options.SET,
    seed: int | None = options.SEED,
    until: str | None = options.UNTIL,
    trace: list[str] | None = run.TRACE,
    pcap: list[str] | None = run.PCAP,
    out: Path | None = option("-o --out", "DIR", "Folder; default out/<scenario>-live-<seed>."),
    force: bool = run.FORCE,
    report: bool = run.REPORT,
    as_json: bool = options.JSON,
) -> int:
    """Run a scenario on real packets and kernel TCP, and leave a folder as perhop run does."""
    live = [*(overrides or []), 'run.clock="live"']
    return run.make(scenario, live, seed, until, trace, pcap, out, force, report, as_json, suffix="-live")
