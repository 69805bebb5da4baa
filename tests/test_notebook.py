"""Runs in a notebook: what they show, their figures, and the notebooks that `perhop init` writes."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbclient
import nbformat
import pandas as pd
import polars as pl
import pytest

import perhop
from conftest import Cli
from perhop.notebook import runs

EXAMPLE = Path(__file__).parents[1] / "examples" / "three-losses.toml"


@pytest.fixture(scope="module")
def result() -> perhop.Result:
    return perhop.Scenario.load(EXAMPLE).run(trace=["tcp"])


def test_figures_are_attributes_and_shown_by_a_notebook(result: perhop.Result, tmp_path: Path) -> None:
    assert {"cwnd", "goodput", "queue", "class_delay", "time_sequence"} <= set(dir(result.plot))
    shown = result.plot.cwnd()
    tree = ElementTree.fromstring(shown._repr_html_())
    assert tree.tag.endswith("svg")
    assert result.plot("cwnd_bytes").svg == shown.svg
    assert shown.save(tmp_path / "window.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ValueError, match="svg, pdf, png, csv"):
        shown.save(tmp_path / "window.gif")
    with pytest.raises(AttributeError, match=r"no figure nix: known here: .*cwnd"):
        result.plot.nix()
    with pytest.raises(ValueError, match="no figure 'nix'"):
        result.plot("nix")
    assert "every value is zero" in result.plot.drops()._repr_html_()


def test_a_run_shows_the_first_screen_of_its_page(result: perhop.Result, tmp_path: Path) -> None:
    from perhop.report import answer

    stored = result.save(tmp_path / "run")
    shown = stored._repr_html_()
    assert shown == result._repr_html_().replace(result._stored().record.scenario, stored.record.scenario)
    ElementTree.fromstring(shown)
    assert answer.of_run(stored).sentences
    assert "all invariants hold" in shown
    assert "<script" not in shown


def test_tables_go_to_pandas(result: perhop.Result, tmp_path: Path) -> None:
    frame = result.pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["name"].tolist() == ["reno", "newreno", "sack"]
    assert result.save(tmp_path / "run").pandas("links").equals(result.pandas("links"))
    with pytest.raises(ValueError, match="no table 'nix'"):
        result.pandas("nix")
    some = pl.DataFrame({"count": [2**60 + 1, None]})
    assert runs.pandas({"some": some}, "some")["count"].tolist() == [2**60 + 1, pd.NA]


def test_a_scenario_is_taken_from_a_dictionary() -> None:
    scenario = perhop.Scenario.load(EXAMPLE)
    other = perhop.Scenario.from_dict(tomllib.loads(scenario.source.decode()))
    assert other.key() == scenario.key()
    with pytest.raises(TypeError, match="object"):
        perhop.Scenario.from_dict({"run": object()})  # type: ignore[dict-item]


def test_results_compare_and_are_sent(result: perhop.Result) -> None:
    scenario = perhop.Scenario.load(EXAMPLE)
    again, traced, other = scenario.run(), scenario.run(trace=["tcp"]), scenario.override("run.seed=2").run()
    assert result == again == traced
    assert len({result, again, traced, other}) == 2
    assert result != other
    assert result != "a run"
    assert pickle.loads(pickle.dumps(result.scenario)) == result.scenario


def test_a_thread_that_ends_leaves_the_core_whole() -> None:
    text = EXAMPLE.read_text()
    code = (
        "import threading, perhop\n"
        "load = perhop.Scenario\n"
        f"text = {text!r}\n"
        "for _ in range(20):\n"
        "    one = threading.Thread(target=lambda: load.from_text(text).check())\n"
        "    one.start(); one.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_init_writes_notebooks_that_run(cli: Cli, tmp_path: Path) -> None:
    assert cli("init", "--notebook", str(tmp_path / "lab")).code == 0
    lab = tmp_path / "lab"
    book = nbformat.read(lab / "first-look.ipynb", as_version=4)
    nbformat.validate(book)
    assert all(not cell.get("outputs") for cell in book.cells)
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(lab)}}).execute()
    shown = json.dumps([cell.get("outputs", []) for cell in book.cells])
    assert "all invariants hold" in shown
    assert "<svg" in shown
    assert (lab / "goodput.pdf").read_bytes().startswith(b"%PDF")
    by_seed = book.cells[-2]["outputs"][0]["data"]["text/plain"]
    rows = [line.split("┆")[1:] for line in by_seed.splitlines() if line.startswith(("│ up", "│ down"))]
    assert len(rows) == 2
    assert all(len(set(row)) == 3 for row in rows), "seeds matter"
    # from another folder
    done = subprocess.run(
        [sys.executable, lab / "first-look.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "goodput.pdf").is_file()


@pytest.mark.parametrize("pack", ["diffserv", "access", "docsis"])
def test_every_pack_has_a_notebook(cli: Cli, tmp_path: Path, pack: str) -> None:
    assert cli("init", "--notebook", "--pack", pack, str(tmp_path)).code == 0
    assert f'Scenario.load(\\"{pack}.toml\\")' in (tmp_path / "first-look.ipynb").read_text()
    compile((tmp_path / "first-look.py").read_text(), "first-look.py", "exec")
