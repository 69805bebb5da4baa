"""Where commands write and where they refuse to, and run folders that cannot be trusted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.cli.exit import ExitCode
from perhop.run import run as running
from perhop.run.folder import write_file

TWO = ("kalampoukas", "laatu")
"""Studies in the place of all, which take seconds to read."""


def test_force_is_advised_only_where_it_is_heeded(cli: Cli, run_folder: Path) -> None:
    Path("file").write_text("mine")
    for place in (".", "file", "/dev/null"):
        done = cli("run", "two-way.toml", "-o", place)
        assert done.code == ExitCode.USAGE
        assert done.err.startswith(f"error: {place} exists and is ")
        assert "\nhint: give another folder with -o" in done.err
        assert "replace it with --force" not in done.err
    assert "--force" in cli("run", "two-way.toml", "-o", run_folder).err


def test_a_run_is_replaced_only_with_nothing_else_in_it(cli: Cli, run_folder: Path) -> None:
    notes = run_folder / "notes.txt"
    notes.write_text("years of work")
    done = cli("run", "two-way.toml", "-o", run_folder, "--force")
    assert done.code == ExitCode.USAGE
    assert done.err.startswith("error: run exists and holds other files than a run's: it is left alone\n")
    assert notes.read_text() == "years of work"


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "force"])
@pytest.mark.parametrize("target", ["run", "nothing"])
def test_a_link_is_neither_followed_nor_replaced(
    cli: Cli, run_folder: Path, target: str, force: tuple[str, ...]
) -> None:
    before = run_folder.joinpath("record.json").stat().st_mtime_ns
    link = Path("link")
    link.symlink_to(Path(target).absolute())
    done = cli("run", "two-way.toml", "-o", link, *force)
    assert done.code == ExitCode.USAGE
    assert done.err.startswith("error: link is a link, which is neither followed nor replaced\n")
    with pytest.raises(FileExistsError, match="is a link"):
        Scenario.load("two-way.toml", ("run.duration=6s",)).run().save(link, replace=True)
    assert link.is_symlink()
    assert run_folder.joinpath("record.json").stat().st_mtime_ns == before
    assert not Path("nothing").exists()
    # one on the way there is no matter
    Path("here").symlink_to(Path.cwd())
    assert cli("run", "two-way.toml", "-o", "here/there").code == 0


def test_why_force_does_not_apply_is_told(cli: Cli, two_way: Path) -> None:
    Path("mine").mkdir()
    Path("file").write_text("mine")
    for place, why in (("mine", "is not the folder of a run"), ("file", "is no folder")):
        done = cli("run", two_way, "-o", place, "--force")
        assert done.code == ExitCode.USAGE
        assert done.err.startswith(f"error: {place} exists and {why}: it is left alone\n")
        assert "hint: give another folder with -o" in done.err
        assert ("--force replaces the folder of a run and nothing else" in done.err) == (place == "mine")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("command", [("report", "run"), ("schema",)], ids=["report", "schema"])
def test_a_dash_is_standard_output(cli: Cli, run_folder: Path, command: tuple[str, ...]) -> None:
    done = cli(*command, "-o", "-")
    assert (done.code, done.err) == (0, "")
    if command[0] == "report":
        assert cli("report", run_folder).code == 0
        assert done.out == (run_folder / "report.html").read_text() + "\n"
        assert cli(*command, "-o", "-", "--json").code == ExitCode.USAGE
    else:
        assert done.out == cli("schema").out
    assert not Path("-").exists()


def test_a_folder_that_came_into_being_during_a_run_is_left_alone(
    cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = running.run

    def run(scenario: Any, **settings: Any) -> Any:
        Path("here").mkdir()
        Path("here/notes.txt").write_text("years of work")
        return whole(scenario, **settings)

    monkeypatch.setattr(running, "run", run)
    done = cli("run", two_way, "-o", "here")
    assert done.code == ExitCode.STORE
    assert done.err == (
        "error: here came into being meanwhile and is left alone; "
        f"what was written is in {Path('here-2').resolve()}\n"
    )
    assert [path.name for path in Path("here").iterdir()] == ["notes.txt"]
    assert StoredRun.load("here-2").record.seed == 1


def test_of_two_runs_into_one_folder_the_second_is_refused(
    cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = running.run

    def run(scenario: Any, **settings: Any) -> Any:
        monkeypatch.setattr(running, "run", whole)
        for force in ((), ("--force",)):
            second = cli("run", two_way, "--seed", "2", "-o", "here", *force)
            assert second.code == ExitCode.STORE
            assert second.err.startswith("error: here: another command is writing it, in ")
        return whole(scenario, **settings)

    monkeypatch.setattr(running, "run", run)
    assert cli("run", two_way, "-o", "here").code == 0
    assert StoredRun.load("here").record.seed == 1
    assert not Path("here.partial").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_report_is_written_through_no_link_and_over_no_other_file(cli: Cli, run_folder: Path) -> None:
    page, victim = run_folder / "report.html", Path("victim")
    victim.write_text("precious")
    page.symlink_to(victim.resolve())
    for arguments in (("report", run_folder), ("report", run_folder, "-o", page)):
        done = cli(*arguments)
        assert (done.code, done.err.splitlines()[0]) == (
            ExitCode.USAGE,
            "error: run/report.html is a link",
        )
    assert victim.read_text() == "precious"
    assert cli("report", run_folder, "--force").code == 0
    assert victim.read_text() == "precious"
    assert not page.is_symlink()
    assert cli("report", run_folder).code == 0

    page.write_text("my own page")
    assert cli("report", run_folder).err.startswith("error: run/report.html exists\n")
    assert page.read_text() == "my own page"


@pytest.mark.parametrize("name", ["x.pdf", "x.svg", "x.png", "x.CSV", "x.html.gz"])
def test_a_report_is_html_under_no_other_name(cli: Cli, run_folder: Path, name: str) -> None:
    done = cli("report", run_folder, "-o", name)
    assert done.code == ExitCode.USAGE
    assert done.err.startswith(f"error: -o {name}: a report is a page (HTML)")
    assert "write x" in done.err
    assert not Path(name).exists()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["x.html", "x.htm", "x", "x.2"])
def test_a_report_may_have_a_name_that_promises_nothing_else(cli: Cli, run_folder: Path, name: str) -> None:
    assert cli("report", run_folder, "-o", name).code == 0


def test_a_name_that_is_too_long_is_refused_before_anything_runs(cli: Cli, two_way: Path) -> None:
    done = cli("run", two_way, "-o", "x" * 256)
    assert (done.code, done.err) == (ExitCode.USAGE, f"error: {'x' * 256}: File name too long\n")
    assert cli("run", two_way, "-o", "x" * 255).code == 0


def test_an_existing_folder_is_replaced_only_when_asked_and_only_if_it_is_a_run(
    cli: Cli, two_way: Path
) -> None:
    assert cli("run", two_way, "-o", "here").code == 0
    first = Path("here/record.json").read_text()
    assert cli("run", two_way, "-o", "here", "--seed", "2").code == ExitCode.USAGE
    assert Path("here/record.json").read_text() == first
    assert cli("run", two_way, "-o", "here", "--seed", "2", "--force").code == 0
    assert json.loads(Path("here/record.json").read_text())["seed"] == 2

    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    done = cli("run", two_way, "-o", "mine", "--force")
    assert done.code == ExitCode.USAGE
    assert Path("mine/thesis.txt").read_text() == "years of work"
    assert sorted(path.name for path in Path().glob("*.partial-*")) == []


@pytest.mark.parametrize("command", ["report", "replay"])
@pytest.mark.parametrize(
    "damage", ["missing", "no record", "not JSON", "newer", "field lost", "table lost", "table cut"]
)
def test_run_folders_that_cannot_be_trusted(cli: Cli, run_folder: Path, command: str, damage: str) -> None:
    record = run_folder / "record.json"
    if damage == "missing":
        run_folder = Path("nowhere")
    elif damage == "no record":
        record.unlink()
    elif damage == "not JSON":
        record.write_text("{")
    elif damage == "newer":
        record.write_text(re.sub('"format": [0-9]+', '"format": 99', record.read_text()))
    elif damage == "field lost":
        record.write_text(record.read_text().replace('"seed"', '"sead"'))
    elif damage == "table lost":
        (run_folder / "flows.parquet").unlink()
    else:
        (run_folder / "flows.parquet").write_bytes((run_folder / "flows.parquet").read_bytes()[:100])
    done = cli(command, run_folder)
    assert done.code == (ExitCode.USAGE if damage == "missing" else ExitCode.STORE)
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", ["report", "replay"])
@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"[]", "Expected `object`, got `array`"),
        (b"\xff", "JSON is malformed: invalid character (byte 0)"),
        (b'{"command": "\xff"}', "'utf-8' codec can't decode byte 0xff"),
        (b'{"format": ' + b"[" * 100_000, "maximum recursion depth exceeded"),
        ({"counts": {"a": 1}}, "Object missing required field `events` - at `$.counts`"),
        ({"host": {"a": 1}}, "Object missing required field `platform` - at `$.host`"),
        ({"host": []}, "Expected `object`, got `array` - at `$.host`"),
        ({"format": None}, "Expected `int`, got `null` - at `$.format`"),
        ({"results_version": -1}, "results_version, seed or replication is out of range"),
        ({"seed": 10**400}, "results_version, seed or replication is out of range"),
    ],
    ids=["array", "no text", "no UTF-8", "deep", "counts", "host", "host array", "format", "version", "seed"],
)
def test_a_damaged_record_is_told_with_what_is_wrong(
    cli: Cli, run_folder: Path, command: str, content: bytes | dict[str, object], wrong: str
) -> None:
    record = run_folder / "record.json"
    if isinstance(content, dict):
        content = json.dumps(json.loads(record.read_text()) | content).encode()
    record.write_bytes(content)
    done = cli(command, run_folder)
    assert done.code == ExitCode.STORE
    assert done.err.startswith(f"error: run/record.json is damaged: {wrong}")


@pytest.mark.parametrize("command", [("run", "two-way.toml"), ("reproduce", "--quick")], ids=" ".join)
def test_a_place_that_cannot_be_written_is_told_before_anything_runs(
    cli: Cli, two_way: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("ran")

    monkeypatch.setattr("perhop.run.run.run", never)
    monkeypatch.setattr("perhop.run.run.run_jobs", never)
    monkeypatch.setattr("perhop.cli.reproduce.PAPERS", TWO)
    Path("file").write_text("mine")
    before = sorted(Path().iterdir())
    for place in ("file/deep/run", "file"):
        done = cli(*command, "-o", place)
        assert done.code == ExitCode.USAGE
        assert done.err.startswith(f"error: {place}")
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (
            ("run", "two-way.toml", "--trace", "packets", "-o", "small/new/run"),
            "new/run/trace.packets.parquet",
        ),
        (
            ("run", "two-way.toml", "--until", "5.1s", "--trace", "tcp", "-o", "small/run"),
            "run/trace.tcp.csv",
        ),
        (("init", "small/new/lab"), "new/lab/perhop.schema.json"),
        (("schema", "-o", "small/file.json"), "file.json"),
    ],
    ids=["packets", "tcp", "init", "schema"],
)
def test_a_full_disk_is_told_with_the_file_and_nothing_is_left(
    cli: Cli,
    two_way: Path,
    small_disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    file: str,
) -> None:
    # the disk fills up meanwhile
    monkeypatch.setattr("perhop.run.space.check_disk", lambda *_: None)
    done = cli(*command)
    assert (done.code, done.err) == (ExitCode.MACHINE, f"error: small/{file}: No space left on device\n")
    assert list(small_disk.iterdir()) == []


def test_init_takes_away_only_what_it_wrote(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = write_file

    def write(file: Path, text: str) -> None:
        Path("README.md").write_text("years of work")
        whole(file, text)

    monkeypatch.setattr("perhop.run.folder.write_file", write)
    done = cli("init")
    assert (done.code, done.err) == (ExitCode.USAGE, "error: README.md: File exists\n")
    assert Path("README.md").read_text() == "years of work"
    assert [path.name for path in Path().iterdir()] == ["README.md"]


def test_a_study_never_replaces_a_folder_with_other_files(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perhop.cli.reproduce.PAPERS", TWO)
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    done = cli("reproduce", "--quick", "-o", "mine")
    assert done.code == ExitCode.USAGE
    assert "left alone" in done.err
    assert Path("mine/thesis.txt").read_text() == "years of work"
