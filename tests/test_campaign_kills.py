"""Campaigns that are killed, interrupted or lose workers: the next call goes on to the same table."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from perhop.experiment import ledger
from perhop.experiment.campaign import run_campaign
from perhop.experiment.definition import Campaign
from perhop.experiment.ledger import StoreError
from test_campaign_run import SCENARIO, Here, table

FILE = """
scenario = "y.toml"
set = ["run.duration=20s"]
replications = 8
[[factor]]
name = "rate"
path = "link.a-b.rate"
levels = ["2Mbit/s", "4Mbit/s"]
[[response]]
name = "goodput"
measure = "mean(flows.goodput_bit_s) by name"
[[response]]
name = "slowest"
measure = "mine.py:slowest"
"""
FUNCTION = """
def slowest(tables):
    return tables["flows"]["srtt_s"].max()
"""

LONGEST_S = 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a campaign file with its scenario."""
    (tmp_path / "y.toml").write_text(SCENARIO)
    (tmp_path / "mine.py").write_text(FUNCTION)
    (tmp_path / "c.toml").write_text(FILE)
    return tmp_path / "c.toml"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Give the table of a campaign that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "y.toml").write_text(SCENARIO)
    (folder / "mine.py").write_text(FUNCTION)
    (folder / "c.toml").write_text(FILE)
    run_campaign(Campaign.load(folder / "c.toml"), folder / "s", Here())
    return table(folder / "s")


@contextmanager
def running(*words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a process group of its own; nothing of it is left at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "perhop.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def done(store: Path) -> int:
    """Count finished runs, of a store that may not be there yet."""
    with suppress(ledger.StoreError, OSError), ledger.read(store) as book:
        return int(book.connection.execute("SELECT count(*) FROM run").fetchone()[0])
    return 0


def wait_for_more(store: Path, process: subprocess.Popen[str], before: int) -> None:
    """Wait until a run has finished since, or all have."""
    until = time.monotonic() + LONGEST_S
    while done(store) <= before and process.poll() is None:
        assert time.monotonic() < until, "no run finishes"
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    found = [Path(task, "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return [int(child) for text in found for child in text.split()]


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def disturb(store: Path, file: Path, kind: str, moment: float) -> None:
    """Go on with a campaign, and after a run and a moment kill something."""
    workers_wanted = "2" if kind == "worker" else "1"
    with running("campaign", "run", file, "-o", store, "-j", workers_wanted) as process:
        wait_for_more(store, process, done(store))
        time.sleep(moment)
        workers = children(process.pid) if process.poll() is None else []
        if kind == "all":
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        elif kind == "driver":
            process.kill()
        elif workers:
            with suppress(ProcessLookupError):
                os.kill(workers[0], signal.SIGKILL)
            _, err = process.communicate(timeout=LONGEST_S)
            assert process.returncode == 0, err
        process.wait(LONGEST_S)
        until = time.monotonic() + 10
        while any(map(is_alive, workers)):
            assert time.monotonic() < until, "a worker outlives its driver"
            time.sleep(0.02)


def finish(store: Path, file: Path) -> None:
    run_campaign(Campaign.load(file), store, Here())


def test_three_kills(file: Path, undisturbed: bytes, tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)  # what a failure shows, to draw the same moments again
    draw = random.Random(seed)
    store, kept = tmp_path / "s", 0
    for kind in ("all", "driver", "worker"):
        moment = draw.uniform(0.0, 0.2)
        disturb(store, file, kind, moment)
        assert done(store) >= kept, (kind, moment)
        kept = done(store)
    finish(store, file)
    assert table(store) == undisturbed
    with ledger.read(store) as book:
        # nothing was made twice: each row is the first and only one of its key
        assert book.connection.execute("SELECT count(*), max(finished) FROM run").fetchone() == (16, 16)


@pytest.mark.long
def test_twenty_kills_at_random_moments(file: Path, tmp_path: Path) -> None:
    file.write_text(FILE.replace("replications = 8", "replications = 100"))
    finish(tmp_path / "whole", file)
    seed = random.randrange(10**6)
    draw, store = random.Random(seed), tmp_path / "s"
    for number in range(20):
        disturb(store, file, draw.choice(["all", "all", "driver"]), draw.uniform(0.0, 0.5))
        if number % 7 == 6:
            # from the start again, now with a worker that dies
            other = tmp_path / f"w{number}"
            disturb(other, file, "worker", draw.uniform(0.0, 2.0))
            assert table(other) == table(tmp_path / "whole"), seed
    finish(store, file)
    assert table(store) == table(tmp_path / "whole"), seed


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_campaign_says_how_to_go_on(
    file: Path, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    store = tmp_path / "s"
    file.write_text(FILE.replace("replications = 8", "replications = 500"))  # more than there is time for
    with running("campaign", "run", file, "-o", store, "-j", "1") as process:
        wait_for_more(store, process, 0)
        workers = children(process.pid)
        # meanwhile others may look, and not write
        with ledger.read(store) as book:
            states = book.states()
        assert states["done"] + states["missing"] == 1000
        told = f"another campaign is at work on it: process {process.pid} on "
        with pytest.raises(StoreError, match=told), ledger.driven(store):
            pass
        # as a terminal does it: to all of the group
        os.killpg(process.pid, sent)
        out, err = process.communicate(timeout=LONGEST_S)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    assert f"{store}: {done(store)} of 1000 runs done, {1000 - done(store)} missing" in err
    assert f"; go on with: perhop campaign run {store}\n" in err
    assert not any(map(is_alive, workers))


def _dask(*words: str, log: Path) -> subprocess.Popen[bytes]:
    dask = Path(sys.executable).parent / "dask"
    with log.open("wb") as out:
        return subprocess.Popen([dask, *words], stdout=out, stderr=out, start_new_session=True)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Give the address of a Dask scheduler on this machine, and its two workers."""
    where = tmp_path / "scheduler.json"
    options = ["--no-dashboard", "--scheduler-file", str(where)]
    started = [
        _dask("scheduler", "--host", "127.0.0.1", "--port", "0", *options, log=tmp_path / "scheduler.log"),
        *(
            _dask("worker", "--no-nanny", "--nthreads", "1", *options, log=tmp_path / f"worker{i}.log")
            for i in range(2)
        ),
    ]
    try:
        until = time.monotonic() + LONGEST_S
        while not where.exists() or not where.read_text():
            assert time.monotonic() < until, "the scheduler does not start"
            time.sleep(0.05)
        yield json.loads(where.read_text())["address"].replace("tcp://", "dask://"), started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_dask_cluster_that_loses_a_worker(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], file: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    address, workers = cluster
    store = tmp_path / "s"
    with running("campaign", "run", file, "-o", store, "--executor", address) as process:
        wait_for_more(store, process, 0)
        workers[0].kill()
        _, err = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert table(store) == undisturbed
