"""The form of `perhop serve` in a real browser: what comes first, search, help, sliders, a lost server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chromium import PROGRAM, Chromium
from perhop import Scenario
from perhop.cli.__main__ import run
from serving import started
from test_page_browser import MEASURE

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium on this machine")

WIDTHS = [390, 1280, 1920]
TAB = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
LIMIT = "port.r1-r2.class.all.queue.limit"

#: an element that has the focus and can be seen where its middle is; true where nothing has it
SEEN = """(() => {
  const one = document.activeElement, box = one.getBoundingClientRect();
  if (one === document.body) return true;
  const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return one.contains(there) || there?.contains(one) || one.outerHTML.slice(0, 200);
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    found = Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("lessons")
    for name in ("red", "bufferbloat"):
        assert run(["init", "--pack", f"lesson-{name}", str(top / "lab" / name)]) == 0
    return top


@pytest.fixture(scope="module")
def opened(browser: Chromium, lab: Path) -> Iterator[str]:
    with started(lab, "lab") as (_, link):
        browser.go(link)
        yield link.partition("/?")[0]


def size(browser: Chromium, width: int, dark: bool = False) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.call("Emulation.setEmulatedMedia", media="", features=[scheme])
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **metrics)


def enter(browser: Chromium, where: str, text: str) -> None:
    """Put a value into what a selector finds, as a hand does."""
    browser.js(
        f"(() => {{ const one = document.querySelector({json.dumps(where)}); one.value = {json.dumps(text)};"
        " one.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def shown(browser: Chromium, where: str) -> list[str]:
    """Return the texts of those that a selector finds and the page shows."""
    code = f"[...document.querySelectorAll({json.dumps(where)})].filter((one) => one.checkVisibility())"
    found: list[str] = browser.js(f"{code}.map((one) => one.textContent.trim())")
    return found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_every_page_can_be_read_on_any_screen(browser: Chromium, opened: str, width: int, dark: bool) -> None:
    size(browser, width, dark)
    for path in ("", "form/0/red/red.toml", "form/0/bufferbloat/line.toml", "lesson/0/red/lesson.toml", "x"):
        browser.go(f"{opened}/{path}")
        assert browser.js(MEASURE) == [], path
    browser.console.clear()  # there is no x


def test_a_finished_run_shows_its_first_screen_and_what_is_new(
    browser: Chromium, opened: str, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lab)
    assert run(["run", "lab/red/drop-tail.toml", "-s", f"{LIMIT}=60p", "-o", "lab/drop-tail-1"]) == 0
    size(browser, 1280)
    browser.go(f"{opened}/form/0/red/drop-tail.toml")
    enter(browser, f"[name='value:{LIMIT}']", "20p")
    browser.js("document.getElementById('run').click()")
    browser.wait((lab / "lab" / "drop-tail-2").is_dir)
    browser.until("location.pathname === '/page/0/drop-tail-2' && document.readyState === 'complete'")
    panel = "document.querySelector('.panels .panel').getBoundingClientRect()"
    top, low = browser.js(f"(({{ top, bottom }}) => [top, bottom])({panel})")
    assert 0 < top < low < 900
    since = shown(browser, "#since p")
    assert since[0] == (f"Since the run before, lab/drop-tail-1: {LIMIT}=20p, no longer {LIMIT}=60p. Compare")
    assert "in drop-tail-1; " in since[1]
    for width in WIDTHS:
        size(browser, width)
        assert browser.js("document.documentElement.scrollWidth") <= width
    assert browser.console == []


def test_topology_and_what_matters_most_come_first(browser: Chromium, opened: str) -> None:
    size(browser, 1280)
    browser.go(f"{opened}/form/0/red/drop-tail.toml")
    assert shown(browser, ".topology rect:not(.back) + text") == ["s ×10", "d ×10", "r1", "r2"]
    assert any("r1-r2" in one and "10 Mbit/s, 20 ms" in one for one in shown(browser, ".topology text"))
    labels = shown(browser, ".field label")
    assert labels[:4] == [
        "kind port r1-r2 class all queue",
        "limit port r1-r2 class all queue",
        "rate link r1-r2",
        "delay link r1-r2",
    ]
    assert len(labels) == 10
    assert len(shown(browser, ".field .about")) == 10


def test_every_setting_has_a_label_of_its_own_and_its_help(browser: Chromium, opened: str) -> None:
    browser.go(f"{opened}/form/0/red/drop-tail.toml")
    fields = "[...document.querySelectorAll('.field [name]')]"
    labels = browser.js(f"{fields}.map((one) => one.labels.length === 1 && one.labels[0].textContent)")
    assert len(labels) > 150
    assert len({*labels}) == len(labels)
    helps = browser.js(
        f"{fields}.map((one) => document.getElementById(one.getAttribute('aria-describedby')).textContent)"
    )
    assert "Key of every random stream." in helps
    # one that is folded away has its help as soon as it has the focus, by key or by finger
    browser.js("for (const one of document.querySelectorAll('details')) one.open = true")
    browser.js("document.querySelector('[name=\"value:flow.bulk.tcp.mss\"]').focus()")
    assert shown(browser, ".rest .about") == ["Payload of a full segment (RFC 9293 section 3.7.1)."]


def test_what_is_searched_stands_alone_in_sight(browser: Chromium, opened: str) -> None:
    size(browser, 1280)
    browser.go(f"{opened}/form/0/red/red.toml")
    enter(browser, "#find", "max_p")
    assert [one.partition(" ")[0] for one in shown(browser, ".field label")] == ["max_p"]
    assert shown(browser, ".settings h2") == ["port"]
    low = "document.querySelector('[name$=max_p]').getBoundingClientRect().bottom"
    assert browser.js(f"{low} < document.querySelector('.stay').getBoundingClientRect().top")
    enter(browser, "#find", "r2-d delay")
    assert shown(browser, ".field label") == ["delay link r2-d"]
    enter(browser, "#find", "bufferbloat")
    assert shown(browser, ".field label") == []
    assert shown(browser, "#found") == ["No setting has this in its name or meaning."]
    enter(browser, "#find", "")
    assert len(shown(browser, ".field label")) == 10


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_that_has_the_focus_is_under_the_bar(browser: Chromium, opened: str, width: int) -> None:
    size(browser, width)
    browser.go(f"{opened}/form/0/red/red.toml")
    enter(browser, "[name='value:run.duration']", "1")  # a mistake, and the bar grows
    browser.until("!document.getElementById('mistakes').hidden")
    browser.js("document.querySelector('.rest').open = true")
    stops = 0
    for kind in [0] * 90 + [8] * 90:  # there, and back by Shift
        browser.call("Input.dispatchKeyEvent", type="rawKeyDown", modifiers=kind, **TAB)
        browser.call("Input.dispatchKeyEvent", type="keyUp", modifiers=kind, **TAB)
        assert browser.js(SEEN) is True
        stops += browser.js("document.activeElement.closest('.settings') !== null")
    assert stops > 60


def test_a_slider_runs_the_scenario_as_it_moves(browser: Chromium, opened: str, lab: Path) -> None:
    size(browser, 1280)
    browser.go(f"{opened}/form/0/red/drop-tail.toml")
    slider = f"[name='value:{LIMIT}'] + [type=range]"
    enter(browser, slider, "20")
    browser.until("document.querySelectorAll('#tried tbody tr').length === 2")
    heads = shown(browser, "#tried th")
    assert heads == ["limit", "goodput", "lost", "95 % within"]
    scenario = Scenario.load(lab / "lab" / "red" / "drop-tail.toml")
    for place, value in enumerate(("100p", "24p")):
        told = scenario.override(f"{LIMIT}={value}").run().classes["goodput_bit_s"][0]
        row = shown(browser, f"#tried tbody tr:nth-child({place + 1}) td")
        assert row[:2] == [value, f"{told / 1e6:.4g} Mbit/s"]
    browser.until(f"document.getElementById('command').textContent.includes('{LIMIT}=24p')")
    enter(browser, "[name='value:run.duration']", "4000s")
    enter(browser, slider, "30")
    browser.until("document.getElementById('why').textContent.includes('takes too long')")
    assert browser.console == []


def test_a_slider_moved_while_another_runs_is_run_next(browser: Chromium, opened: str) -> None:
    browser.go(f"{opened}/form/0/red/drop-tail.toml")
    rate = "link.r1-r2.rate"
    enter(browser, f"[name='value:{LIMIT}'] + [type=range]", "20")
    enter(browser, f"[name='value:{rate}'] + [type=range]", "40")
    browser.until("document.querySelectorAll('#tried tbody tr').length === 2")
    value = browser.js(f"document.querySelector(\"[name='value:{rate}']\").value")
    assert shown(browser, "#tried th")[0] == "rate"
    assert shown(browser, "#tried td:first-child") == ["10Mbit/s", value]
    assert value != "10Mbit/s"
    browser.until(f"document.getElementById('command').textContent.includes('{rate}={value}')")
    assert browser.console == []


def test_a_lost_server_is_told_within_a_second(browser: Chromium, lab: Path) -> None:
    with started(lab, "lab") as (process, link):
        browser.go(link)
        browser.go(f"{link.partition('/?')[0]}/form/0/red/red.toml")
        assert shown(browser, "#lost") == []
        process.kill()
        process.wait()
        began = time.monotonic()
        browser.until("!document.getElementById('lost').hidden")
        assert time.monotonic() - began < 1.0
        assert "The server does not answer" in shown(browser, "#lost")[0]
        enter(browser, "[name='value:run.seed']", "7")
        browser.until("document.getElementById('mistakes').textContent.startsWith('Not checked')")
    browser.console.clear()


def test_a_run_goes_on_when_its_server_answers_again(browser: Chromium, opened: str) -> None:
    browser.go(f"{opened}/form/0/red/red.toml")
    for setting, value in (("duration", "9000000s"), ("interval", "1000s")):
        enter(browser, f"[name='value:run.{setting}']", value)
    browser.js("document.getElementById('run').click()")
    browser.until("document.querySelector('h1')?.textContent.endsWith(' is going')")
    browser.until("document.readyState === 'complete'")
    browser.js("var real = fetch; fetch = () => Promise.reject(new Error('no answer'))")
    browser.until("document.querySelector('h1').textContent.startsWith('Not known')")
    browser.js("fetch = real")
    browser.until("document.querySelector('h1')?.textContent.endsWith(' is going')")
    browser.until("document.readyState === 'complete'")
    assert len(shown(browser, "progress")) == 1
    assert shown(browser, "#lost") == []
    browser.js("document.getElementById('end').click()")
    browser.until("document.querySelector('h1')?.textContent === 'The run was ended'")
    assert browser.console == []


def test_a_run_whose_server_is_lost_is_not_told_to_go_on(browser: Chromium, lab: Path) -> None:
    with started(lab, "lab") as (process, link):
        browser.go(link)
        browser.go(f"{link.partition('/?')[0]}/form/0/red/red.toml")
        for setting, value in (("duration", "9000000s"), ("interval", "1000s")):
            enter(browser, f"[name='value:run.{setting}']", value)
        browser.js("document.getElementById('run').click()")
        browser.until("document.querySelector('h1')?.textContent.endsWith(' is going')")
        browser.until("document.getElementById('lost') !== null")
        process.kill()
        process.wait()
        browser.until("document.querySelector('h1').textContent.startsWith('Not known')")
        assert shown(browser, "progress, #told") == []
        assert "what was running may have ended" in shown(browser, "#lost")[0]
    browser.console.clear()
