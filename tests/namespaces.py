"""What tests on real packets share: namespaces without names, tools that may be missing, the eBPF program."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


def namespace(command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a network and a mount namespace without a name."""
    unshare = ["unshare", "--net", "--mount", "--fork", "--kill-child"]
    if os.geteuid():
        unshare.append("--map-root-user")
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    return subprocess.run(
        [*unshare, *command], capture_output=True, text=True, check=False, timeout=100,
        env={**os.environ, "PATH": path, **more},
    )  # fmt: skip


def need(*tools: str) -> None:
    for tool in ("unshare", "ip", *tools):
        if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            pytest.skip(f"{tool} is not installed")
    tried = namespace(["true"])
    if tried.returncode:
        pytest.skip(f"no namespaces: {tried.stderr.strip()}")


def compiled(folder: Path) -> Path:
    """Compile the program, or skip where it cannot be, or cannot be loaded."""
    need("clang", "bpftool", "tc", "make")
    if not Path("/usr/include/bpf/bpf_helpers.h").exists():
        pytest.skip("the headers of libbpf are not installed")
    made = folder / "ackmark.bpf.o"
    done = subprocess.run(["make", "-C", DEPLOY, f"OUT={made}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    load = f"mount -t bpf bpf /sys/fs/bpf && bpftool prog loadall {made} /sys/fs/bpf/try"
    tried = namespace(["sh", "-c", load])
    if tried.returncode and "not permitted" in tried.stderr + tried.stdout:
        pytest.skip("BPF is not allowed here")
    assert tried.returncode == 0, tried.stderr
    return made
