"""Whether a run has room: memory for its tables, disk for its traces. Both are told before it starts."""

from __future__ import annotations

import errno
import resource
import shutil
from collections.abc import Sequence
from pathlib import Path

BYTES_A_HOP = {"packets": 12.0, "queue": 7.0, "cwnd": 1.5, "tcp": 17.0}
"""What traces take on the disk for each estimated packet-hop: measured once, with a hundred flows."""


def check_memory(needed: int) -> None:
    """Refuse a run that needs more memory than the machine or a limit (``ulimit -v``) leaves.

    Parameters
    ----------
    needed
        Bytes, as `Scenario.memory` estimates them.

    Raises
    ------
    MemoryError
        It does not fit; the text says how much is needed and how much there is.
    """
    available = _available_memory()
    if needed > available:
        raise MemoryError(
            f"series and flows of this run need about {_size(needed)} of memory, and {_size(available)} are "
            "free: take a longer run.interval"
        )


def check_disk(folder: Path, trace: Sequence[str], hops: float) -> None:
    """Refuse traces that the disk surely has no room for.

    Parameters
    ----------
    folder
        Where they go; it need not be there yet.
    trace
        Their kinds.
    hops
        Packets that cross links, as `Scenario.work` estimates them.

    Raises
    ------
    OSError
        There is less room than half of the estimate; the error names `folder`.
    """
    needed = int(hops * sum(BYTES_A_HOP[kind] for kind in trace))
    there = next(parent for parent in (folder, *folder.resolve().parents) if parent.is_dir())
    free = shutil.disk_usage(there).free
    if needed // 2 > free:
        told = f"the traces need about {_size(needed)} and {_size(free)} are free"
        raise OSError(errno.ENOSPC, told, str(folder))


def _available_memory() -> int:
    """Return how much memory this process can still get, bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = int(lines["MemAvailable"].split()[0]) * 1024
    if limit == resource.RLIM_INFINITY:
        return free
    return max(0, min(free, limit - pages * resource.getpagesize()))


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
