"""`perhop serve` as a process: how it begins, what it does, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import Cli
from serving import WAIT_S, Served, served_by, started

#: a run that does not end by itself while a test goes
LONG = {"value:run.duration": "9000000s", "value:run.interval": "1000s"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Start a server on what `perhop init lab` writes."""
    words = [sys.executable, "-m", "perhop.cli"]
    subprocess.run([*words, "init", "lab"], cwd=tmp_path, capture_output=True, check=True)
    with started(tmp_path, "lab", stderr=subprocess.PIPE) as server, served_by(*server) as served:
        yield served


def test_a_run_from_the_form_is_the_command_that_it_shows(served: Served, tmp_path: Path) -> None:
    form = {"value:run.duration": "15s", "value:flow.up.tcp.window": "16KiB", "name": "mine"}
    line = served.post("/check/0/two-way.toml", **form).json()["command"]
    assert line == "perhop run lab/two-way.toml -s run.duration=15s -s flow.up.tcp.window=16KiB -o lab/mine"
    begun = served.post("/run/0/two-way.toml", **form)
    assert str(begun.url) == f"{served.base}/jobs/1"
    told = served.events("/jobs/1")
    assert told[-1] == {"code": 0, "page": "/page/0/mine"}
    assert "Flows after the warm-up" in "".join(one.get("text", "") for one in told)
    record = json.loads((tmp_path / "lab" / "mine" / "record.json").read_text())
    assert record["overrides"] == ["run.duration=15s", "flow.up.tcp.window=16KiB"]
    page = served.client.get("/page/0/mine")
    assert page.status_code == 200
    printed = subprocess.run(
        [sys.executable, "-m", "perhop.cli", "report", "lab/mine", "-o", "-"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    body = printed.stdout.partition("<body>\n")[2].rstrip("\n")
    assert page.text.rstrip("\n").endswith(body)
    # the form of that run begins where it ended
    again = served.post("/check/0/mine", set="run.duration=15s", **{"value:run.seed": "5"}).json()["command"]
    assert again == "perhop run lab/mine/scenario.toml -s run.duration=15s -s run.seed=5 -o lab/mine-1"


def test_an_error_is_told_as_the_command_line_tells_it(served: Served, process: Cli) -> None:
    served.post("/run/0/two-way.toml", **{"value:run.duration": "0s", "name": "none"})
    told = served.events("/jobs/1")
    done = process("run", "lab/two-way.toml", "-s", "run.duration=0s", "-o", "lab/none")
    assert done.code == 3
    assert told[-1] == {"code": 3, "page": None}
    assert "".join(one["text"] for one in told[:-1] if one["stream"] == "stderr") == done.err


def test_a_campaign_is_run_and_its_page_shown(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "lab" / "campaign.toml"
    file.write_text(file.read_text().replace("run.duration=40s", "run.duration=15s"))
    served.post("/make/0/campaign.toml")
    assert served.events("/jobs/1")[-1] == {"code": 0, "page": "/page/0/lab"}
    assert "24 done" in served.client.get("/").text
    assert "What mattered" in served.client.get("/page/0/lab").text
    names = [f"share={share} delay=0ms window=small" for share in ("0.2", "0.5")]
    found = served.client.get("/treatments/0/lab", params={"of": names})
    assert "95 % intervals" in found.text
    assert "perhop compare lab/lab &#39;share=0.2 delay=0ms window=small&#39;" in found.text
    assert "95 % intervals" not in served.client.get("/treatments/0/lab", params={"of": ["--json", "x"]}).text


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_ends_with_its_runs_and_leaves_nothing_half_written(
    served: Served, tmp_path: Path, number: int, code: int
) -> None:
    served.post("/run/0/two-way.toml", **LONG, name="long")
    wait = time.monotonic() + WAIT_S
    while not list(tmp_path.glob("lab/*.partial")) and time.monotonic() < wait:
        time.sleep(0.1)
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
    assert children
    with served.client.stream("GET", "/jobs/1/events") as answer:
        assert answer.status_code == 200  # who follows a job does not keep the server from ending
        served.process.send_signal(number)
        assert served.process.wait(WAIT_S) == code
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert not list(tmp_path.glob("lab/*.partial"))
    assert not (tmp_path / "lab" / "long").exists()


def test_a_server_that_is_killed_leaves_no_run_behind(served: Served, tmp_path: Path) -> None:
    served.post("/run/0/two-way.toml", **LONG, name="long")
    wait = time.monotonic() + WAIT_S
    while not list(tmp_path.glob("lab/*.partial")) and time.monotonic() < wait:
        time.sleep(0.1)
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
    assert children
    served.process.kill()
    served.process.wait(WAIT_S)
    while any(_goes(child) for child in children) and time.monotonic() < wait:
        time.sleep(0.1)
    still = [child for child in children if _goes(child)]
    for child in still:
        os.kill(int(child), signal.SIGKILL)
    assert not still
    assert not list(tmp_path.glob("lab/*.partial"))


def _goes(process: str) -> bool:
    """Tell whether a process has not ended; one that nobody waits for has."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_run_can_be_ended_and_no_more_go_than_there_are_cores(served: Served) -> None:
    most = max(2, os.cpu_count() or 1)
    for number in range(most):
        served.post("/run/0/two-way.toml", **LONG, name=f"long{number}")
    busy = served.post("/run/0/two-way.toml", name="one-more")
    assert busy.status_code == 409
    assert f"{most} commands are going" in busy.text
    served.post("/jobs/1/end")
    assert served.events("/jobs/1")[-1] == {"code": 143, "page": None}
    assert served.post("/run/0/two-way.toml", name="one-more").status_code == 200


def test_a_port_that_is_taken_is_told(process: Cli, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = process("serve", tmp_path, "--port", str(port))
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"error: --port {port}: the port is taken on 127.0.0.1\nhint: give another, or none for a free one\n"
    )


def test_a_place_that_cannot_be_shown_is_told(process: Cli, tmp_path: Path) -> None:
    done = process("serve", "nowhere")
    assert (done.code, done.err) == (2, "error: nowhere: No such file or directory\n")
    file = tmp_path / "lesson.md"
    file.write_text("# A lesson")
    done = process("serve", file)
    assert (done.code, done.err.splitlines()[0]) == (2, f"error: {file}: nothing that serve can show")


@pytest.mark.parametrize("name", ["starlette", "uvicorn"])
def test_what_is_not_installed_is_told_with_what_adds_it(tmp_path: Path, name: str) -> None:
    code = "import sys; sys.modules[sys.argv[1]] = None\n"
    code += "from perhop.cli.__main__ import main\nmain(['serve', '.'])"
    done = subprocess.run(
        [sys.executable, "-c", code, name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 7
    assert done.stderr == (
        f"error: perhop serve needs {name}, which is not installed\nhint: pip install 'perhop[ui]'\n"
    )


def test_it_listens_on_loopback_alone(served: Served) -> None:
    port = f"{int(served.base.rpartition(':')[2]):04X}"
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()
    ]
    listening = [words[1] for words in lines[1:] if words[1].endswith(f":{port}") and words[3] == "0A"]
    assert listening == [f"0100007F:{port}"]
