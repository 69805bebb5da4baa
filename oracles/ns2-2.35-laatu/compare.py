"""Run the study's own scenario files in perhop, under more and more of ns-2's conventions, beside ns-2.35.

``python compare.py`` does the four main cases; ``python compare.py NAME ...`` others of results.json.
``--steps link`` ends with that step, ``--alone`` takes each step by itself, ``--seeds`` says how many runs a
marking has. A cell has both markings, their difference, paired by seed, and after a semicolon how far the two
simulators are apart in that difference.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor as Pool
from pathlib import Path
from statistics import mean
from typing import Any

from perhop import Scenario
from perhop.stats.intervals import mean_interval

HERE = Path(__file__).parent
PACK = HERE.parent.parent / "papers" / "laatu"
MAIN = ("shared-300", "shared-150", "coupled-300", "decoupled-300")
MARKINGS = {
    "flow": (
        "conditioner.customer.per=flow",
        "conditioner.customer.meter.cir=200kbit/s",
        "conditioner.customer.meter.pir=350kbit/s",
    ),
    "aggregate": (),
}
AVERAGING = {"WRED": "shared", "RIO-C": "coupled", "RIO-D": "decoupled"}
RECOVERY = {"Reno": "reno", "Newreno": "newreno", "Sack1": "sack-1996"}
WARMUP_S, DURATION_S = 10, 120
CIR_KBIT = 800
#: What is printed, and with how many decimals.
DIGITS = {"cir": 3, "wire_kbit": 1, "timeouts": 1}
#: What makes the queue more like dsRED: keys of a queue with their values, as TOML. Empty: there are none.
QUEUE_CONVENTIONS: dict[str, str] = {}
#: The AF class as in laatu.tcl: a link of its own, thresholds in packets.
_LINK = """\
[[port]]
at = "c1"
to = "c2"
[[port.class]]
name = "af"
[port.class.queue]
kind = "gred"
limit = "120p"
averaging = "shared"
mean_packet = "1500B"
green = { min_th = "30p", max_th = "60p", max_p = 0.02, w_q = 0.002 }
yellow = { min_th = "15p", max_th = "30p", max_p = 0.05, w_q = 0.002 }
red = { min_th = "7p", max_th = "15p", max_p = 0.10, w_q = 0.002 }
"""


def _of_the_case(settings: dict[str, Any]) -> Iterator[str]:
    yield f"link.s-e1.delay={settings.get('rtt_ms', 300) / 2}ms"
    yield f"port.c1-c2.class.af.queue.averaging={AVERAGING[settings.get('averaging', 'WRED')]}"
    yield f"profile.linux24.recovery={RECOVERY[settings.get('tcp', 'Reno')]}"
    yield f"profile.linux24.timestamps={'false' if settings.get('stamps') == 0 else 'true'}"
    for flow in ("measured", "background"):
        if settings.get("ack") == "every":
            yield f'flow.{flow}.ack={{ policy = "every-segment" }}'
    if "cbs" in settings:
        yield f"conditioner.customer.meter.cbs={settings['cbs']}p"
        yield f"conditioner.customer.meter.pbs={settings['pbs']}p"


def _tcp() -> Iterator[str]:
    # laatu.tcl and the pack agree about the rest
    yield "profile.linux24.base=ns2"
    yield "profile.linux24.clock_tick=10ms"
    yield "profile.linux24.max_rto=60s"
    for flow in ("measured", "background"):
        yield f"flow.{flow}.tcp.window={43 * 1448}B"


def _ack(settings: dict[str, Any]) -> Iterator[str]:
    if settings.get("ack") != "every":
        for flow in ("measured", "background"):
            yield f'flow.{flow}.ack={{ policy = "delayed", timeout = "40ms" }}'


STEPS = ("pack", "tcp", "ack", "link", "queue")


def scenario(settings: dict[str, Any], marking: str, steps: tuple[str, ...]) -> Scenario:
    """Give the study's file with the settings of a case and the conventions of some steps."""
    text = (PACK / "aggregate.toml").read_text()
    if "link" in steps:
        before, rest = text.split("[[port]]", 1)
        text = before + _LINK + "\n[[profile]]" + rest.split("[[profile]]", 1)[1].split("[[udp]]", 1)[0]
    overrides = [*MARKINGS[marking], *_of_the_case(settings)]
    if "link" in steps:
        overrides += ["link.c1-c2.rate=2Mbit/s"]
    if "tcp" in steps:
        overrides += _tcp()
    if "ack" in steps:
        overrides += _ack(settings)
    if "queue" in steps:
        overrides += [f"port.c1-c2.class.af.queue.{key}={value}" for key, value in QUEUE_CONVENTIONS.items()]
    return Scenario(text.encode(), "aggregate.toml").override(*overrides, "run.interval=100ms")


