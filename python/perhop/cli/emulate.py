"""`perhop emulate`: one run of a scenario on real packets."""

from __future__ import annotations

from pathlib import Path

from perhop.cli import options, run
from perhop.cli.options import option


def command(
    scenario: options.ScenarioFile,
    overrides: options.Set = None,
    seed: options.Seed = None,
    until: options.Until = None,
    trace: run.Trace = None,
    pcap: run.Pcap = None,
    out: Path | None = option("-o --out", "DIR", "Folder; default out/<scenario>-live-<seed>."),
    force: run.Force = False,
    report: run.Report = False,
    as_json: options.Json = False,
) -> int:
    """Run a scenario on real packets and kernel TCP, and leave a folder as perhop run does."""
    live = [*(overrides or []), 'run.clock="live"']
    return run.make(scenario, live, seed, until, trace, pcap, out, force, report, as_json, suffix="-live")
