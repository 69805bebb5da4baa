"""Make the traces of this folder with ns-2.35, or make them again and compare.

``python generate.py`` makes every trace again from its own first members and names those that differ.
``python generate.py PROFILE VARIANT CASE [PACKET,K ...]`` writes PROFILE_VARIANT_CASE.json.
Both need ``ns``, of the Debian package ns2.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VARIANTS = ("Tahoe", "Reno", "Newreno", "Sack1")
#: Settings that a profile changes; the README says what they mean.
_EXACT = {
    "tick": 0.0001,
    "minrto": 1.0,
    "initial": 1,
    "syn": 0,
    "limited": 0,
    "wire": 1000,
    "fractional": 1,
    "guard": 1,
}
PROFILES: dict[str, dict[str, float]] = {
    "exact": _EXACT,
    "nobugfix": _EXACT | {"guard": 0},
    "fine": _EXACT | {"tick": 0.01, "minrto": 0.2},
    "classic": _EXACT | {"tick": 0.1, "fractional": 0},
    "ns235": _EXACT | {"tick": 0.01, "minrto": 0.2, "initial": 2, "syn": 1, "limited": 1, "wire": 1040},
}
#: With this seed the phase is 8.8e-6 of a tick. All times here are multiples of 4 us, so it acts as 0.
SEED = 32904
#: ns-2's limit of a queue that never overflows. It holds one packet fewer, beside the one on the wire.
LIMIT = 100
#: ns-2 runs on after the transfer; this is later than any transfer here ends.
STOP_S = 1500
#: Variables of the sender that a trace reports, and what it calls them.
_VARIABLES = {
    "ssthresh_": "ssthresh",
    "rtt_": "rtt",
    "srtt_": "srtt",
    "rttvar_": "rttvar",
    "backoff_": "backoff",
}

Event = list[Any]


class Reader:
    """What ns-2 printed, as events at the sender.

    A change of a variable belongs to the event before it. A time-out is known by the count of time-outs;
    variables are stamped in steps of 10 us, so it takes the time of the packet that it sends.
    """

    def __init__(self) -> None:
        self.phase = 0.0
        self.events: list[Event] = []
        self.variables: list[Event] = []
        self._cwnd = 0.0
        self._acked = -1
        self._open: Event | None = None

    def read(self, line: str) -> None:
        """Take one line."""
        words = line.split()
        if words[0] == "phase":
            self.phase = float(words[1])
        elif words[0] in "+-rd":
            self._packet(words[0], float(words[1]), (words[2], words[3]), words[4], int(words[10]))
        else:
            self._variable(float(words[0]), words[5], float(words[6]))

    def _packet(self, what: str, time: float, link: tuple[str, str], kind: str, number: int) -> None:
        if what == "+" and link == ("0", "1"):
            if self._open and self._open[1] == "timeout":
                self._open[0] = time
            self._open = None
            self.events.append([time, "send", number, self._cwnd])
        elif what == "d" and link == ("1", "2"):
            self.events.append([time, "drop", number, self._cwnd])
        elif what == "r" and link == ("1", "0") and kind == "ack":
            self._acked = number
            self._open = [time, "ack", number, self._cwnd]
            self.events.append(self._open)

    def _variable(self, time: float, name: str, value: float) -> None:
        if self._open and time > self._open[0] + 1e-5:
            self._open = None
        if name == "cwnd_":
            self._cwnd = value
            if self._open:
                self._open[3] = value
        elif name == "nrexmit_" and value > 0:
            self._open = [time, "timeout", self._acked + 1, self._cwnd]
            self.events.append(self._open)
        elif name in _VARIABLES:
            self.variables.append([time, _VARIABLES[name], value])


def make(
    profile: str,
    variant: str,
    case: str,
    drops: list[list[int]],
    packets: int = 120,
    seed: int = SEED,
    limit: int = LIMIT,
    delack_s: float = 0,
) -> dict[str, Any]:
    """Run ns-2 and give the trace up to the first ACK of the last packet."""
    settings = PROFILES[profile] | {
        "packets": packets,
        "seed": seed,
        "stop": STOP_S,
        "limit": limit,
        "delack": delack_s,
    }
    # what the first recordings have is not written down
    more = {
        key: value for key, value in (("limit", limit), ("delack_s", delack_s)) if value not in (LIMIT, 0)
    }
    words = [f"{key}={value}" for key, value in settings.items()] + [f"{n},{k}" for n, k in drops]
    command = ["ns", str(HERE / "drop_trace.tcl"), variant, *words]
    reader = Reader()
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        reader.read(line)
    last = packets if settings["syn"] else packets - 1
    end = next((i for i, event in enumerate(reader.events) if event[1:3] == ["ack", last]), None)
    if end is None:
        raise SystemExit(f"{profile} {variant} {drops}: not finished after {STOP_S} s")
    return {
        "profile": profile,
        "variant": variant,
        "case": case,
        "drops": drops,
        "npkts": packets,
        "seed": seed,
        "phase_s": reader.phase,
        **more,
        "fields": ["time_s", "kind", "seqno_or_ackno", "cwnd_pkts"],
        "events": reader.events[: end + 1],
        "vars": [change for change in reader.variables if change[0] <= reader.events[end][0] + 1e-5],
    }


def text(trace: dict[str, Any]) -> str:
    """Give the file: JSON with a line for each event."""
    rows = {key: trace[key] for key in ("events", "vars")}
    head = json.dumps({key: value for key, value in trace.items() if key not in rows}, separators=(",", ":"))
    bodies = (
        f'"{key}":[\n' + ",\n".join(json.dumps(row, separators=(",", ":")) for row in table) + "]"
        for key, table in rows.items()
    )
    return head[:-1] + "," + ",".join(bodies) + "}\n"


def again(trace: dict[str, Any]) -> dict[str, Any]:
    """Make a trace again from its own first members; one without a seed was made without."""
    asked = (trace["profile"], trace["variant"], trace["case"], trace["drops"])
    more = {key: trace[key] for key in ("limit", "delack_s") if key in trace}
    return make(*asked, packets=trace["npkts"], seed=trace.get("seed", 0), **more)


def check() -> int:
    """Make every trace again and name those that differ; what a script sets at time 0 is not compared."""
    different = 0
    for path in sorted(HERE.glob("*.json")):
        old = json.loads(path.read_text())
        new = again(old)
        later = [[row for row in trace["vars"] if row[0] > 0] for trace in (old, new)]
        if old["events"] != new["events"] or later[0] != later[1]:
            different += 1
            print(f"{path.name} differs")
    print(f"{len(list(HERE.glob('*.json')))} traces made again, {different} differ")
    return 1 if different else 0


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Make a trace with ns-2.35, or all of them again.")
    parser.add_argument("profile", nargs="?", choices=PROFILES)
    parser.add_argument("variant", nargs="?", choices=VARIANTS)
    parser.add_argument("case", nargs="?", help="ends the file's name")
    parser.add_argument("drops", nargs="*", metavar="PACKET,K", help="drop the K-th transmission of a packet")
    parser.add_argument("--packets", type=int, default=120, help="packets of data (default 120)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"for the phase of the clock (default {SEED})")
    parser.add_argument(
        "--limit", type=int, default=LIMIT, help=f"of the queue, as ns-2 counts (default {LIMIT})"
    )
    parser.add_argument(
        "--delack", type=float, default=0, help="longest that an ACK waits, s (default 0: not at all)"
    )
    given = parser.parse_args()
    if given.profile is None:
        return check()
    if given.case is None:
        parser.error("a trace needs PROFILE, VARIANT and CASE")
    drops = [[int(number) for number in word.split(",")] for word in given.drops]
    trace = make(
        given.profile, given.variant, given.case, drops, given.packets, given.seed, given.limit, given.delack
    )
    path = HERE / f"{given.profile}_{given.variant}_{given.case}.json"
    path.write_text(text(trace))
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
