"""The command line where nothing is wrong: help, machine-readable output, what it prints where."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import perhop
from conftest import Cli
from perhop import Scenario, StoredRun
from perhop.cli.exit import ExitCode
from perhop.cli.parser import COMMANDS
from perhop.cli.reproduce import PAPERS
from perhop.papers.folder import own_study
from perhop.papers.plan import Plan, plan_of
from perhop.units import bit_rate, duration


def test_exit_codes_are_the_documented_ones() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "DONE": 0,
        "INTERNAL": 1,
        "USAGE": 2,
        "INVALID": 3,
        "FAILED_RUNS": 4,
        "CONDITION": 5,
        "DIFFERS": 6,
        "MACHINE": 7,
        "STORE": 8,
        "INTERRUPTED": 130,
        "PIPE": 141,
        "TERMINATED": 143,
    }


def test_help_lists_every_command(cli: Cli) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        done = cli(*arguments)
        assert done.code == 0
        assert all(f"\n  {command} " in done.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_speaks_json(cli: Cli, command: str) -> None:
    done = cli(command, "--help")
    assert done.code == 0
    assert "--json" in done.out


ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"numpy", "scipy", "polars", "matplotlib", "jinja2", "pydantic", "rich"}


@pytest.mark.parametrize(
    ("arguments", "may"),
    [
        (("--help",), set()),
        (("run", "--help"), set()),
        (("--version",), {"perhop._core"}),
        (("check", "examples/three-losses.toml"), {"perhop._core"}),
        (("run", "examples/three-losses.toml", "-o", "{}"), {"perhop._core", "numpy", "polars"}),
    ],
)
def test_a_command_imports_nothing_heavy(arguments: tuple[str, ...], may: set[str], tmp_path: Path) -> None:
    words = [word.format(tmp_path / "run") for word in arguments]
    code = (
        f"import sys; from perhop.cli.__main__ import run; assert run({words}) == 0; "
        f"heavy = {HEAVY | {'perhop._core'}} - {may or set()} & set(sys.modules); "
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"perhop {perhop.__version__} (results_version {perhop.RESULTS_VERSION})\n"


def test_init_writes_a_valid_scenario_with_its_schema_and_never_overwrites(cli: Cli) -> None:
    done = cli("init", "lab", "--json")
    assert sorted(done.json()["files"]) == [
        "lab/README.md",
        "lab/campaign.toml",
        "lab/perhop.campaign.schema.json",
        "lab/perhop.schema.json",
        "lab/two-way.toml",
    ]
    scenario = Path("lab/two-way.toml")
    assert scenario.read_text().startswith("#:schema ./perhop.schema.json\n")
    assert json.loads(Path("lab/perhop.schema.json").read_text())
    assert cli("check", scenario).code == 0

    scenario.write_text("mine")
    assert cli("init", "lab").code == ExitCode.USAGE
    assert scenario.read_text() == "mine"


def test_check_json(cli: Cli, two_way: Path) -> None:
    assert cli("check", two_way, "--json").json() == {
        "files": [
            {
                "file": "two-way.toml",
                "kind": "scenario",
                "ok": True,
                "diagnostics": [],
                "warnings": [],
                "kernel_only": [],
            }
        ]
    }


def test_warnings_go_to_stderr_and_change_nothing(cli: Cli, two_way: Path) -> None:
    vain = ("-s", "flow.up.tcp.ecn=true")
    done = cli("check", two_way, *vain)
    assert (done.code, done.out) == (0, "two-way.toml: valid, 1 warning\n")
    assert "⚠ flow.up.tcp.ecn: nothing on the way of flow `up` marks" in done.err
    assert "help: " in done.err
    (file,) = cli("check", two_way, *vain, "--json").json()["files"]
    assert (file["ok"], file["diagnostics"]) == (True, [])
    assert [warning["path"] for warning in file["warnings"]] == ["flow.up.tcp.ecn"]

    ran = cli("run", two_way, *vain)
    assert ran.code == 0
    assert ran.err == done.err

    mistaken = cli("check", two_way, *vain, "-s", "run.duration=0s")
    assert (mistaken.code, mistaken.err) == (ExitCode.INVALID, "")


TOP = Path(__file__).parents[1]
SHIPPED = sorted(
    file
    for pattern in (
        "papers/*/*.toml",
        "examples/*.toml",
        "examples/l4s/*.toml",
        "bench/cases/*.toml",
        "python/perhop/starters/*/*.toml",
        "crates/perhop-sim/tests/scenarios/*.toml",
        "oracles/*/scenarios/*.toml",
    )
    for file in TOP.glob(pattern)
    if "[run]" in (text := file.read_text()) and ("[[flow]]" in text or "[[udp]]" in text)
)


def test_no_scenario_of_ours_is_warned_of(cli: Cli) -> None:
    # studies have one scenario each, and designs over it, which the next test goes through
    assert len(SHIPPED) > 35
    checked = cli("check", *SHIPPED, "--json").json()["files"]
    assert [file["file"] for file in checked if not file["ok"] or file["warnings"]] == []


def runs_of(plan: Any) -> Iterator[tuple[bytes, str, Sequence[str]]]:
    """Go through a study's runs: scenario, its name, overrides."""
    if not isinstance(plan, Plan):
        yield from (job[:3] for job in plan.jobs)
        return
    for campaign in plan.campaigns:
        one = campaign.scenario
        for treatment in campaign.design.treatments:
            yield one.source, one.name, (*one.overrides, *treatment.overrides)


