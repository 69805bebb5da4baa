"""Every class of bad input: the exit status, a message that names what is wrong, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.papers.folder import own_folder

# what is replaced in the valid scenario, by what, and a word of the message
MISTAKES = {
    "unknown key": ('duration = "20s"', 'duraton = "20s"', "duration"),
    "unknown table": ("[[flow]]", "[[flwo]]", "flow"),
    "bare number": ('delay = "0ms"', "delay = 5", "delay"),
    "missing unit": ('delay = "0ms"', 'delay = "5"', "delay"),
    "wrong unit": ('delay = "0ms"', 'delay = "5kB"', "delay"),
    "out of range": ("share = 0.5", "share = 1.5", "share"),
    "relation": ('warmup = "5s"', 'warmup = "30s"', "warmup"),
    "no such node": ('to = "fast"\ntcp', 'to = "fsat"\ntcp', "fsat"),
    "no such kind": ('"paired-counter"', '"paired-countre"', "paired-counter"),
    "no such class": ('data = "data"', 'data = "dat"', "dat"),
    "duplicate node": ('name = "fast"', 'name = "slow"', "slow"),
    "duplicate flow": ('name = "up"', 'name = "down"', "down"),
    "window below one segment": ('window = "64KiB"', 'window = "100B"', "window"),
    "missing duration": ('duration = "20s"', "", "duration"),
    "negative": ('duration = "20s"', 'duration = "-20s"', "duration"),
    "unreachable": ('name = "slow"        #', 'name = "slow"\n[[node]]\nname = "alone"        #', "alone"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_file_is_named_with_its_place(cli: Cli, two_way: Path, mistake: str) -> None:
    before, after, word = MISTAKES[mistake]
    text = two_way.read_text()
    assert before in text
    text = text.replace(before, after)
    if mistake == "unreachable":
        text = text.replace('from = "slow"\nto = "fast"', 'from = "alone"\nto = "fast"')
    two_way.write_text(text)
    done = cli("check", two_way)
    assert done.code == ExitCode.INVALID
    assert word in done.out
    assert "two-way.toml" in done.out
    found = cli("check", two_way, "--json").json()["files"][0]["diagnostics"]
    assert found
    assert {"path", "line", "column", "value", "rule", "hint", "count", "rendered"} == set(found[0])
    done = cli("run", two_way)
    assert done.code == ExitCode.INVALID
    assert word in done.err
    assert "Traceback" not in done.err
    assert not Path("out").exists()


def test_all_mistakes_in_one_pass(cli: Cli, two_way: Path) -> None:
    text = (
        two_way.read_text().replace('warmup = "5s"', 'warmup = "30s"').replace("share = 0.5", "share = 1.5")
    )
    two_way.write_text(text.replace('to = "slow"', 'to = "solw"'))
    found = cli("check", two_way, "--json").json()["files"][0]["diagnostics"]
    assert len(found) >= 3
    assert "did you mean" in json.dumps(found).lower()


def test_of_many_mistakes_the_first_are_told_and_the_others_counted(cli: Cli, two_way: Path) -> None:
    drop = f'drop = {{ flow = "up", packets = [{"7, " * 2000}] }}'
    link = '[[link]]\nends = ["x", "y"]\nrate = "1Mbit/s"\n'
    two_way.write_text(two_way.read_text() + link + drop)
    done = cli("check", two_way)
    assert done.code == ExitCode.INVALID
    assert "× and 1902 more, from here on" in done.out
    assert done.out.endswith("two-way.toml: 2002 mistakes\n")
    assert len(done.out) < 100_000
    found = cli("check", two_way, "--json").json()["files"][0]["diagnostics"]
    assert (len(found), found[-1]["count"], found[-1]["path"]) == (101, 1902, "")


@pytest.mark.parametrize(
    "content",
    [b"", b"run = [", b"\xff\xfe\x00run", b"# only a comment\n", b"\x00" * 100, b"a = 1\n" * 20_000_000],
    ids=["empty", "not TOML", "not UTF-8", "comment", "zeros", "huge"],
)
def test_files_that_are_no_scenario(cli: Cli, content: bytes) -> None:
    Path("file.toml").write_bytes(content)
    done = cli("check", "file.toml")
    assert done.code == ExitCode.INVALID
    assert "file.toml" in done.out
    done = cli("run", "file.toml")
    assert done.code == ExitCode.INVALID
    assert "file.toml" in done.err


@pytest.mark.parametrize("name", ["missing.toml", "."])
@pytest.mark.parametrize("command", ["check", "run", "describe"])
def test_files_that_cannot_be_read(cli: Cli, command: str, name: str) -> None:
    done = cli(command, name)
    assert done.code == ExitCode.USAGE
    first, *hints = done.err.splitlines()
    assert first.startswith(f"error: {name}: ")
    # a folder may be meant as a study, and `check` reads those
    assert hints == (
        ["hint: perhop init --study NAME writes one"] if (command, name) == ("check", ".") else []
    )


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_missing_file_is_told_what_is_called_nearly_so(cli: Cli, two_way: Path, command: str) -> None:
    done = cli(command, "two-wya.toml")
    assert done.err == f"error: two-wya.toml: No such file or directory\nhint: there is {two_way}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("-s", "run.seed"), ExitCode.USAGE, "run.seed"),
        (("-s", "run.sed=2"), ExitCode.INVALID, "sed"),
        (("-s", "nothing.here=2"), ExitCode.INVALID, "nothing"),
        (("-s", "port.slow-fast.scheduler.share=2"), ExitCode.INVALID, "share"),
        (("-s", "flow.nobody.tcp.window=1kB"), ExitCode.INVALID, "nobody"),
        (("-s", "=3"), ExitCode.USAGE, "no path"),
        (("-s", "run.seed=x"), ExitCode.INVALID, "seed"),
        (("--until", "60"), ExitCode.USAGE, "not a time"),
        (("--until", "1e15s"), ExitCode.USAGE, "not a time"),
        (("--until", "9999999999s"), ExitCode.INVALID, "duration"),
        (("--seed", "9223372036854775808"), ExitCode.USAGE, "the most allowed"),
        (("--seed", "-1"), ExitCode.USAGE, "seed"),
        (("--seed", "x"), ExitCode.USAGE, "seed"),
        (("--trace", "queue,dreams"), ExitCode.USAGE, "dreams"),
        (("--nonsense",), ExitCode.USAGE, "--nonsense"),
    ],
)
def test_options_that_cannot_be(
    cli: Cli, two_way: Path, arguments: tuple[str, ...], code: ExitCode, word: str
) -> None:
    done = cli("run", two_way, *arguments)
    assert done.code == code
    assert word in done.err
    assert "internal" not in done.err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "x.toml", "--seed", "abc"), "--seed: 'abc' is not a whole number"),
        (("run", "x.toml", "--seed", "-1"), "--seed: -1 is below 0, the least allowed"),
        (("reproduce", "-j", "0"), "--jobs: 0 is below 1, the least allowed"),
        (
            ("init", "--pack", "foo"),
            "--pack: 'foo' is not one of 'two-way', 'diffserv', 'access', 'line', 'docsis', 'lte', "
            "'enterprise', 'tutorial', 'lesson-bufferbloat', 'lesson-red', 'lesson-af', 'lesson-upload', "
            "'lesson-recoveries', 'lesson-chance'",
        ),
    ],
    ids=["no number", "negative", "no jobs", "no pack"],
)
def test_a_bad_value_of_an_option_is_told_in_plain_words(
    cli: Cli, arguments: tuple[str, ...], message: str
) -> None:
    done = cli(*arguments)
    assert done.code == ExitCode.USAGE
    assert done.err.splitlines() == [f"error: {message}", f"hint: perhop {arguments[0]} --help"]


def test_a_missing_file_does_not_hide_what_is_said_of_others(cli: Cli, two_way: Path) -> None:
    Path("bad.toml").write_text("a = 1\n")
    done = cli("check", two_way, "missing.toml", "bad.toml")
    assert done.code == ExitCode.USAGE
    assert "two-way.toml: valid\n" in done.out
    assert "bad.toml: " in done.out
    assert done.err == "error: missing.toml: No such file or directory\n"
    done = cli("check", two_way, "missing.toml", "--json")
    assert [file["file"] for file in done.json()["files"]] == ["two-way.toml"]


@pytest.mark.parametrize(
    "arguments",
    [("check", "n\udcff.toml"), ("run", "x", "-o", "o\udcff"), ("run", "x", "-s", "run.seed=\udcff")],
    ids=["file", "folder", "override"],
)
def test_a_name_that_is_not_text_is_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code == ExitCode.USAGE
    assert re.fullmatch(r"error: `[^\\]*\\xff.*` is not text in UTF-8\nhint: use another name\n", done.err)


@pytest.mark.usefixtures("undrawn")
def test_a_folder_above_whose_name_is_not_text_is_no_obstacle(cli: Cli, two_way: Path) -> None:
    place = Path("\udcff")
    place.mkdir()
    os.chdir(place)
    assert cli("run", Path("..") / two_way, "-o", "run", "--trace", "tcp", "--report").code == 0
    assert cli("replay", "run").code == 0


@pytest.mark.parametrize("arguments", [("frobnicate",), ("run",), ("reproduce", "nobody")])
def test_commands_that_cannot_be(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code == ExitCode.USAGE
    assert done.err.startswith("error: ")


def test_a_study_with_a_damaged_file_is_told_which(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(own_folder("feroz"), "own/feroz")
    Path("own/feroz/calibration.toml").write_text("[[parameter]\n")
    monkeypatch.setattr("perhop.papers.folder.OWN", Path("own"))
    done = cli("reproduce", "feroz", "--calibrate")
    assert done.code == ExitCode.INVALID
    assert re.match(
        r"error: .*/feroz/calibration.toml: .*\(at line 1, column 12\)\nhint: .*restore", done.err
    )


def test_a_defect_is_told_in_two_lines_and_traced_on_request(
    cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("perhop.run.run.run", broken)
    done = cli("run", two_way)
    assert done.code == ExitCode.INTERNAL
    assert done.err.splitlines() == [
        "internal error: ZeroDivisionError: a defect",
        "to see where: perhop --debug run two-way.toml",
    ]
    with pytest.raises(ZeroDivisionError):
        cli("--debug", "run", two_way)


def test_a_panic_of_the_core_is_a_defect_and_not_a_way_to_leave(
    cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    def raising(error: BaseException) -> None:
        def broken(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("perhop.run.run.run", broken)

    raising(panic("index out of bounds"))
    done = cli("run", two_way)
    assert done.code == ExitCode.INTERNAL
    assert done.err.splitlines() == [
        "internal error: PanicException: index out of bounds",
        "to see where: perhop --debug run two-way.toml",
    ]
    with pytest.raises(panic):
        cli("--debug", "run", two_way)
    raising(KeyboardInterrupt())
    assert cli("run", two_way).code == ExitCode.INTERRUPTED
    raising(SystemExit(9))
    with pytest.raises(SystemExit):
        cli("run", two_way)


def test_a_missing_core_is_told_with_what_builds_it(process: Cli, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['perhop._core'] = None\n")
    done = process("schema", PYTHONPATH=str(tmp_path))
    assert done.code == ExitCode.MACHINE
    assert done.err == "error: the compiled core is missing\nhint: make build\n"
    done = process("doctor", PYTHONPATH=str(tmp_path))
    assert done.code == ExitCode.MACHINE
    assert "make build" in done.out


def test_a_case_that_is_none_is_refused_before_anything_is_built(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("something is built"))
    done = cli("bench", "--case", "fifo-100", "--case", "nosuch")
    assert done.code == ExitCode.USAGE
    assert done.err.startswith("error: --case nosuch: no such case\nhint: choose among full-100, ")


def test_bench_needs_the_source_checkout(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perhop.run.record.checkout", lambda: None)
    done = cli("bench", "--json")
    assert done.code == ExitCode.MACHINE
    assert "source checkout" in done.err
