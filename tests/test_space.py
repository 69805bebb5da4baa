"""How much memory there is, by the machine and by control groups; runs at once are judged together."""

from __future__ import annotations

from pathlib import Path

import pytest

from perhop import Scenario
from perhop.run import space
from perhop.run.run import run_jobs

GB = 10**9
FREE = 8 * GB


def group(folder: Path, limit: str, used: int, *, cached: int = 0, version: int = 2) -> None:
    """Write the files of a control group."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current", "inactive_file")
    if version == 1:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cached}\n")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a machine with 8 GB free and no control groups."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {FREE // 1024} kB\n")
    (tmp_path / "proc/self/statm").write_text("1 1 1 1 0 1 0\n")
    monkeypatch.setattr("perhop.run.space._ROOT", tmp_path)
    space._available_memory.cache_clear()
    return tmp_path


def refused(needed: int) -> bool:
    """Tell whether a run that needs so many bytes is refused."""
    try:
        space.check_memory(needed)
    except MemoryError:
        return True
    return False


def test_without_groups_what_the_machine_has_free_counts(root: Path) -> None:
    assert not refused(FREE - 2048)
    assert refused(FREE + 2048)
    (root / "proc/self/cgroup").write_text("0::/user/run\n")
    assert not refused(FREE - 2048)


@pytest.mark.parametrize("where", ["a/b", "a", ""])
def test_a_limit_holds_for_what_is_below(root: Path, where: str) -> None:
    (root / "proc/self/cgroup").write_text("0::/a/b\n")
    tree = root / "sys/fs/cgroup"
    for name in ("", "a", "a/b"):
        group(tree / name, "max", 2 * GB)
    group(tree / where, str(5 * GB), 3 * GB, cached=GB // 2)
    assert not refused(5 * GB // 2)
    assert refused(5 * GB // 2 + 1)


def test_version_one_has_a_tree_for_memory(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("5:cpu,cpuacct:/a\n4:memory:/docker/x\n0::/\n")
    # a container is told a path that it does not see: its own group is the root
    group(root / "sys/fs/cgroup/memory", str(4 * GB), 3 * GB, version=1)
    assert not refused(GB)
    assert refused(GB + 1)


def test_a_group_above_its_limit_leaves_nothing(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/\n")
    group(root / "sys/fs/cgroup", str(GB), 2 * GB)
    with pytest.raises(MemoryError, match=r"and 0\.0 MB are free"):
        space.check_memory(1)


def test_runs_at_once_are_judged_together(root: Path) -> None:
    source = (Path(__file__).parents[1] / "python/perhop/starters/two-way/two-way.toml").read_bytes()
    jobs = [(source, "x", [f"run.replication={k}", "run.duration=2s", "run.warmup=0s"]) for k in range(4)]
    needed = Scenario(source, "x", tuple(jobs[0][2])).core.memory_bytes
    (root / "proc/self/cgroup").write_text("0::/\n")
    group(root / "sys/fs/cgroup", str(3 * needed), 0)
    assert len(run_jobs(jobs, 3)) == 4
    assert len(run_jobs(jobs[:2], 8)) == 2
    with pytest.raises(MemoryError, match="of 4 runs at once need"):
        run_jobs(jobs, 4)
