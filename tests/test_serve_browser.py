"""`perhop serve` in a real browser: forms, progress, policy, and names like markup."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chromium import PROGRAM, Chromium
from test_serve_rules import EVIL, TEXT, write_run

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium on this machine")

PWN = "<img src=x onerror=window.pwned=1>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    found = Chromium(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def opened(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a starter and runs with names like markup, open it, and give its address."""
    top = tmp_path_factory.mktemp("served")
    words = [sys.executable, "-m", "perhop.cli"]
    subprocess.run([*words, "init", "lab"], cwd=top, capture_output=True, check=True)
    write_run(top / "lab" / PWN, f"{PWN}.toml", f'flow.up.class="{PWN}"')
    (top / "lab" / f"{PWN}.toml").write_text(TEXT.replace("class = '", f"class = '{PWN}"))
    with subprocess.Popen(
        [*words, "serve", "lab", "--json"],
        cwd=top,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        address = json.loads("".join(server.stdout.readline() for _ in range(3)))["address"]
        browser.go(address)
        yield address.partition("/?")[0]
        server.terminate()


def fill(browser: Chromium, path: str, text: str) -> None:
    """Type into a field, and leave it."""
    field = f"document.querySelector('[name=\"value:{path}\"]')"
    browser.js(f"{field}.value = {json.dumps(text)}")
    for event in ("input", "change"):
        browser.js(f"{field}.dispatchEvent(new Event('{event}', {{bubbles: true}}))")


def text(browser: Chromium, id: str) -> str:
    found = browser.js(f"document.getElementById('{id}').textContent")
    assert isinstance(found, str)
    return found


def test_the_token_leaves_the_address_and_no_script_sees_the_cookie(browser: Chromium, opened: str) -> None:
    browser.go(f"{opened}/")
    assert browser.js("location.search") == ""
    assert browser.js("document.cookie") == ""
    assert "lab/two-way.toml" in browser.js("document.body.textContent")


def test_a_setting_is_changed_checked_run_and_looked_at(browser: Chromium, opened: str) -> None:
    browser.go(f"{opened}/form/0/two-way.toml")
    fill(browser, "flow.up.tcp.window", "16")
    browser.until("!document.getElementById('mistakes').hidden")
    assert "a size needs a unit" in text(browser, "mistakes")
    fill(browser, "flow.up.tcp.window", "16KiB")
    fill(browser, "run.duration", "20000s")
    browser.until("document.getElementById('mistakes').hidden")
    line = "perhop run lab/two-way.toml -s run.duration=20000s -s flow.up.tcp.window=16KiB -o lab/two-way-1"
    assert text(browser, "command") == line
    browser.js("document.getElementById('run').click()")
    browser.until("document.querySelector('progress')?.value > 0")
    assert text(browser, "stdout") == ""
    browser.until("document.querySelector('svg') !== null && location.pathname === '/page/0/two-way-1'")
    assert browser.console == []


def test_another_kind_of_queue_brings_its_settings(browser: Chromium, opened: str) -> None:
    browser.go(f"{opened}/form/0/two-way.toml")
    queue = "port.slow-fast.class.data.queue"
    fill(browser, f"{queue}.kind", "red")
    brought = f"document.querySelector('[name=\"value:{queue}.max_p\"]') !== null"
    browser.until(f"{brought} && document.readyState === 'complete'")
    assert "needs min_th, max_th, max_p" in text(browser, "mistakes")
    for name, value in {"min_th": "5p", "max_th": "15p", "max_p": "0.1"}.items():
        fill(browser, f"{queue}.{name}", value)
    browser.until("document.getElementById('mistakes').hidden")
    assert f"-s '{queue}=" in text(browser, "command")
    assert browser.js("document.querySelector('details[open] .changed') !== null")


def test_two_runs_are_compared_by_click(browser: Chromium, opened: str) -> None:
    browser.go(f"{opened}/")
    assert browser.js("document.getElementById('do-compare').disabled")
    # the first that is chosen is the one that others are compared with
    boxes = "[...document.querySelectorAll('#compare input')].map((one) => [one.dataset.word, one.value])"
    (last, last_key), (first, first_key) = browser.js(boxes)[:2]
    browser.js("document.querySelectorAll('#compare input')[1].click()")
    assert browser.js("document.getElementById('do-compare').disabled")
    browser.js("document.querySelector('#compare input').click()")
    asked = [one if one == "lab/two-way-1" else f"'{one}'" for one in (first, last)]
    assert text(browser, "compare-command") == f"perhop compare {' '.join(asked)}"
    browser.js("document.getElementById('do-compare').click()")
    browser.until("location.pathname === '/compare' && document.readyState === 'complete'")
    assert browser.js("new URLSearchParams(location.search).getAll('of')") == [first_key, last_key]
    assert browser.js("document.querySelectorAll('figure svg').length") > 0
    assert browser.js("document.querySelectorAll('img').length") == 0
    assert browser.console == []


@pytest.mark.parametrize(
    "path", ["/", f"/form/0/{PWN}", f"/form/0/{PWN}.toml", f"/page/0/{PWN}", f"/page/0/{EVIL}"]
)
def test_names_like_markup_do_nothing(browser: Chromium, opened: str, path: str) -> None:
    browser.go(f"{opened}{path}")
    assert browser.js("document.querySelectorAll('main img, header img').length") == 0
    assert browser.js("window.pwned") is None
    if path != f"/page/0/{EVIL}":
        assert PWN in browser.js(
            "document.body.textContent + [...document.querySelectorAll('input')].map((x) => x.value)"
        )


def test_what_is_injected_all_the_same_does_not_run(browser: Chromium, opened: str) -> None:
    """The policy holds where escaping would fail."""
    browser.go(f"{opened}/")
    browser.js(f"document.body.insertAdjacentHTML('beforeend', {json.dumps(PWN)})")
    browser.js(
        "var one = document.createElement('script'); one.text = 'pwned = 2'; document.body.append(one)"
    )
    browser.until("document.querySelector('img') !== null")
    assert browser.js("window.pwned") is None
    foreign = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"
    assert browser.js(foreign) == "refused"
    assert any("Content Security Policy" in one for one in browser.console)
    browser.console.clear()


def test_a_page_from_elsewhere_can_do_nothing(browser: Chromium, opened: str, tmp_path: Path) -> None:
    """A file's page has another origin: it may neither read, nor send a form, nor frame."""
    page = tmp_path / "evil.html"
    page.write_text(
        f"<form method=post action='{opened}/make/0/campaign.toml'><button>x</button></form>"
        f"<iframe src='{opened}/'></iframe>"
    )
    browser.go(f"file://{page}")
    assert browser.js(f"fetch('{opened}/').then((answer) => answer.text(), () => 'refused')") == "refused"
    assert browser.js("document.querySelector('iframe').contentDocument") is None
    browser.js("document.querySelector('button').click()")
    browser.until("document.body?.textContent.includes('did not come from a page of this server')")
    browser.go(f"{opened}/")
    assert "campaign run" not in browser.js(
        "(document.getElementById('jobs')?.nextElementSibling.textContent ?? '')"
    )
    browser.console.clear()


def test_nothing_was_asked_of_others(browser: Chromium, opened: str) -> None:
    """What went before asked only this server, but for what the tests above did to see it refused."""
    asked = [one for one in browser.requests if not one.startswith((opened, "data:", "file:", "about:"))]
    assert set(asked) <= {"http://127.0.0.1:9/"}


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_window(browser: Chromium, opened: str, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    for path in ("/", "/form/0/two-way.toml", "/jobs/1", "/nowhere"):
        browser.go(f"{opened}{path}")
        assert browser.js("document.documentElement.scrollWidth") <= width, path
