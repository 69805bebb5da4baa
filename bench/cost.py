"""Instructions of a packet-hop in two short cases, beside those on record.

    bench/cost.py             count, and fail where a case costs over 3 % more than bench/cost.json has
    bench/cost.py --record    write bench/cost.json anew; say in CHANGELOG.md what costs more and why

valgrind's cachegrind counts (Debian package `valgrind`), so the figures are the same on every machine; they
are those of the compiler in rust-toolchain.toml. Each is the difference of two runs, up to a time and up to
twice that, so set-up is not in it.

Exit status: 0 no dearer, 1 dearer, 2 valgrind or cargo is not there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "bench/cost.json"
CASES = {"full-100": 1_500_000_000, "dumbbell-100": 1_300_000_000}
"""The first of the two times of each case, ns."""
SLACK = 1.03


def missing() -> str | None:
    """Return what is not installed and needed."""
    return next((name for name in ("valgrind", "cargo") if shutil.which(name) is None), None)


def count() -> dict[str, float]:
    """Build the benchmark and return the instructions of a packet-hop of each case."""
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet", "-p", "perhop-bench"], cwd=ROOT, check=True
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

    def run(case: str, until: int) -> tuple[int, int]:
        words = [target / "release/perhop-bench", "--once", "--case", case, "--until", str(until)]
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        done = subprocess.run([*valgrind, *words], capture_output=True, text=True, check=True)
        said = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
        assert said is not None, done.stderr
        return json.loads(done.stdout)["packet_hops"], int(said[1].replace(",", ""))

    costs = {}
    for case, until in CASES.items():
        (hops, counted), (more_hops, more_counted) = run(case, until), run(case, 2 * until)
        costs[case] = round((more_counted - counted) / (more_hops - hops), 1)
    return costs


def main() -> int:
    """Count, and compare or record."""
    if name := missing():
        print(f"{name} is not installed", file=sys.stderr)
        return 2
    costs = count()
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text(json.dumps(costs, indent=2) + "\n")
    before = json.loads(RECORD.read_text())
    for case, cost in costs.items():
        print(f"{case}: {cost} instructions a packet-hop, {before[case]} on record")
    return int(any(cost > SLACK * before[case] for case, cost in costs.items()))


if __name__ == "__main__":
    raise SystemExit(main())
