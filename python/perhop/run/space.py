"""Room for a run, checked before it starts: memory for its tables, disk for its traces."""

from __future__ import annotations

import errno
import resource
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_ROOT = Path("/")
_LITTLE = 16_000_000
"""Bytes below which what there was within the last second is taken for what there is."""

BYTES_A_HOP = {"packets": 12.0, "queue": 7.0, "cwnd": 1.5, "tcp": 17.0}
"""What traces take on the disk for each estimated packet-hop: measured once, with a hundred flows."""


def check_memory(needed: int, runs: int = 1) -> None:
    """Refuse so many runs at once that need more memory than the machine or a limit leaves.

    The MemoryError says how much is needed and how much there is.
    """
    # a small run costs less than looking, and most come one after the other
    second = int(time.monotonic()) if needed < _LITTLE else time.monotonic()
    available = _available_memory(second)
    if needed > available:
        which, mend = "this run", "take a longer run.interval"
        if runs > 1:
            which, mend = f"{runs} runs at once", f"take fewer at once, or {mend[5:]}"
        raise MemoryError(
            f"series and flows of {which} need about {_size(needed)} of memory, and {_size(available)} are "
            f"free: {mend}"
        )


def check_disk(folder: Path, trace: Sequence[str], hops: float) -> None:
    """Refuse traces of so many packet-hops (`Scenario.work`) that the disk surely has no room for.

    `folder` need not be there yet. The OSError, where there is less room than half of the estimate, names it.
    """
    needed = int(hops * sum(BYTES_A_HOP[kind] for kind in trace))
    there = next(parent for parent in (folder, *folder.resolve().parents) if parent.is_dir())
    free = shutil.disk_usage(there).free
    if needed // 2 > free:
        message = f"the traces need about {_size(needed)} and {_size(free)} are free"
        raise OSError(errno.ENOSPC, message, str(folder))


@lru_cache(maxsize=1)
def _available_memory(_second: float) -> int:
    """Return how much memory this process can still get, bytes."""
    process = _ROOT / "proc"
    lines = dict(line.split(":") for line in (process / "meminfo").read_text().splitlines())
    free = [int(lines["MemAvailable"].split()[0]) * 1024, *_left_by_groups()]
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        pages = int((process / "self/statm").read_text().split()[0])
        free.append(limit - pages * resource.getpagesize())
    return max(0, min(free))


def _left_by_groups() -> Iterator[int]:
    """Return the bytes that each control group of this process leaves of its limit, if any.

    A limit holds for a group and all below it. Version 2 has one tree, version 1 one for memory. A container
    may see its own group as the root, or not see the path that it is told: what is there is read.
    """
    with suppress(OSError):
        for line in (_ROOT / "proc/self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds not in ("", "memory"):
                continue
            tree = _ROOT / "sys/fs/cgroup" / kinds
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            limit, used, cached = names if kinds else ("memory.max", "memory.current", "inactive_file")
            own = tree / path.lstrip("/")
            for group in (own, *own.parents):
                # "max" is no limit; a file that is not there neither
                with suppress(OSError, ValueError):
                    most = int((group / limit).read_text())
                    stat = dict(row.split() for row in (group / "memory.stat").read_text().splitlines())
                    # the cache of files gives way when memory is short
                    yield most - int((group / used).read_text()) + int(stat.get(cached, 0))
                if group == tree:
                    break


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
