"""The pages: whole, the same every time, readable without a network, and alive in a real browser."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import itertools
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli, Reproduced, shortened
from perhop import Scenario, StoredRun
from perhop.cli.__main__ import run as run_cli
from perhop.cli.exit import ExitCode
from perhop.plot import series, topology
from perhop.report.page import write_page
from perhop.run import summary
from perhop.run.folder import always
from perhop.units import duration

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Outline(HTMLParser):
    """Checks that tags nest, and collects ids, links, and what each drawing tells those who cannot see it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.outside: list[str] = []
        self.told = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.told += tag == "desc"
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("href", "xlink:href", "src") and value:
                (self.targets if value.startswith("#") else self.outside).append(value)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with `two_way` and its run, and a run of the pack diffserv, both with their pages."""
    folder = tmp_path_factory.mktemp("drawn")
    with contextlib.chdir(folder):
        assert run_cli(["init"]) == 0
        file = Path("two-way.toml")
        file.write_text(shortened(file.read_text()))
        assert run_cli(["init", "--pack", "diffserv", "other"]) == 0
        assert run_cli(["run", "two-way.toml", "-o", "run"]) == 0
        assert run_cli(["report", "run"]) == 0
        assert run_cli(["run", "other/diffserv.toml", "--until", "20s", "-o", "marked", "--report"]) == 0
    return folder


@pytest.fixture
def run_page(drawn: Path, cli: Cli) -> Path:
    """Give the page in a copy of the run's folder, `run`, where commands are called."""
    shutil.copytree(drawn, ".", dirs_exist_ok=True)
    return Path("run/report.html")


@pytest.fixture
def paper_page(reproduction: Reproduced) -> Path:
    return reproduction.folder / "report.html"


def check_page(page: Path) -> None:
    text = page.read_text()
    outline = Outline(text)
    assert outline.open == []
    assert outline.outside[0] == "data:,"
    assert all(one.startswith("data:text/csv;base64,") for one in outline.outside[1:])
    assert {target.removeprefix("#") for target in outline.targets} <= set(outline.ids)
    assert len([one for one in outline.ids if one in ("claims", "what", "differ")]) == 1
    assert text.count("<svg") == outline.told
    without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    assert re.findall(r"(?:https?:)?//[a-z]", re.sub(r"url\(#[^)]*\)", "", without_names)) == []
    assert "@import" not in text
    check_script(text)


def check_script(text: str) -> None:
    """The only script is perhop's own, which the policy of the page names by its hash."""
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == text.count("<script") == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert re.findall(r"<[^>]*\son\w+=", text) == []


def test_the_page_about_a_run(run_page: Path) -> None:
    check_page(run_page)
    text = run_page.read_text()
    for command in ("perhop run two-way.toml", "perhop replay run", "perhop report run"):
        assert f"<code>{command}</code>" in text
    for title in ("Topology", "Goodput", "Congestion window", "Smoothed round-trip time", "Link utilization"):
        assert f"<b>{title}.</b>" in text
    assert "all invariants hold" in text
    assert text.count("0 packets, 0 B") == 3
    assert "Zero throughout, so not drawn: drops, retransmissions." in text


def test_the_same_folder_gives_the_same_page(cli: Cli, run_page: Path) -> None:
    first = run_page.read_bytes()
    assert cli("report", run_page.parent).code == 0
    assert run_page.read_bytes() == first


@pytest.mark.usefixtures("undrawn")
def test_a_page_replaces_nothing_unasked(cli: Cli, run_page: Path) -> None:
    page = Path("page.html")
    page.write_text("mine")
    refused = cli("report", "run", "-o", page)
    assert refused.code == ExitCode.USAGE
    assert "page.html exists" in refused.err
    assert page.read_text() == "mine"
    assert cli("report", "run", "-o", page, "--force").code == 0
    assert "<svg" in page.read_text()
    # its own it does
    assert run_page.exists()
    assert cli("report", "run", "-o", run_page).code == 0


def test_a_page_goes_into_no_run_folder_and_makes_none(cli: Cli, run_folder: Path) -> None:
    before = (run_folder / "record.json").read_bytes()
    for place, text in (
        (run_folder / "record.json", "is inside the run folder"),
        (run_folder / "sub" / "page.html", "is inside the run folder"),
        (Path("missing/page.html"), "there is no folder missing"),
        (run_folder, "is not a file that can be replaced"),
    ):
        refused = cli("report", run_folder, "-o", place, "--force")
        assert refused.code == ExitCode.USAGE
        assert text in refused.err
    assert (run_folder / "record.json").read_bytes() == before
    assert not Path("missing").exists()


