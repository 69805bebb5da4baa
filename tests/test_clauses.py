"""The checker of clauses (specs/check.py) on good and bad folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from scripts import script

TOP = Path(__file__).resolve().parents[1]
CLAUSES = """title = "RFC 1: Waiting"
link = "https://example.org/1"
from = "text"

[[clause]]
id = "rfc1-2-wait"
section = "2"
level = "must"
demand = "|a - b| is kept."

[[clause]]
id = "rfc1-3.1-hurry"
section = "3.1"
level = "may"
demand = "It may hurry."
"""
EXCEPTION = '[[exception]]\nid = "rfc1-3.1-hurry"\nkind = "not-taken"\nreason = "There is time."\n'
CODE = "//= rfc1-2-wait\n/// Waits.\n#[must_use]\npub(crate) const fn wait() {}\n"
TEST = "    //= test rfc1-2-wait\n    #[test]\n    fn waits() {}\n"
GOOD = {
    "specs/clauses/rfc1.toml": CLAUSES,
    "specs/exceptions/rfc1.toml": EXCEPTION,
    "crates/a/src/lib.rs": CODE,
    "crates/a/tests/waits.rs": TEST,
}

Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return script(TOP / "specs" / "check.py")


@pytest.fixture
def run(check: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, **changes: str) -> tuple[int, str]:
        """Run the checker on GOOD with some files changed, named by what follows their last slash."""
        (tmp_path / "docs").mkdir(exist_ok=True)
        for name, text in GOOD.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name, text in changes.items():
            path = tmp_path / NAMES[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        status: int = check.main([*arguments], tmp_path)
        return status, capsys.readouterr().out

    return run


NAMES = {
    "clauses": "specs/clauses/rfc1.toml",
    "more": "specs/clauses/rfc10.toml",
    "exceptions": "specs/exceptions/rfc1.toml",
    "code": "crates/a/src/lib.rs",
    "proof": "crates/a/tests/waits.rs",
    "python": "tests/test_waits.py",
    "script": "crates/a/tests/scripts/slow/wait.pkt",
}


def test_a_complete_folder_has_a_page_that_stays_current(run: Run, tmp_path: Path) -> None:
    assert run("--complete") == (0, "clauses: 2, of which 0 open\n")
    page = (tmp_path / "docs/clauses.md").read_text()
    assert "| RFC 1: Waiting | text | 2 | 1 | 1 | 0 |" in page
    assert (
        r"| `rfc1-2-wait` | 2 | must | \|a - b\| is kept. "
        "| [`wait`](../crates/a/src/lib.rs) | [`waits`](../crates/a/tests/waits.rs) |" in page
    )
    assert "| may | It may hurry. | *Permission not taken.* There is time. |  |" in page
    assert run("--check", code="\n\n" + CODE) == (0, "clauses: 2, of which 0 open\n")
    assert run("--check", code=CODE.replace("wait()", "await_()")) == (
        1,
        "docs/clauses.md: out of date: run python3 specs/check.py\n",
    )


def test_check_writes_nothing(run: Run, tmp_path: Path) -> None:
    assert run("--check")[0] == 1
    assert not (tmp_path / "docs/clauses.md").exists()


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("//= rfc1-2-wait\nimpl<T: Into<u64>> Wait for Clock<T> {\n", "Clock"),
        ("//= rfc1-2-wait\nconst LONG: u64 = 1;\n", "LONG"),
        ("//= rfc1-2-wait\n//= rfc1-2-wait\n\npub enum Wait {\n", "Wait"),
        (
            "impl Clock {\n    fn tick() {}\n    fn wait() {\n        //= rfc1-2-wait\n        if a {\n",
            "wait",
        ),
        ("pub enum Wait {\n    //= rfc1-2-wait\n    Long,\n", "Wait"),
        ("fn f() {\n    //= rfc1-2-wait\n    assert!(x);\n", "f"),
        ("//= rfc1-2-wait\nwait_laws!(every_clock, 1);\n", "wait_laws! every_clock"),
        ("//= rfc1-2-wait\n", "lib"),
    ],
)
def test_the_page_names_the_item_below_or_around(run: Run, tmp_path: Path, source: str, name: str) -> None:
    assert run(code=source) == (0, "clauses: 2, of which 0 open\n")
    assert f"| [`{name}`](../crates/a/src/lib.rs) |" in (tmp_path / "docs/clauses.md").read_text()


def test_python_and_scripts_are_read(run: Run, tmp_path: Path) -> None:
    python = "#= test rfc1-2-wait\n@slow\ndef test_it_waits() -> None:\n    ...\n"
    assert run(python=python, script="#= test rfc1-2-wait\n0.0 > S\n//= test rfc1-2-wait\n")[0] == 0
    page = (tmp_path / "docs/clauses.md").read_text()
    assert (
        "[`wait`](../crates/a/tests/scripts/slow/wait.pkt)<br>[`waits`](../crates/a/tests/waits.rs)"
        "<br>[`test_it_waits`](../tests/test_waits.py) |" in page
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (
            {"code": "\n//= rfc1-2-wiat\n"},
            "crates/a/src/lib.rs:2: rfc1-2-wiat: no such clause; did you mean rfc1-2-wait?",
        ),
        ({"code": "//= elsewhere\n"}, "crates/a/src/lib.rs:1: elsewhere: no such clause"),
        (
            {"code": "//= see rfc1-2-wait\n"},
            "crates/a/src/lib.rs:1: see rfc1-2-wait: is neither ID nor test ID",
        ),
        (
            {"proof": "//= rfc1-2-wait\n"},
            "crates/a/tests/waits.rs:1: rfc1-2-wait: a file of tests says: test rfc1-2-wait",
        ),
        (
            {"clauses": CLAUSES.replace("rfc1-3.1-hurry", "rfc1-2-wait").replace('"3.1"', '"2"')},
            "specs/clauses/rfc1.toml:11: rfc1-2-wait: is also at specs/clauses/rfc1.toml:5",
        ),
        (
            {"more": CLAUSES[: CLAUSES.rindex("[[")]},
            "specs/clauses/rfc10.toml:5: rfc1-2-wait: is not rfc10-2- and a short name",
        ),
        (
            {"clauses": CLAUSES.replace('"may"', '"might"')},
            "specs/clauses/rfc1.toml:11: rfc1-3.1-hurry: level 'might' is none of must, should, may, rule",
        ),
        (
            {"clauses": CLAUSES.replace('demand = "It', 'text = "It')},
            "specs/clauses/rfc1.toml:11: rfc1-3.1-hurry: text is missing, empty or unknown",
        ),
        (
            {"clauses": CLAUSES.replace('"text"', '"hearsay"')},
            "specs/clauses/rfc1.toml: from: 'hearsay' is none of text, accounts, knowledge",
        ),
        (
            {"clauses": CLAUSES.replace('from = "text"\n', "")},
            "specs/clauses/rfc1.toml: from: '' is none of text, accounts, knowledge",
        ),
        ({"clauses": "title ="}, "specs/clauses/rfc1.toml: not TOML: "),
        (
            {"exceptions": EXCEPTION.replace("hurry", "hury")},
            "specs/exceptions/rfc1.toml:1: rfc1-3.1-hury: no such clause; did you mean rfc1-3.1-hurry?",
        ),
        (
            {"exceptions": EXCEPTION.replace("rfc1-3.1-hurry", "rfc1-2-wait")},
            "specs/exceptions/rfc1.toml:1: rfc1-2-wait: is no permission but a must",
        ),
        (
            {"exceptions": EXCEPTION.replace("not-taken", "ignored")},
            "specs/exceptions/rfc1.toml:1: rfc1-3.1-hurry: kind 'ignored' is none of "
            "not-applicable, departs, not-taken",
        ),
        (
            {"exceptions": EXCEPTION * 2},
            "specs/exceptions/rfc1.toml:5: rfc1-3.1-hurry: has an exception already",
        ),
        (
            {
                "code": CODE + "//= rfc1-3.1-hurry\nfn hurry() {}\n",
                "proof": TEST.replace("2-wait", "3.1-hurry"),
            },
            "specs/clauses/rfc1.toml:11: rfc1-3.1-hurry: has an exception, and code and a test as well",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place_and_nothing_is_written(
    run: Run, tmp_path: Path, changes: dict[str, str], error: str
) -> None:
    status, said = run(**changes)
    assert status == 1
    assert any(line.startswith(error) for line in said.splitlines()), said
    assert not (tmp_path / "docs/clauses.md").exists()


@pytest.mark.parametrize(
    ("changes", "lack"),
    [({"code": ""}, "code"), ({"proof": ""}, "test"), ({"code": "", "proof": ""}, "code and no test")],
)
def test_only_complete_minds_open_clauses(run: Run, changes: dict[str, str], lack: str) -> None:
    assert run(**changes) == (0, "clauses: 2, of which 1 open\n")
    assert run("--complete", **changes) == (
        1,
        f"specs/clauses/rfc1.toml:5: rfc1-2-wait: no {lack}, and no exception\n",
    )


def test_an_unknown_argument_is_refused(run: Run) -> None:
    assert run("--chekc")[0] == 2
