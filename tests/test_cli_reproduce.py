"""`perhop reproduce`: the document it prints, the same bytes every time, and what it says it left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import perhop
from conftest import Cli, Reproduced
from perhop.cli.exit import ExitCode

KEYS = ["paper", "results_version", "command", "rows", "claims", "runs", "treatments"]


def test_the_document_has_the_agreed_shape(reproduction: Reproduced) -> None:
    assert reproduction.done.code == 0
    document = reproduction.done.json()
    assert list(document) == [*KEYS, "perhop", "measures_version", "made", "verified"]
    assert document["paper"] == "kalampoukas"
    assert document["verified"]["results_version"] == perhop.RESULTS_VERSION
    assert document["command"] == "perhop reproduce kalampoukas"
    assert document["verified"]["runs"] == 4
    for row in document["rows"]:
        assert list(row) == ["table", "id", "quantity", "unit", "published", "closed_form", "simulated"]
        assert list(row["closed_form"]) == ["printed", "bounded"]
        assert list(row["simulated"]) == ["mean", "ci95", "n"]
        assert row["simulated"]["n"] >= 10
    keys = [(row["table"], row["id"], row["quantity"]) for row in document["rows"]]
    assert len(set(keys)) == len(keys)
    for claim in document["claims"]:
        assert {"id", "statement", "verdict", "parts", "readings", "in_sample", "evidence"} <= set(claim)
        for judged in (claim, *claim["parts"], *claim["readings"]):
            assert judged["verdict"] in ("supported", "contradicted", "inconclusive", "not judged")
        assert {part["kind"] for part in claim["parts"]} <= {"direction", "size"}
        assert all(len(one["parts"]) == len(claim["parts"]) for one in claim["readings"])
    assert {f"K{number}" for number in range(1, 10)} <= {claim["id"] for claim in document["claims"]}


def test_every_published_row_is_there(reproduction: Reproduced) -> None:
    rows = reproduction.done.json()["rows"]
    figures = {row["id"] for row in rows if row["table"] == "efficiencies"}
    assert figures == {
        "2.3",
        "4.2",
        "4.3",
        "4.4",
        "5.3",
        "5.4",
        "5.5",
        "5.6",
        "6.2",
        "6.3",
        "6.4",
        "6.5",
    }
    assert len({row["id"] for row in rows if row["table"] == "figure3_2"}) == 4


def test_every_efficiency_is_near_its_bounded_closed_form(reproduction: Reproduced) -> None:
    for row in reproduction.done.json()["rows"]:
        if row["table"] == "efficiencies" and row["quantity"].endswith("efficiency"):
            bounded, mean = row["closed_form"]["bounded"], row["simulated"]["mean"]
            assert abs(mean - bounded) <= min(0.03, 0.1 * bounded), row


def test_it_says_what_it_left_out(laatu: Reproduced) -> None:
    lines = laatu.done.err.splitlines()
    assert [line for line in lines if line.startswith("left out of laatu: ")]


def test_it_says_at_the_start_how_long_it_will_take(laatu: Reproduced) -> None:
    first, *_ = laatu.done.err.splitlines()
    told = (
        r"laatu, [\d,]+ runs: (about \d+ (s|min)|less than a second) "
        r"if none of them has been made before; runs are kept in .+"
    )
    assert re.fullmatch(told, first)


def test_two_runs_print_the_same_bytes_whatever_the_number_of_workers(
    process: Cli, laatu: Reproduced
) -> None:
    # the study that takes the least time; all go through the same code
    one, three = laatu.done, process("reproduce", "laatu", "--quick", "--json", "-j", "3", "-o", "with-3")
    assert one.out == three.out
    assert one.code == three.code == 0
    document = json.loads(one.out)
    assert list(document) == KEYS
    assert document["paper"] == "laatu"
    assert document["command"] == "perhop reproduce laatu --quick"


def test_an_interrupted_study_leaves_the_old_folder_whole(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {
        "report.html": '<meta name="generator" content="perhop">old page',
        "result.json": '{"paper": "kalampoukas", "results_version": 1, "claims": []}',
    }
    folder = Path("out/kalampoukas")
    folder.mkdir(parents=True)
    for name, text in old.items():
        (folder / name).write_text(text)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("perhop.papers.reproduce.run_campaign", interrupted)
    assert cli("reproduce", "kalampoukas", "--quick").code == ExitCode.INTERRUPTED
    assert {path.name: path.read_text() for path in folder.iterdir()} == old
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_the_folder_holds_the_page_and_the_document(reproduction: Reproduced) -> None:
    assert sorted(path.name for path in reproduction.folder.iterdir()) == ["report.html", "result.json"]
    assert json.loads((reproduction.folder / "result.json").read_text()) == reproduction.done.json()