def test_the_page_tells_warm_up_and_what_the_figures_average(run_page: Path) -> None:
    text = run_page.read_text()
    assert text.count("end of warm-up") >= 5
    assert "averaged over the interval that ends at each point" in text
    assert "smoothed round-trip time in ms" in text
    assert '<a class="badge good" href="#laws">' in text


def test_links_show_what_differs_by_direction(two_way: Path) -> None:
    two_way.write_text(
        two_way.read_text().replace('delay = "0ms"', 'delay = { "slow->fast" = "3ms", "fast->slow" = "7ms" }')
    )
    drawn = topology.draw(Scenario.load(two_way).describe())
    assert "100 kbit/s · 3 ms →" in drawn
    assert "← 5 Mbit/s · 7 ms" in drawn


def test_labels_of_links_that_meet_lie_apart() -> None:
    hosts = [f"host_{k}" for k in range(6)]
    text = '[run]\nduration = "1s"\n[[node]]\nname = "r"\nkind = "router"\n[[node]]\nname = "d"\n'
    text += '[[link]]\nends = ["r", "d"]\nrate = "10Mbit/s"\ndelay = "1ms"\n'
    for k, host in enumerate(hosts):
        text += f'[[node]]\nname = "{host}"\n[[flow]]\nname = "{host}"\nfrom = "{host}"\nto = "d"\n'
        text += f'[[link]]\nends = ["{host}", "r"]\nrate = "{k + 1}Mbit/s"\ndelay = "{k + 1}ms"\n'
    drawn = topology.draw(Scenario(text.encode(), "fan.toml").describe())
    labels = re.findall(r"font-size: (\d+)px[^>]*translate\(([\d.]+) ([\d.]+)\)\">([^<]*)</text>", drawn)
    assert len([label for *_, label in labels if "Mbit/s" in label]) == len(hosts)
    assert len([label for *_, label in labels if label.endswith(" ms")]) == len(hosts)
    heights = sorted(float(y) for _, _, y, label in labels if label.endswith((" ms", "↔")))
    assert all(b - a > float(labels[0][0]) for a, b in itertools.pairwise(heights))


def test_drops_are_drawn_when_there_are_any(cli: Cli, two_way: Path) -> None:
    cli("run", two_way, "-s", "port.slow-fast.class.data.queue.limit=5p", "-o", "lossy")
    text = Path(cli("report", "lossy").out.strip()).read_text()
    assert "<b>Drops.</b>" in text
    assert "<b>Retransmissions.</b>" in text


def test_the_page_tells_drops_by_colour_transfers_and_every_flow_of_the_file(drawn: Path) -> None:
    assert "green, yellow, red" not in (drawn / "run" / "report.html").read_text()
    page = drawn / "marked" / "report.html"
    check_page(page)
    text = page.read_text()
    assert '<th class="t x">green, yellow, red</th>' in text
    tables = StoredRun.load(page.parent).tables
    (af1,) = tables["queues"].filter(pl.col("path") == "port.edge-core.class.af1").to_dicts()
    assert af1["dropped_red"] > 0
    drops = ", ".join(str(af1[f"dropped_{color}"]) for color in ("green", "yellow", "red"))
    assert f'<td class="t x">{drops}</td>' in text
    flows = text[text.index('id="flows"') : text.index("<details>", text.index('id="flows"'))]
    assert flows.count('<td class="t">rest[') == 2
    listed = text[text.index('id="flows"') : text.index("<h3>Transfers</h3>")]
    for name in tables["flows"]["name"]:
        assert listed.count(f'<td class="t">{name}</td>') == (not name.startswith("web["))
    begun = tables["flows"]["name"].str.starts_with("web").sum()
    assert f'<tr><td class="t">web</td><td class="t">web</td><td>{begun}</td>' in text


