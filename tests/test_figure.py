"""`perhop figure` and `perhop table`: one figure or table of a run, for a paper or another program."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli
from perhop import StoredRun
from perhop.report import figures

SCENARIO = Path(__file__).parents[1] / "examples" / "three-losses.toml"
MAGIC = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG", "csv": b"time_s,path,quantity,value\n"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from perhop import Scenario

    folder = tmp_path_factory.mktemp("figure") / "run"
    Scenario.load(SCENARIO).run(trace=["tcp"]).save(folder)
    return folder


def test_every_figure_of_the_page_is_drawn_alone_by_the_command_beside_it(run: Path) -> None:
    names = figures.names(StoredRun.load(run))
    assert {"topology", "cwnd_bytes", "backlog_packets", "time-sequence", "class-delay"} <= set(names)
    page = StoredRun.load(run).report().read_text()
    for name in names:
        if f'<figure id="{name}">' in page:
            assert f"perhop figure {run} {name}" in page
    for short, name in figures.ALIASES.items():
        if name in names:
            assert figures.find(StoredRun.load(run), short).name == name


@pytest.mark.parametrize("form", MAGIC)
def test_a_figure_is_written_in_each_format(cli: Cli, run: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / f"window.{form}"
    done = cli("figure", str(run), "cwnd", "-o", str(target))
    assert (done.code, done.out.strip()) == (0, str(target))
    written = target.read_bytes()
    assert written.startswith(MAGIC[form])
    again = tmp_path / f"again.{form}"
    assert cli("figure", str(run), "cwnd_bytes", "-o", str(again)).code == 0
    assert again.read_bytes() == written
    assert cli("figure", str(run), "cwnd", "-o", str(target)).code == 2  # what is there stays


def test_an_svg_of_its_own_needs_no_page(cli: Cli, run: Path) -> None:
    done = cli("figure", str(run), "cwnd", "-o", "-")
    tree = ElementTree.fromstring(done.out)
    assert tree.attrib["width"].endswith("pt")
    assert "var(" not in done.out
    assert "currentColor" not in done.out
    assert "flow.reno" in cli("table", str(run), "series").out


def test_a_trace_is_shown_in_part(cli: Cli, run: Path, tmp_path: Path) -> None:
    for name, options in (("whole", ()), ("part", ("--flow", "sack", "--from", "0.5s", "--to", "1s"))):
        target = tmp_path / f"{name}.csv"
        assert cli("figure", str(run), "time-sequence-sack", "-o", str(target), *options).code == 0
    part = pl.read_csv(tmp_path / "part.csv")
    assert set(part["flow"]) == {"sack"}
    assert part["time_s"].is_between(0.5, 1.0).all()
    assert len(part) < len(pl.read_csv(tmp_path / "whole.csv"))


def test_what_has_time_as_its_axis_can_be_cut(cli: Cli, run: Path, tmp_path: Path) -> None:
    target = tmp_path / "part.csv"
    assert cli("figure", run, "goodput", "--from", "500ms", "--to", "1s", "-o", target).code == 0
    times = pl.read_csv(target)["time_s"]
    assert (times.min(), times.max()) == (0.5, 1.0)
    whole, part = tmp_path / "whole.svg", tmp_path / "part.svg"
    assert cli("figure", run, "cwnd", "-o", whole).code == 0
    assert cli("figure", run, "cwnd", "--to", "1s", "-o", part).code == 0
    assert whole.read_bytes() != part.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("figure", "RUN", "nix"), "no figure 'nix'"),
        (("figure", "RUN", "godput"), "did you mean goodput?"),
        (("figure", "RUN", "red"), "no queue of this run drops early"),
        (("figure", "RUN", "delay", "--to", "1s"), "no axis of time"),
        (("figure", "RUN", "cwnd", "--flow", "sack"), "not of a trace of TCP"),
        (("table", "RUN", "flow"), "did you mean flows?"),
        (("figure", "RUN", "cwnd", "-o", "x.gif"), "take svg, pdf, png, csv"),
        (("figure", "RUN", "drops"), "every value is zero"),
        (("table", "RUN", "nix"), "no table 'nix'"),
        (("table", "RUN", "flows", "-o", "x.xls"), "take csv or parquet"),
    ],
)
def test_what_cannot_be_drawn_is_told(cli: Cli, run: Path, arguments: tuple[str, ...], told: str) -> None:
    done = cli(*(str(run) if word == "RUN" else word for word in arguments))
    assert done.code == 2
    assert told in done.err
    assert not Path("x.gif").exists()


def test_a_table_is_handed_on_whole(cli: Cli, run: Path, tmp_path: Path) -> None:
    flows = StoredRun.load(run).tables["flows"]
    assert pl.read_csv(cli("table", str(run), "flows").out.encode())["name"].to_list() == [
        "reno",
        "newreno",
        "sack",
    ]
    assert cli("table", str(run), "flows", "-o", str(tmp_path / "f.parquet")).code == 0
    assert pl.read_parquet(tmp_path / "f.parquet").equals(flows)
    assert [row["name"] for row in cli("table", str(run), "flows", "--json").json()] == flows[
        "name"
    ].to_list()


def test_rows_of_a_table_are_chosen_by_what_they_have(cli: Cli, run: Path) -> None:
    done = cli("table", str(run), "flows", "--where", "name=sack", "--where", "timeouts=0")
    assert done.code == 0
    lines = done.out.strip().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("sack,")
    assert len(cli("table", str(run), "flows", "--where", "name=none").out.strip().splitlines()) == 1
    for condition, said in (
        ("nme=sack", "no column 'nme'"),
        ("timeouts=few", "'few' is no number"),
        ("name", "no column"),
    ):
        refused = cli("table", str(run), "flows", "--where", condition)
        assert refused.code == 2
        assert said in refused.err


def test_the_distribution_of_delays_goes_through_what_was_measured(run: Path) -> None:
    stored = StoredRun.load(run)
    numbers = figures.find(stored, "cdf").data()
    assert numbers["share"].to_list() == [0.0, 0.5, 0.95, 0.99, 0.999, 1.0]
    row = stored.table("classes").to_dicts()[0]
    assert numbers["delay_s"].to_list() == [
        row[f"delay_{name}_s"] for name in ("min", "p50", "p95", "p99", "p999", "max")
    ]
    assert numbers["delay_s"].is_sorted()


def test_averages_that_were_not_recorded_are_told_with_their_command(cli: Cli, tmp_path: Path) -> None:
    lesson = Path(__file__).parents[1] / "examples" / "lessons" / "red.toml"
    short = ("-s", "run.duration=2s", "-s", "run.warmup=1s", "-s", "run.series=[]")
    assert cli("run", lesson, *short, "-o", tmp_path / "run").code == 0
    told = cli("figure", tmp_path / "run", "red")
    assert told.code == 2
    assert "no average was recorded" in told.err
    assert "-s 'run.series=[\"averages\"]' -o FOLDER" in told.err


def test_what_is_no_run_is_told(cli: Cli, tmp_path: Path) -> None:
    missing = cli("figure", tmp_path / "nix", "cwnd")
    assert (missing.code, "nix: no such folder" in missing.err) == (2, True)
    store = tmp_path / "store"
    store.mkdir()
    (store / "ledger.sqlite").touch()
    assert cli("table", store, "flows").code == 2  # a campaign has no such table
    told = cli("replay", store)
    assert (told.code, "not a run" in told.err) == (8, True)


def test_short_names_stand_beside_the_long_ones(cli: Cli, run: Path) -> None:
    listed = cli("figure", run).out
    assert re.search(r"cwnd_bytes +cwnd ", listed)
    assert "cwnd, " in cli("figure", run, "nix").err