# feroz asks what becomes of tokens beyond the rate of the link and, in a reading, of a buffer below max_th;
# kalampoukas, in a reading, of a modem that drops its host's own packets; seddigh who loses where targets are
# more than the link; rfc7928, in a reading, of ECN behind a FIFO
WARNED = {
    "feroz": {"conditioner.marker.meter.cir", "port.r2-r3.class.all.queue.green.max_th"},
    "kalampoukas": {"flow.up.tcp.window"},
    "rfc7928": {"flow.b.tcp.ecn", "profile.host.ecn"},
    "seddigh": {"conditioner.A.meter.cir", "conditioner.B.meter.cir"},
    # Prague, also where no queue marks
    "today": {
        "conditioner.marker.meter.cir",
        *(f"flow.{name}.tcp.ecn" for name in ("download", "upload", "measured", "background", "bulk")),
        *(f"flow.{kind}-{path}.tcp.ecn" for kind in ("premium", "assured", "best-effort") for path in "rft"),
    },
}


def test_runs_of_a_study_are_warned_of_what_it_asks_and_nothing_else() -> None:
    for paper in PAPERS:
        # replications differ in nothing that is warned of
        scenarios = {
            (source, name, tuple(change for change in changes if not change.startswith("run.")))
            for source, name, changes in runs_of(plan_of(own_study(paper)))
        }
        warned = {
            warning["path"]
            for source, name, changes in scenarios
            for warning in Scenario(source, name, changes).warnings()
        }
        assert warned == WARNED.get(paper, set())


def test_schema_is_json_and_names_every_table(cli: Cli) -> None:
    printed = cli("schema").out
    assert {"run", "node", "link", "port", "flow"} <= set(json.loads(printed)["properties"])
    assert cli("schema", "--json").out == printed
    assert cli("schema", "-o", "file.json").out == ""
    assert Path("file.json").read_text() == printed


def test_schema_replaces_nothing_unasked(cli: Cli) -> None:
    file = Path("file.json")
    file.write_text("mine")
    assert cli("schema", "-o", file).code == ExitCode.USAGE
    assert file.read_text() == "mine"
    assert cli("schema", "-o", file, "--force").code == 0
    assert json.loads(file.read_text())
    missing = cli("schema", "-o", "missing/file.json")
    assert missing.code == ExitCode.USAGE
    assert "there is no folder missing" in missing.err


def test_run_says_which_rows_of_a_long_table_it_prints(cli: Cli) -> None:
    Path("many.toml").write_text(
        '[run]\nduration = "1s"\n[[node]]\nname = "s"\ncount = 21\n[[node]]\nname = "d"\n[[node]]\n'
        'name = "r"\nkind = "router"\n[[link]]\nends = ["s[*]", "r"]\nrate = "10Mbit/s"\n[[link]]\n'
        'ends = ["r", "d"]\nrate = "1Mbit/s"\n[[flow]]\nname = "f"\nfrom = "s[0..11]"\nto = "d"\n'
        '[[flow]]\nname = "g"\nfrom = "s[11..21]"\nto = "d"\n'
    )
    lines = cli("run", "many.toml", "-o", "out [1]").out.splitlines()
    flows = lines.index("20 of 21 rows, the first of each [[flow]]; all are in out [1]/flows.parquet")
    assert lines[flows - 1].startswith("g[9] ")
    assert "20 of 44 rows, the busiest; all are in out [1]/links.parquet" in lines
    one = 'flow=[{ name = "f", from = "s[0]", to = "d" }]'
    few = cli("run", "many.toml", "-s", one, "-s", "node.s.count=9", "-o", "few").out
    assert " rows, " not in few