def test_the_page_of_the_pack_tells_classes_apart(drawn: Path) -> None:
    text = (drawn / "marked" / "report.html").read_text()
    part = text[text.index('id="classes"') : text.index('id="flows"')]
    for name in ("assured", "premium", "rest", "web"):
        assert part.count(f'<tr><td class="t">{name}</td>') == 3  # traffic, delay and its variation
    for title in ("One-way delay by class", "Waiting in queues"):
        assert f"<b>{title}.</b>" in part
    assert text.count("<b>Goodput by class.</b>") == 1
    first = text[text.index('id="answer"') : text.index("<nav")]
    assert "<b>Throughput, queue and round-trip time.</b>" in first
    assert first.count("<td") > 4 * 6
    delays = StoredRun.load(drawn / "marked").tables["classes"].filter(pl.col("class") == "premium")
    assert f"<td>{duration(delays['delay_p99_s'].item())}</td>" in part
    assert text.count("<table>") == text.count('<div class="scroll" tabindex="0"><table>')
    assert "<th>completed in</th>" not in text


def test_many_flows_are_a_band_for_each_class(cli: Cli) -> None:
    assert cli("init", "--pack", "diffserv").code == 0
    more = [
        word
        for name, many in (("bulk_host", 8), ("rest_host", 6))
        for word in ("-s", f"node.{name}.count={many}")
    ]
    short = ["--until", "12s", "-s", "link.bulk_host-edge.delay=1ms"]
    assert cli("run", "diffserv.toml", *short, *more, "-o", "run", "--report").code == 0
    text = Path("run/report.html").read_text()
    figure = text[text.index('id="goodput_bit_s"') :]
    figure = figure[: figure.index("</figure>")]
    assert "assured: mean and" in figure
    assert "5 to 95 % of 8" in figure
    assert "rest: mean and" in figure
    assert "5 to 95 % of 6" in figure


def test_text_from_the_scenario_is_escaped(cli: Cli, two_way: Path) -> None:
    odd = two_way.rename("<b>&.toml")
    odd.write_text(odd.read_text().replace('name = "up"', 'name = "up"\nclass = "<i>&"'))
    assert cli("run", odd, "-o", "odd").code == 0
    text = Path(cli("report", "odd").out.strip()).read_text()
    assert "<b>&" not in text
    assert "<i>&" not in text
    assert "&lt;b&gt;&amp;.toml" in text
    assert "&lt;i&gt;&amp;" in text


def test_many_flows_become_a_band_and_counted_nodes_one_symbol(cli: Cli) -> None:
    Path("many.toml").write_text(
        """
[run]
duration = "5s"
[[node]]
name = "s"
count = 12
[[node]]
name = "r"
kind = "router"
[[node]]
name = "d"
[[link]]
ends = ["s[*]", "r"]
rate = "10Mbit/s"
delay = "5ms"
[[link]]
ends = ["r", "d"]
rate = "20Mbit/s"
delay = "10ms"
[[flow]]
name = "bulk"
from = "s[*]"
to = "d"
tcp = { profile = "rfc" }
"""
    )
    assert cli("run", "many.toml", "-o", "many").code == 0
    text = Path(cli("report", "many").out.strip()).read_text()
    assert "5 to 95 % of 12" in text
    assert "s ×12" in topology.draw(Scenario.load("many.toml").describe())


def test_the_page_about_a_study(paper_page: Path) -> None:
    check_page(paper_page)
    text = paper_page.read_text()
    document = json.loads((paper_page.parent / "result.json").read_text())
    for row in document["rows"]:
        assert f'id="figure-{row["id"]}"' in text
    for number in range(1, 16):
        assert f'<a href="#claim-K{number}">K{number}</a>' in text
    assert 'id="figure-3.2"' in text
    assert "<h3>Figure 3.2: throughput</h3>" in text
    assert text.count("<th>distance</th>") == 3
    assert ">slow (up)<" in text
    assert "socket buffer of the fast connection in KB" in text
    assert text.count("(outside the theorem)") == 19
    assert "Left out here" in text
    assert "perhop run papers/kalampoukas/" in text


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    write_page(page, "old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_page(page, "new", always)
    assert page.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def browse(page: Path, folder: Path) -> tuple[str, list[str], list[str]]:
    """Open a page; give its document, what it said on the console and what it requested."""
    assert CHROMIUM is not None
    log = folder / "net.json"
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}",
            "--dump-dom",
            page.resolve().as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    # the browser's own requests, for updates and the time, say that no document is behind them
    asked = {
        str(event["params"]["url"])
        for event in json.loads(log.read_text())["events"]
        if event.get("params", {}).get("initiator", "not an origin") != "not an origin"
    }
    return done.stdout, console, sorted(url for url in asked if not url.startswith(("file:", "data:")))


