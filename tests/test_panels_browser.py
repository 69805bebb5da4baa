"""The first picture of a page in a browser: values, one cursor, zoom, names that hide lines, keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from chromium import PROGRAM, Chromium
from perhop import Scenario, StoredRun
from perhop.report import figures

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium on this machine")

PACK = Path(__file__).parents[1] / "python" / "perhop" / "starters" / "diffserv" / "diffserv.toml"

#: of the script of uPlot 1.6.32 as it is on npm
UPLOT = "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    folder = tmp_path_factory.mktemp("panels") / "run"
    Scenario.load(PACK).override("run.duration=20s", "run.warmup=5s").run().save(folder)
    stored = StoredRun.load(folder)
    stored.report()
    return stored


@pytest.fixture
def browser(tmp_path: Path, run: StoredRun) -> Iterator[Chromium]:
    found = Chromium(tmp_path / "profile")
    size = {"width": 1280, "height": 1100, "deviceScaleFactor": 1, "mobile": False}
    found.call("Emulation.setDeviceMetricsOverride", **size)
    found.go((run.folder / "report.html").as_uri())
    yield found
    assert found.console == []
    assert all(not one.startswith("http") for one in found.requests)
    found.close()


def names(browser: Chromium, panel: int) -> dict[str, str]:
    """Give the value beside each name of a panel."""
    code = f"[...document.querySelectorAll('.panel')[{panel}].querySelectorAll('.name')]"
    return dict(
        browser.js(f"{code}.map((one) => [one.children[1].textContent, one.children[2].textContent])")
    )


def mouse(browser: Chromium, kind: str, x: float, y: float, presses: int = 0) -> None:
    button = {"button": "left", "clickCount": presses, "buttons": 1} if presses else {}
    browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)


def over(browser: Chromium, panel: int, share: float) -> tuple[float, float]:
    """Give a place over a panel, so far along its axis of time."""
    code = "JSON.parse(JSON.stringify(document.querySelectorAll('.u-over')[{}].getBoundingClientRect()))"
    box = browser.js(code.format(panel))
    return box["left"] + share * box["width"], box["top"] + box["height"] / 2


def key(browser: Chromium, name: str) -> None:
    text = {"text": name} if len(name) == 1 else {}
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=name)


def readout(browser: Chromium) -> str:
    return str(browser.js("document.querySelector('.readout').textContent"))


def marks(browser: Chromium) -> str:
    """Give what is drawn, as a digest."""
    code = "[...document.querySelectorAll('.panel canvas')].map((one) => one.toDataURL()).join()"
    return hashlib.sha256(browser.js(code).encode()).hexdigest()


def values(run: StoredRun, time_s: float) -> dict[str, dict[str, float]]:
    table = figures.find(run, "overview").data().filter(pl.col("time_s") == time_s)
    found: dict[str, dict[str, float]] = {}
    for panel, line, value in table.select("panel", "line", "value").iter_rows():
        found.setdefault(panel, {})[line] = value
    return found


@needs_chromium
def test_a_pointer_shows_the_values_of_all_panels_at_its_time(browser: Chromium, run: StoredRun) -> None:
    assert set(names(browser, 0).values()) == {""}
    mouse(browser, "mouseMoved", *over(browser, 1, 0.6))
    assert readout(browser) == "12 s"
    for panel, own in enumerate(values(run, 12.0).values()):
        shown = names(browser, panel)
        assert list(shown) == list(own)
        for name, value in own.items():
            assert (
                shown[name] == "–" if value is None else float(shown[name]) == pytest.approx(value, rel=1e-3)
            )
    mouse(browser, "mouseMoved", 5, 5)
    assert set(names(browser, 0).values()) == {""}


@needs_chromium
def test_dragging_zooms_all_panels_and_two_clicks_show_all(browser: Chromium) -> None:
    whole = marks(browser)
    mouse(browser, "mouseMoved", *over(browser, 0, 0.24))
    mouse(browser, "mousePressed", *over(browser, 0, 0.24), 1)
    mouse(browser, "mouseMoved", *over(browser, 0, 0.51), 1)
    mouse(browser, "mouseReleased", *over(browser, 0, 0.51), 1)
    mouse(browser, "mouseMoved", *over(browser, 2, 0.99))
    assert readout(browser) == "10 s"
    assert marks(browser) != whole
    for presses in (1, 2):
        mouse(browser, "mousePressed", *over(browser, 0, 0.5), presses)
        mouse(browser, "mouseReleased", *over(browser, 0, 0.5), presses)
    mouse(browser, "mouseMoved", *over(browser, 2, 0.99))
    assert readout(browser) == "20 s"
    assert marks(browser) == whole


@needs_chromium
def test_a_name_hides_its_line_and_shows_it_again(browser: Chromium) -> None:
    whole = marks(browser)
    browser.js("document.querySelectorAll('.name')[1].focus()")
    assert browser.js("document.activeElement.getAttribute('aria-pressed')") == "true"
    browser.js("document.activeElement.click()")
    assert browser.js("document.activeElement.getAttribute('aria-pressed')") == "false"
    browser.js("new Promise((done) => setTimeout(done, 100))")
    assert marks(browser) != whole
    browser.js("document.activeElement.click()")
    browser.js("new Promise((done) => setTimeout(done, 100))")
    assert marks(browser) == whole


@needs_chromium
def test_keys_move_the_cursor_and_zoom(browser: Chromium, run: StoredRun) -> None:
    browser.js("document.querySelector('.panels').focus()")
    for _ in range(5):
        key(browser, "ArrowRight")
    assert readout(browser) == "4 s"
    whole = marks(browser)
    for name in ("+", "+", "ArrowRight"):
        key(browser, name)
    assert readout(browser) == "5 s"
    assert marks(browser) != whole
    spoken = browser.js("document.querySelector('.spoken').textContent")
    premium = values(run, 5.0)["throughput of edge->core, Mbit/s"]["premium"]
    assert f"premium {premium:.4g};" in spoken
    for name in ("Escape", "End"):
        key(browser, name)
    assert readout(browser) == "20 s"
    key(browser, "Home")
    assert readout(browser) == "0 s"
    assert marks(browser) == whole


@needs_chromium
def test_on_paper_and_without_scripts_the_picture_stays(browser: Chromium, run: StoredRun) -> None:
    shown = (
        "[...document.querySelectorAll('#overview :is(svg, .panels)')].map((one) => one.checkVisibility())"
    )
    assert browser.js(shown) == [True, False]
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.js(shown) == [False, True]
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.go((run.folder / "report.html").as_uri())
    assert browser.js(shown) == [True]


def test_the_script_that_draws_is_as_its_makers_have_it(run: StoredRun) -> None:
    own = files("perhop.report") / "templates" / "uplot"
    script = (own / "uPlot.iife.min.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() == UPLOT
    page = (run.folder / "report.html").read_text()
    assert (own / "LICENSE").read_text() in page
    assert script.decode().partition("\n")[2] in page