def web(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the transfers of the pack."""
    return tables["flows"].filter(pl.col("name").str.starts_with("web["))


def test_classes_of_the_pack_fit_into_a_hundred_columns(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perhop.say.terminal._WIDTH_WITHOUT_TERMINAL", 100)
    assert cli("init", "--pack", "diffserv").code == 0
    lines = cli("run", "diffserv.toml", "--until", "20s", "-o", "run").out.splitlines()
    for title, last in (("Classes of flows", "red"), ("One-way delays", "IPDV 95 %")):
        at = next(number for number, line in enumerate(lines) if line.startswith(title))
        head = [*filter(None, (name.strip() for name in lines[at + 1].split("  ")))]
        assert head[-1] == last
        assert len(set(head)) == len(head)
        assert "…" not in "".join(lines[at : at + 7])


def test_run_shows_a_row_for_each_class_every_flow_and_a_row_for_many_transfers(cli: Cli) -> None:
    assert cli("init", "--pack", "diffserv").code == 0
    lines = [
        " ".join(line.split())
        for line in cli("run", "diffserv.toml", "--until", "20s", "-o", "run").out.splitlines()
    ]
    tables = StoredRun.load("run").tables
    for row in tables["classes"].to_dicts():
        fairness = "-" if row["fairness"] is None else f"{row['fairness']:.3f}"
        told = f"{row['class']} {row['flows']} {bit_rate(row['goodput_bit_s'])} {fairness} "
        assert any(line.startswith(told) for line in lines), told
        quantiles = ("delay_p50", "delay_p95", "delay_p99", "delay_p999", "pdv_p95", "pdv_p999", "ipdv_p95")
        assert " ".join([row["class"], *(duration(row[f"{one}_s"]) for one in quantiles)]) in lines
    marks = next(line for line in lines if line.startswith("Arrived after the warm-up, by mark"))
    plain = {name for name in tables["marks"]["flow"] if name.startswith(("web", "rest"))}
    assert marks.endswith(f"; {len(plain)} flows with BE alone left out")
    assert lines[0] == f"diffserv.toml: seed 1; flows: bulk 4, web {len(web(tables))}, rest 2, voice 1"
    flows = lines[lines.index("Flows after the warm-up") + 3 :]
    assert [line.split()[0] for line in flows[:6]] == [
        *(f"bulk[{k}]" for k in range(4)),
        "rest[0]",
        "rest[1]",
    ]
    assert not any(line.startswith("web[") for line in lines)
    # alone in its class, so that the class has the same times
    (row,) = tables["classes"].filter(pl.col("class") == "web").to_dicts()
    times = " ".join(duration(row[f"transfer_{name}_s"]) for name in ("mean", "p50", "p95"))
    assert f"web web {row['transfers']} {row['transfers_completed']} {times}" in lines
    assert row["transfers"] == len(web(tables))


def test_run_shows_drops_by_colour_where_queues_look_at_colours(cli: Cli, two_way: Path) -> None:
    assert cli("init", "other", "--pack", "diffserv").code == 0
    lines = [
        line.split()
        for line in cli("run", "other/diffserv.toml", "--until", "20s", "-o", "run").out.splitlines()
    ]
    head = "class mean packets most mean wait longest arrived dropped green yellow red"
    assert head.split() in lines
    for row in StoredRun.load("run").tables["queues"].filter(pl.col("dropped_packets") > 0).to_dicts():
        (line,) = (one for one in lines if one and f"port.{one[0]}" == row["path"])
        assert line[-4:] == [str(row[f"dropped_{of}"]) for of in ("packets", "green", "yellow", "red")]
        assert row["dropped_packets"] > 0
    assert "yellow" not in cli("run", two_way, "-o", "plain").out
    never = '{ min_th = "500p", max_th = "900p", max_p = 0.1 }'
    rio = f'port.slow-fast.class.data.queue={{ kind = "rio", green = {never}, red = {never} }}'
    assert "yellow" in cli("run", two_way, "-s", rio, "-o", "without-drops").out


@pytest.mark.parametrize(
    "page",
    [
        "fifo",
        "backpressure",
        "strict-priority",
        "paired-counter",
        "rio",
        "gred",
        "codel",
        "cobalt",
        "fq",
        "pie",
        "ack-filter",
        "cake",
        "port-shaper",
        "htb",
    ],
)
def test_the_examples_of_elements_print_what_their_pages_say(cli: Cli, page: str) -> None:
    page_text = (Path(__file__).parents[1] / "docs" / "elements" / f"{page}.md").read_text()
    example, told = re.search(
        r"^```toml\n(.*?)^```\n.*?then prints\n\n^```\n(.*?)^```", page_text, flags=re.M | re.S
    ).groups()
    assert cli("init", "new").code == 0
    file = Path("new/two-way.toml")
    text = file.read_text()
    file.write_text(text[: text.index("[[port]]")] + example + text[text.index("[[flow]]") :])
    printed = [line.rstrip() for line in cli("run", file).out.splitlines()]
    assert [line for line in told.splitlines() if line and line not in printed] == []


def test_behind_a_long_queue_an_ack_filter_slows_a_download_by_what_its_page_says(
    cli: Cli, tmp_path: Path
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "elements" / "ack-filter.md").read_text()
    assert cli("init", "new").code == 0
    file = Path("new/two-way.toml")
    text = file.read_text()
    port = '[[port]]\nat = "slow"\nto = "fast"\n[[port.class]]\nname = "all"\n'
    queue = 'queue = { kind = "fifo", limit = "64kB" }\n'
    file.write_text(text[: text.index("[[port]]")] + port + queue + text[text.index("[[flow]]") :])

    def download(counting: str, ack_filter: str) -> str:
        settings = (
            f"flow.down.tcp.counting={counting}",
            f"port.slow-fast.class.all.queue.ack_filter={ack_filter}",
        )
        flows = Scenario.load(file).override(*settings).run().flows
        return bit_rate(flows.filter(pl.col("name") == "down")["goodput_bit_s"].item())

    for counting in ("acks", "bytes"):
        slower, without = download(counting, "aggressive"), download(counting, "off")
        assert f"{slower} instead of {without}" in " ".join(page.split())


def test_run_prints_results_to_stdout_and_names_the_next_command(cli: Cli, two_way: Path) -> None:
    done = cli("run", two_way)
    assert done.code == 0
    assert done.err == ""
    assert "up" in done.out
    assert "slow->fast" in done.out
    assert done.out.endswith("out/two-way-1\nnext: perhop report out/two-way-1\n")


def test_run_json(cli: Cli, two_way: Path) -> None:
    told = cli("run", two_way, "--seed", "3", "-s", "port.slow-fast.scheduler.share=0.3", "--json").json()
    assert told["folder"] == "out/two-way-3"
    assert told["record"]["overrides"] == ["port.slow-fast.scheduler.share=0.3", "run.seed=3"]
    assert [flow["name"] for flow in told["flows"]] == ["up", "down"]
    assert {link["name"] for link in told["links"]} == {"slow->fast", "fast->slow"}
    assert told["queues"]


def test_the_share_decides_who_gets_the_slow_link(cli: Cli, two_way: Path) -> None:
    def busy_with_data(share: str) -> float:
        told = cli(
            "run",
            two_way,
            "-s",
            f"port.slow-fast.scheduler.share={share}",
            "-o",
            f"share-{share}",
            "--until",
            "60s",
            "--json",
        ).json()
        return next(link["utilization_data"] for link in told["links"] if link["name"] == "slow->fast")

    assert busy_with_data("0.5") == pytest.approx(0.5, abs=0.03)
    assert busy_with_data("0.18") == pytest.approx(0.18, abs=0.03)


@pytest.mark.usefixtures("undrawn")
def test_report_json(cli: Cli, run_folder: Path) -> None:
    assert cli("report", run_folder, "--json").json() == {"report": "run/report.html"}
    Path("pages").mkdir()
    assert cli("report", run_folder, "-o", "pages/a.html").out == "pages/a.html\n"
    assert Path("pages/a.html").read_text() == Path("run/report.html").read_text()


def test_doctor(cli: Cli) -> None:
    findings = {finding["what"]: finding for finding in cli("doctor", "--json").json()["findings"]}
    assert findings["perhop core"]["found"] == perhop.__version__
    ours = {what for what, one in findings.items() if one["section"] == "perhop"}
    assert ours == {"Python", "perhop core", "cores", "cargo", "starlette", "uvicorn", "chromium", "ns"}
    assert set(findings) - ours == {
        *(
            "way in",
            "perhop-live",
            "/dev/net/tun",
            "TCP reno",
            "TCP cubic",
            "TCP dctcp",
            "TCP prague",
            "TCP bbr",
            "TCP bbr3",
            "TCP senders",
        ),
        *("SCHED_FIFO", "BPF", "steady processor"),
        *("tc", "bpftool", "clang", "nft", "tcpdump", "tshark", "iperf3", "headers of libbpf"),
    }
    assert all(one["found"] or one["adds"] for one in findings.values())
    out = cli("doctor").out
    assert "perhop core" in out
    assert "real packets" in out
