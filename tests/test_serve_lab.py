"""What `perhop serve` lists and makes: lessons, studies, recommendations, runs beside the run before."""

from __future__ import annotations

import doctest
import fcntl
import os
import pty
import re
import shutil
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import perhop.serve.text
from perhop import Scenario
from perhop.cli.__main__ import run as cli
from perhop.serve.places import UnknownPlaceError, kind_of, look_up
from perhop.serve.text import html
from serving import Served, served_by, started

SHORT = {"value:run.duration": "3s", "value:run.warmup": "1s"}


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a lesson, a study and a scenario with a campaign."""
    top = tmp_path_factory.mktemp("bench")
    for words in ("init {}", "init --pack lesson-bufferbloat {}/bufferbloat", "init --study {}/study"):
        assert cli(words.format(top / "lab").split()) == 0
    return top


@pytest.fixture(scope="module")
def served(top: Path) -> Iterator[Served]:
    with started(top, "lab") as server, served_by(*server) as served:
        yield served


def printed(served: Served, job: httpx.Response) -> str:
    """Return what a job printed until it ended."""
    told = served.events(job.url.path)
    return "".join(one["text"] for one in told[:-1])


def test_the_first_page_has_each_with_its_question_and_its_picture(served: Served) -> None:
    text = served.client.get("/").text
    for asked in (
        "Bufferbloat</b>",
        "5 questions.",
        "what does an upload do to a call and to pages?",
        "Two TCP connections in opposite directions over one asymmetric link",
        "what changes upload and download most, and how sure is that?",
        "Who gets how much of it?",
    ):
        assert asked in text, asked
    # one for the lesson, three scenarios
    assert text.count('<svg class="topology small"') == 4
    assert "perhop reproduce lab/study --quick -o lab/study-1" in text


def test_a_lesson_is_judged_by_its_command(served: Served, top: Path) -> None:
    page = served.client.get("/lesson/0/bufferbloat/lesson.toml").text
    assert "How long does a packet wait in the modem on average" in page
    answers = {"wait": "423 ms", "call": "1", "page": "4 s", "queue": "codel", "upload": '4"Mbit/s'}
    wrong = served.post("/lesson/0/bufferbloat/lesson.toml", student="Ann", seed="1", **answers)
    assert wrong.status_code == 422
    (told,) = re.findall(r'<p class="mistakes" id="(wrong-[^"]+)">must be a number with its unit', wrong.text)
    assert f'aria-invalid="true" aria-describedby="{told}"' in wrong.text
    assert 'value="4&#34;Mbit/s"' in wrong.text
    assert not [*(top / "lab").glob("*.answers.toml")]
    answers["upload"] = "4.6 Mbit/s"
    done = served.post("/lesson/0/bufferbloat/lesson.toml", student='A"nn', seed="1", **answers)
    assert 'A"nn: 5 of 5 right, on seed 1.' in printed(served, done)
    ended = served.client.get(done.url.path).text
    assert "<h1>The check of your predictions is done</h1>" in ended
    assert '<a href="/lesson/0/bufferbloat/lesson.toml">Back to the lesson</a>' in ended
    # one student with one seed has one file, another seed one more
    for seed, page in (("1", "9 s"), ("2", "9 s")):
        again = {**answers, "page": page}
        printed(served, served.post("/lesson/0/bufferbloat/lesson.toml", student='A"nn', seed=seed, **again))
    files = sorted((top / "lab").glob("*.answers.toml"))
    assert [one.name for one in files] == [f"bufferbloat-{k}.answers.toml" for k in (1, 2)]
    assert 'page = "9 s"' in files[0].read_text()
    assert served.post("/lesson/0/bufferbloat/lesson.toml", seed="one").status_code == 400


def test_a_lessons_text_is_a_page_with_its_answers_folded(served: Served) -> None:
    page = served.client.get("/lesson/0/bufferbloat/lesson.toml").text
    text = page[page.index('<div class="text">') : page.index('<form method="post">')]
    assert text.index("<details><summary>Answers</summary>") < text.index("<strong>2.</strong>")
    assert "<td><code>wait</code></td>" in text
    assert not re.search(r"```|\*\*|\|---|markdown=", text)
    assert 'placeholder="such as 2.5 Mbit/s"' in page
    assert doctest.testmod(perhop.serve.text) == (0, 2)
    assert "&lt;script&gt;" in html("<script>")


@pytest.mark.parametrize(
    "text", ["", "title = 1", 'title = "x"', 'title = "x"\nquestion = [{ key = "a b" }]', "title = "]
)
def test_a_lesson_that_cannot_be_read_is_told(served: Served, top: Path, text: str) -> None:
    file = top / "lab" / "bad" / "lesson.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert served.client.get("/lesson/0/bad/lesson.toml").status_code == 422
    assert 'class="mistakes"' in served.client.get("/").text
    file.unlink()


def test_a_run_is_beside_the_run_before(served: Served, top: Path) -> None:
    for name, window in (("one", "16KiB"), ("two", "8KiB")):
        form = {**SHORT, "value:flow.up.tcp.window": window, "name": name}
        told = served.events(served.post("/run/0/two-way.toml", **form).url.path)
        assert told[-1] == {"code": 0, "page": f"/page/0/{name}"}
    first = served.client.get("/page/0/one").text
    assert "Since the run before" not in first
    second = served.client.get("/page/0/two").text
    assert 'href="/page/0/one">lab/one</a>: <code>flow.up.tcp.window=8KiB</code>, no longer <code>' in second
    assert " in one; " in second.partition("<header>")[0]
    # one whose settings are changed for the next is the one before it
    served.events(served.post("/run/0/one", name="three", **SHORT).url.path)
    third = served.client.get("/page/0/three").text
    assert 'href="/page/0/one">lab/one</a>: no longer <code>flow.up.tcp.window=16KiB</code>' in third


def test_a_recommendation_is_asked_for_with_the_settings_of_the_form(served: Served) -> None:
    page = served.client.get("/form/0/bufferbloat/line.toml").text
    assert '<select id="goal" name="goal"><option value="household">' in page, "no port looks at marks"
    form = {"value:run.duration": "0s", "goal": "household"}
    job = served.post("/recommend/0/two-way.toml", **form)
    line = "perhop recommend lab/two-way.toml -s run.duration=0s --goal household -o lab/two-way-recommend-1"
    assert line in job.text
    assert "run.duration" in printed(served, job)
    assert served.post("/recommend/0/two-way.toml", goal="fame").status_code == 400


def test_a_study_is_reproduced_and_its_page_runs_no_script(served: Served, top: Path) -> None:
    assert kind_of(top / "lab" / "study" / "study.toml") == "study"
    told = served.events(served.post("/make/0/study/study.toml").url.path)
    assert told[-1] == {"code": 0, "page": "/page/0/study-1"}
    page = served.client.get("/page/0/study-1")
    assert "Claims against what was simulated" in page.text
    policy = page.headers["content-security-policy"]
    assert "script-src" not in policy
    assert policy.startswith("default-src 'none'")
    # a form in a file that anybody may have written presses nothing here
    assert "form-action 'none'" in policy
    assert look_up([top / "lab"], "0/study-1").kind == "reproduced"
    (top / "lab" / "study-1" / "report.html").write_text("<script>alert(1)</script>")
    assert served.client.get("/page/0/study-1").status_code == 422


def test_the_page_of_several_studies_leads_to_the_page_of_each(served: Served, top: Path) -> None:
    told = served.events(served.post("/make/0/study/study.toml").url.path)
    made, all_of_them = top / "lab" / told[-1]["page"].rpartition("/")[2], top / "lab" / "all"
    all_of_them.mkdir()
    for name in ("report.html", "result.json"):
        shutil.copy(made / name, all_of_them / name)
    made.rename(all_of_them / "study")
    page = served.client.get("/page/0/all")
    assert page.url.path == "/page/0/all/report.html", "what its links are relative to"
    assert served.client.get("/page/0/all/study/report.html").status_code == 200
    # what else lies in such a folder is no place
    shutil.copy(top / "lab" / "two-way.toml", all_of_them)
    with pytest.raises(UnknownPlaceError):
        look_up([top / "lab"], "0/all/two-way.toml")
    assert served.client.get("/form/0/all/two-way.toml").status_code == 404
    assert served.client.get("/page/0/two-way.toml/report.html").status_code == 404


def test_a_campaign_goes_into_no_folder_that_is_another_thing(served: Served) -> None:
    assert "perhop campaign run lab/study/campaign.toml -o lab/study-" in served.client.get("/").text


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"value:run.duration": "4000s"}, "Not run as you move: it takes too long. Press Run."),
        ({"value:run.duration": "0s"}, "Not run: the settings have a mistake."),
        ({"value:run.clock": "live"}, "Not run as you move: it runs on real packets. Press Run."),
    ],
)
def test_what_is_large_or_wrong_is_not_run_as_a_slider_moves(
    served: Served, given: dict[str, str], why: str
) -> None:
    path = "/try/0/bufferbloat/line.toml"
    assert served.post(path, **given).json() == {"why": why}


def test_what_a_slider_gives_is_what_the_run_gives(served: Served, top: Path) -> None:
    told = served.post("/try/0/bufferbloat/line.toml", **{"value:run.seed": "5"}).json()
    result = Scenario.load(top / "lab" / "bufferbloat" / "line.toml").override("run.seed=5").run()
    assert told["headings"][-2:] == [f"call {name}: MOS" for name in result.calls["name"]]
    assert told["cells"][-2:] == [f"{mos:.2f}" for mos in result.calls["mos"]]
    assert told["headings"][:3] == ["goodput", "lost", "95 % within"]


def test_a_flow_that_is_called_as_its_class_has_a_cell_of_its_own(served: Served) -> None:
    own = {f"value:flow.{name}.class": name for name in ("up", "down")}
    told = served.post("/try/0/two-way.toml", **SHORT, **own).json()
    assert [one for one in told["headings"] if one.endswith("goodput")] == [
        f"{what} {name}: goodput" for what in ("class", "flow") for name in ("up", "down")
    ]
    assert len(told["cells"]) == len({*told["headings"]}) == 8


def test_enter_where_it_runs_is_a_new_link(top: Path) -> None:
    keyboard, terminal = pty.openpty()

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with started(top, "lab", stdin=terminal, preexec_fn=own_terminal) as (process, first):
        assert process.stdout is not None
        os.write(keyboard, b"\n")
        second = process.stdout.readline().strip()
        assert second.partition("token=")[0] == first.partition("token=")[0]
        assert httpx.get(first).status_code == 403
        assert httpx.get(second).status_code == 303
    os.close(keyboard)
    os.close(terminal)


def test_a_key_of_another_program_is_left_and_enter_is_heard_later(top: Path) -> None:
    """Another program has the terminal, reads a line, and gives the terminal to the server."""
    (keyboard, terminal), (told, tell) = pty.openpty(), os.pipe()

    def in_the_background() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        own, signal_of = os.getpgrp(), signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        other = os.fork()
        if other == 0:
            os.dup2(tell, 1)
            os.closerange(3, 256)  # Popen waits for the end of a pipe of its own
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpgrp())
            os.write(1, b"1")
            time.sleep(1)
            os.read(0, 100)
            os.tcsetpgrp(0, own)
            os.write(1, b"2")
            os._exit(0)
        os.read(told, 1)
        signal.signal(signal.SIGTTOU, signal_of)

    more = {"stdin": terminal, "preexec_fn": in_the_background, "pass_fds": (told, tell)}
    with started(top, "lab", **more) as (process, first):
        assert process.stdout is not None
        assert httpx.get(first).status_code == 303
        os.write(keyboard, b"typed\n")
        assert os.read(told, 1) == b"2"
        os.write(keyboard, b"\n")
        assert httpx.get(process.stdout.readline().strip()).status_code == 303
    for one in (keyboard, terminal, told, tell):
        os.close(one)


def test_a_terminal_of_others_is_not_listened_to(top: Path) -> None:
    keyboard, terminal = pty.openpty()
    more = {"stdin": terminal, "start_new_session": True, "stderr": subprocess.PIPE}
    with started(top, "lab", **more) as (process, first):
        assert httpx.get(first).status_code == 303
        os.write(keyboard, b"\n")
        assert [httpx.get(first).status_code for _ in range(9)] == [403] * 9
        process.terminate()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    os.close(keyboard)
    os.close(terminal)
