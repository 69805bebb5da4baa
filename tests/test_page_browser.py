"""Pages in a browser: at two widths, in light and dark and in print, nothing is cut, hidden or pale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chromium import PROGRAM, Chromium
from perhop.cli.__main__ import run
from perhop.report.study import Section, StudyPage, Table, render

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium on this machine")

MEASURE = (Path(__file__).parent / "page_faults.js").read_text()

#: width in pixels, dark, medium; 718 are what A4 has between the margins of a browser
LOOKS = [(1280, False, ""), (1280, True, ""), (390, False, ""), (390, True, ""), (718, True, "print")]

ACCESS = "-s run.duration=2s -s run.warmup=500ms"
LAB = "-s run.duration=20s -s run.warmup=5s"
SWEEP = "--replications 2 --measure mean(flows.goodput_bit_s)~by~name --vary"


def perhop(*words: str) -> None:
    assert run([word.replace("~", " ") for word in words]) == 0, words


def claim(number: int, verdict: str) -> dict[str, Any]:
    part = {"kind": "size", "claimed": [0.0, 1.0], "mean": 0.5, "ci95": [0.4, 0.6], "one_run": None, "n": 10}
    part |= {"quantity": "goodput of aggregated less that of per-flow marking", "verdict": verdict}
    part |= {"at_fit": verdict, "decided_by": ["window-in-packets"], "reason": None, "in_sample": True}
    part |= {"printed": 0.5, "printed_is": "within one run: one run cannot tell"}
    part |= {"power": {"as_fitted": 0.9, "with_readings": 0.8, "reason": None}}
    told: dict[str, Any] = {
        "id": f"C{number}",
        "statement": "Marking for each flow is the fairer one. " * 3,
        "ours": None,
        "judged_under": {"readings": 1, "of": 2, "without": ["SACK"]},
        "power": {"as_fitted": None, "with_readings": None, "reason": "the paper gives no value"},
    }
    told |= {"verdict": verdict, "reason": "2 replications are too few", "in_sample": True}
    reading = {"id": "window-in-packets", "meaning": "the window counts packets " * 3, "verdict": verdict}
    return told | {
        "evidence": {"where": "section 5.2, Table 2", "decided": "", "notes": []},
        "parts": [part],
        "readings": [reading | {"parts": [part]}],
    }


def study() -> str:
    verdicts = ("supported", "contradicted", "inconclusive", "not judged")
    runs = {"store": "x.runs", "replications": 10, "runs": 10, "command": "perhop run papers/x/x.toml"}
    names = ["case=aggregate-with-a-long-name", "case=other"]
    document = {
        "command": "perhop reproduce x --quick",
        "results_version": 1,
        "rows": [],
        "claims": [claim(number, verdict) for number, verdict in enumerate(verdicts)],
        "runs": [
            runs | {"of": of, "treatments": names}
            for of in ("as fitted, x", "as fitted, cases", "window-in-packets")
        ],
        "treatments": [
            {"name": name, "settings": "-s conditioner.customer.meter.cir=200kbit/s " * many}
            for many, name in enumerate(names)
        ],
    }
    wide = Table("Wide", [f"column {n}" for n in range(12)], [["1.234 Mbit/s"] * 12] * 3)
    return render(StudyPage("A study", document, [Section("more", "More", tables=[wide])], "What it is."))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of each kind, the runs as short as they can be."""
    place = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        perhop("init", "lab")
        perhop("init", "--pack", "access", "line")
        perhop("run", "line/access.toml", *ACCESS.split(), "-o", "run", "--report")
        for name, share in (("half", "0.5"), ("less", "0.3")):
            changed = ["-s", f"port.slow-fast.scheduler.share={share}"]
            perhop("run", "lab/two-way.toml", *LAB.split(), *changed, "-o", name)
        perhop("compare", "half", "less", "-o", "compare.html")
        varied = ["port.slow-fast.scheduler.share=0.3,0.5", "-o", "store"]
        perhop("sweep", "lab/two-way.toml", *LAB.split(), *SWEEP.split(), *varied)
    (place / "study.html").write_text(study())
    return place


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    found = Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


def look(browser: Chromium, width: int, dark: bool, medium: str) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.call("Emulation.setEmulatedMedia", media=medium, features=[scheme])
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)


@pytest.mark.parametrize("page", ["run/report.html", "compare.html", "store/report.html", "study.html"])
def test_a_page_can_be_read_on_any_screen_and_on_paper(browser: Chromium, folder: Path, page: str) -> None:
    browser.console.clear()
    browser.go((folder / page).as_uri())
    for one in LOOKS:
        look(browser, *one)
        assert browser.js(MEASURE) == [], (page, one)
    assert browser.console == []


def test_columns_of_detail_are_behind_a_box_and_on_paper(browser: Chromium, folder: Path) -> None:
    browser.go((folder / "run" / "report.html").as_uri())
    hidden = "[...document.querySelectorAll('.fold .x')].filter((one) => !one.checkVisibility()).length"
    most = browser.js("document.querySelectorAll('.fold .x').length")
    assert most > 0
    look(browser, 1280, False, "")
    assert browser.js(hidden) == most
    browser.js("document.querySelector('.fold input').click()")
    assert 0 < browser.js(hidden) < most
    look(browser, 718, False, "print")
    assert browser.js(hidden) == 0


def test_faults_are_found(browser: Chromium, tmp_path: Path) -> None:
    table = "<table><tr><td>" + "x" * 300 + "</td></tr></table>"
    picture = '<figure><svg viewBox="0 0 100 50"><text x="5" y="20">over</text><text x="5" y="20">over</text>'
    picture += '<text x="98" y="40">outside</text></svg></figure>'
    pale = '<p style="color: #bbb">pale</p>'
    twice = '<p id="a"></p><p id="a"></p>'
    page = tmp_path / "bad.html"
    page.write_text(f'<h2>A heading</h2><a href="#nowhere">x</a>{table}{picture}{pale}{twice}')
    browser.go(page.as_uri())
    look(browser, 390, False, "print")
    found = {one.partition(":")[0] for one in browser.js(MEASURE)}
    assert found == {"wide", "cut", "target", "contrast", "twice", "overlap", "outside", "orphan"}