def once(given: Scenario, seed: int) -> dict[str, float]:
    """Run perhop once and give the quantities of results.json."""
    result = given.override(f"run.seed={seed}").run()
    flows = result.flows.filter(result.flows["class"] == "measured")
    marks = result.marks.filter(result.marks["flow"].is_in(flows["name"].to_list()))
    time = DURATION_S - WARMUP_S
    kbit = dict.fromkeys(("AF11", "AF12", "AF13"), 0.0)
    for mark, amount in marks.select("mark", "arrived_bytes").iter_rows():
        kbit[mark] += amount * 8 / 1000 / time
    wire = [rate / 1000 for rate in flows["throughput_bit_s"]]
    return {
        "cir": kbit["AF11"] / CIR_KBIT,
        "excess_kbit": kbit["AF12"] + kbit["AF13"],
        "wire_kbit": sum(wire),
        "goodput_kbit": float(flows["goodput_bit_s"].sum()) / 1000,
        "jain": sum(wire) ** 2 / (len(wire) * sum(rate * rate for rate in wire)),
        "timeouts": int(flows["timeouts"].sum()),
    }


def _cell(flow: float, aggregate: float, found: list[float], what: str) -> str:
    digits = DIGITS[what]
    return f"{flow:.{digits}f} / {aggregate:.{digits}f}, {found[0]:+.{digits}f} ± {found[1]:.{digits}f}"


def compare(name: str, recorded: dict[str, Any], steps: tuple[str, ...], seeds: int, pool: Pool) -> None:
    """Print a row: perhop's values, and how far its difference is from that of ns-2."""
    runs = {}
    for marking in MARKINGS:
        given = scenario(recorded["settings"], marking, steps)
        runs[marking] = list(pool.map(lambda seed, given=given: once(given, seed), range(1, seeds + 1)))
    cells = [name, "+".join(steps)]
    for what, digits in DIGITS.items():
        flow, aggregate = (mean(run[what] for run in runs[marking]) for marking in MARKINGS)
        found = mean_interval([a[what] - b[what] for a, b in zip(*runs.values(), strict=True)])
        theirs = recorded["difference"][what]
        apart = (found.half_width**2 + theirs[1] ** 2) ** 0.5
        cell = _cell(flow, aggregate, [found.mean, found.half_width], what)
        cells.append(f"{cell}; {found.mean - theirs[0]:+.{digits}f} ± {apart:.{digits}f}")
    print("| " + " | ".join(cells) + " |", flush=True)


def theirs(name: str, recorded: dict[str, Any]) -> None:
    """Print the row of ns-2."""
    markings = [recorded[marking] for marking in MARKINGS]
    cells = (
        _cell(*(one[what][0] for one in markings), recorded["difference"][what], what) for what in DIGITS
    )
    print("| " + " | ".join([name, "ns-2.35", *cells]) + " |")


def main() -> None:
    """Do what the command line says."""
    recorded = json.loads((HERE / "results.json").read_text())
    parser = argparse.ArgumentParser(description="Compare perhop with the recorded results of ns-2.35.")
    names = [*recorded, []]
    parser.add_argument("cases", nargs="*", choices=names, metavar="NAME", help=f"default: {', '.join(MAIN)}")
    parser.add_argument(
        "--steps", default="queue", choices=STEPS, help="the last of ns-2's conventions to take"
    )
    parser.add_argument(
        "--alone", action="store_true", help="each step by itself, not on top of those before"
    )
    parser.add_argument("--seeds", type=int, default=20, help="runs of a marking (default 20)")
    parser.add_argument("--workers", type=int, default=2, help="runs at once (default 2)")
    given = parser.parse_args()
    print("| case | conventions | CIR utilization | kbit/s | time-outs |")
    print("|---|---|---|---|---|")
    with Pool(given.workers) as pool:
        for name in given.cases or MAIN:
            theirs(name, recorded[name])
            for last in range(STEPS.index(given.steps) + 1):
                steps = ("pack", STEPS[last]) if given.alone and last else STEPS[: last + 1]
                if STEPS[last] != "queue" or QUEUE_CONVENTIONS:
                    compare(name, recorded[name], steps, given.seeds, pool)


if __name__ == "__main__":
    main()