@needs_chromium
def test_the_pages_live_in_a_browser(run_page: Path, paper_page: Path, tmp_path: Path) -> None:
    for name, page in (("run", run_page), ("paper", paper_page)):
        folder = tmp_path / f"browser-{name}"
        folder.mkdir()
        document, console, asked = browse(page, folder)
        assert console == []
        assert asked == []
        # the player draws one more where there is something to play
        text = page.read_text()
        assert document.count("<svg") == text.count("<svg") + text.count('<div id="play"') >= 6
        assert document.count("<path") > 100


@needs_chromium
def test_the_browser_test_would_notice(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        '<!doctype html><img src="http://perhop.invalid/x.png"><script>console.error("no")</script>'
    )
    _, console, asked = browse(page, tmp_path)
    assert any("no" in line for line in console)
    assert asked == ["http://perhop.invalid/x.png"]


def test_averages_that_were_asked_for_are_drawn_with_their_thresholds(cli: Cli, drawn: Path) -> None:
    assert cli("init", "--pack", "diffserv", "lab").code == 0
    short = ("-s", "run.duration=4s", "-s", "run.warmup=1s", "-s", "run.interval=100ms")
    both = 'run.series=["averages", "tokens"]'
    assert cli("run", "lab/diffserv.toml", *short, "-s", both, "-o", "asked", "--report").code == 0
    check_page(Path("asked/report.html"))
    figures = Path("asked/report.html").read_text().split("<figure")
    [gred] = [one for one in figures if "Early detection at port.edge-core.class.af1." in one]
    for label in ("waiting", "average (green)", "min_th (red)", "max_th (yellow)", "drop probability"):
        assert label in gred
    [red] = [one for one in figures if "Early detection at port.edge-core.class.best-effort." in one]
    assert "max_th" in red
    assert "(green)" not in red
    assert "averages were not recorded" not in "".join(figures)
    text = html.unescape((drawn / "marked" / "report.html").read_text())
    assert """-s 'run.series=["averages"]'</code>""" in text


PAIRS = """
[run]
duration = "2s"
[[node]]
name = "a"
count = 2
[[node]]
name = "b"
count = 2
[[link]]
ends = ["a[*]", "b[*]"]
rate = "1Mbit/s"
[[flow]]
name = "web"
from = "a[0]"
to = "b[0]"
count = 3
mark = "AF11"
tcp = { size = "5kB" }
[[flow]]
name = "bulk"
from = "a[0]"
to = "b[0]"
"""


def test_what_was_idle_is_left_out_and_transfers_are_one_row_of_marks(tmp_path: Path) -> None:
    run = Scenario.from_text(PAIRS).run().save(tmp_path / "run")
    marks = summary.marks(run.table("marks"), run.scenario().describe(), 20)
    assert marks["flow"].to_list() == ["web (3 transfers)", "bulk"]
    assert marks["flows"].to_list() == [3, 1]
    assert marks["arrived_bytes"].sum() == run.table("marks")["arrived_bytes"].sum()
    text = run.report().read_text()
    links = text[text.index('id="links"') : text.index('id="queues"')]
    assert "a[0]-&gt;b[0]" in links
    assert "a[1]-&gt;b[1]" not in links
    assert "2 through which nothing went are left out" in links
    assert '<td class="t">web (3 transfers)</td><td class="t">AF11: ' in text


def test_a_long_series_is_drawn_with_a_point_for_several_samples() -> None:
    times = [float(place) for place in range(1, 901)]
    rows = pl.DataFrame(
        {
            "path": ["flow.a"] * 900 + ["flow.b"] * 900,
            "time_s": times * 2,
            "value": [float(place % 3) for place in range(900)] + [5.0] * 900,
        }
    )
    assert series.samples_a_point(rows) == 3
    found = series.thinned(rows)
    assert found.filter(path="flow.a")["value"].to_list() == [1.0] * 300
    assert found.filter(path="flow.b")["time_s"].to_list() == times[2::3]
    assert series.thinned_in_words(rows) == " Each point is the mean of 3 samples."
    few = rows.filter(pl.col("time_s") <= 300)
    assert series.thinned(few).equals(few)
    assert series.thinned_in_words(few) == ""
