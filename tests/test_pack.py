"""`perhop pack` and what `perhop reproduce` makes of its file: elsewhere, damaged, and by a stranger."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path

import pytest

from conftest import Cli
from perhop.cli.exit import ExitCode
from perhop.cli.reproduce import VERIFY
from perhop.papers.packed import MOST_BYTES, MOST_FILES
from perhop.scenario.trust import TRUST

CITATION = "cff-version: 1.2.0\ntitle: A study\nauthors:\n  - name: Somebody\nlicense: CC-BY-4.0\n"


@pytest.fixture
def study(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(TRUST, "")  # what a command sets goes with the test
    assert cli("init", "--study", "mine").code == 0
    return Path("mine")


def test_a_study_is_reproduced_elsewhere_from_one_file(
    cli: Cli, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = json.loads(cli("pack", study, "--json").out)
    file = Path(packed["file"])
    assert file == Path("out/mine.zip")
    assert packed["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    own = json.loads(cli("reproduce", study, "--quick", "--json").out)
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    done = cli("reproduce", Path("..", file), "--quick", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert (found["claims"], found["rows"]) == (own["claims"], own["rows"])
    assert found["command"] == "perhop reproduce out/unpacked/mine --quick"
    assert sorted(path.name for path in Path("out").iterdir()) == ["mine", "mine.runs", "unpacked"]
    # what is packed again is the same file, though a study was run beside it
    assert (
        json.loads(cli("pack", "out/unpacked/mine", "-o", "again.zip", "--json").out)["sha256"]
        == packed["sha256"]
    )


def test_the_page_has_the_numbers_of_the_program() -> None:
    page = Path(__file__).parents[1].joinpath("docs", "artefacts.md").read_text()
    assert f"makes {VERIFY} of its runs again" in page
    assert f"most {MOST_FILES:,} files and {MOST_BYTES >> 30} GiB" in page


def test_what_an_artefact_lacks_is_said(cli: Cli, study: Path) -> None:
    (study / "README.md").unlink()
    done = cli("pack", study)
    assert done.code == 0
    for name in ("README.md", "CITATION.cff", "recorded/results.json"):
        assert f"no {name}: " in done.err
    (study / "CITATION.cff").write_text(CITATION.replace("license", "# license"))
    (study / "README.md").write_text("# A study")
    (study / "recorded").mkdir()
    (study / "recorded" / "results.json").write_text('{"results_version": 1}')
    done = cli("pack", study)
    assert "no `license` in CITATION.cff" in done.err
    assert (
        "recorded/results.json is of results version 1; perhop reproduce mine says whether it holds in"
        in done.err
    )
    (study / "recorded" / "results.json").write_text("[]")
    assert "recorded/results.json is no record" in cli("pack", study).err
    (study / "CITATION.cff").write_text(CITATION)
    assert "license" not in cli("pack", study).err
    assert cli("pack", study).out.startswith("out/mine.zip: 12 files, ")


def test_a_program_is_not_run_unless_it_is_trusted(cli: Cli, study: Path) -> None:
    (study / "study.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    done = cli("pack", study)
    assert "--trust alone: study.py" in done.err
    Path("ran").unlink()  # packing one's own study reads it
    refused = cli("reproduce", "out/mine.zip", "--quick")
    assert refused.code == ExitCode.USAGE
    assert "holds programs, which would run with all your rights: study.py" in refused.err
    assert not Path("ran").exists()
    assert not Path("out/unpacked").exists()
    assert cli("reproduce", "out/mine.zip", "--quick", "--trust").code == 0
    assert Path("ran").exists()
    assert os.environ[TRUST] == "yes"


def test_a_program_of_another_name_is_not_run_either(cli: Cli, study: Path) -> None:
    assert cli("init", "--element", "queue", "own").code == 0
    side_effect = f"open({str(Path('ran').resolve())!r}, 'w').close()"
    (study / "red.txt").write_text(f"{Path('own/red.py').read_text()}\n\n{side_effect}\n")
    fifo = '{ kind = "fifo", limit = "1000p" }'
    red = fifo.replace("fifo", 'python", file = "red.txt", name = "Red')
    red = red.replace(" }", ", settings = { min_th = 5, max_th = 15 } }")
    scenario = study / "two-way.toml"
    text = scenario.read_text()
    assert fifo in text
    scenario.write_text(text.replace(fifo, red, 1))
    assert cli("pack", study).code == 0
    assert not Path("ran").exists()
    refused = cli("reproduce", "out/mine.zip", "--quick")
    assert refused.code != 0
    assert "red.txt is a program, and programs of scenarios are not run here" in refused.err
    assert not Path("ran").exists()
    assert cli("reproduce", "out/mine.zip", "--quick", "--trust").code == 0
    assert Path("ran").exists()


def test_damage_ends_with_its_status_and_the_member(cli: Cli, study: Path) -> None:
    cli("pack", study)
    file = Path("out/mine.zip")
    whole = file.read_bytes()
    at = whole.index(b"A share of a slow link")
    file.write_bytes(whole[:at] + b"B" + whole[at + 1 :])
    done = cli("reproduce", file, "--quick")
    assert done.code == ExitCode.STORE
    assert "out/mine.zip: study.toml: damaged" in done.err
    assert "get the file again" in done.err
    assert not Path("out/unpacked/mine").exists()
    file.write_bytes(whole)
    assert cli("reproduce", file, "--quick").code == 0
    Path("out/unpacked/mine/claims.toml").write_text("")
    done = cli("reproduce", file, "--quick")
    assert done.code == ExitCode.STORE
    assert "is there and differs from out/mine.zip: claims.toml" in done.err


def test_what_is_no_packed_study_is_refused(cli: Cli, study: Path) -> None:
    for name, content in (("notes.txt", b"notes"), ("empty.zip", b"")):
        Path(name).write_bytes(content)
        done = cli("reproduce", name)
        assert done.code == ExitCode.STORE
        assert f"{name}: is no packed study" in done.err
    with zipfile.ZipFile("other.zip", "w") as archive:
        archive.write(study / "study.toml")
    assert "other.zip: is no packed study" in cli("reproduce", "other.zip").err


def test_what_cannot_be_packed_is_refused_with_its_name(cli: Cli, study: Path) -> None:
    assert "has no study.toml" in cli("pack", ".").err
    absent = cli("pack", "absent")
    assert (absent.code, absent.err) == (ExitCode.USAGE, "error: absent: No such file or directory\n")
    assert cli("pack", "nowhere").code == ExitCode.USAGE
    assert cli("pack", study, "-o", study / "study.toml").code == ExitCode.USAGE
    assert "is inside the study" in cli("pack", study, "-o", study / "x.zip").err
    (study / "link").symlink_to("/etc/passwd")
    done = cli("pack", study)
    assert (done.code, "mine/link: is a link" in done.err) == (ExitCode.INVALID, True)
    (study / "link").unlink()
    for text in (study / "campaign.toml", study / "study.toml"):
        text.write_text(text.read_text().replace("two-way.toml", ".two-way.toml"))
    (study / "two-way.toml").rename(study / ".two-way.toml")
    done = cli("pack", study)
    assert done.code == ExitCode.INVALID
    assert "what is packed of it is no whole study" in done.err
    assert "names that begin with a dot are not packed" in done.err
    assert not Path("out/mine.zip").exists()
