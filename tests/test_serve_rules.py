"""Who may ask `perhop serve` for what, and that text stays text."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from perhop import Scenario
from perhop.run import record
from perhop.run.folder import new_folder
from perhop.serve.app import build
from perhop.serve.guard import Guard
from perhop.serve.jobs import Jobs
from perhop.serve.places import UnknownPlaceError, look_up, search
from perhop.serve.reports import policy_of
from perhop.serve.server import home_of
from perhop.serve.site import Site

PORT = 8111
OWN = {"host": f"127.0.0.1:{PORT}"}
ORIGIN = {"origin": f"http://127.0.0.1:{PORT}"}
EVIL = "<img src=x onerror=alert(1)>"

TEXT = """
[run]
duration = "2s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "1Mbit/s"
[[flow]]
name = "up"
from = "a"
to = "b"
class = '<script>alert("class")</script>'
labels = { what = '</title><script>alert("label")</script>' }
"""


def write_run(folder: Path, name: str = "two.toml", *overrides: str) -> Path:
    scenario = Scenario(TEXT.encode(), name, overrides)
    with new_folder(folder) as partial:
        record.write(scenario.run(), scenario, partial)
    return folder


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a run and a scenario, both with names like markup."""
    folder = tmp_path_factory.mktemp("serve") / "lab"
    write_run(folder / EVIL, f"{EVIL}.toml", f'flow.up.class="{EVIL}"')
    (folder / f"{EVIL}.toml").write_text(TEXT)
    return folder


@pytest.fixture
def place(evil: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be where the folder is, and give its name."""
    monkeypatch.chdir(evil.parent)
    return Path(evil.name)


@pytest.fixture
def guard(place: Path) -> Guard:
    return build(Site([place], home_of([place]), Jobs(2)), PORT)


def ask(guard: Guard, method: str, path: str, cookie: bool = True, **more: object) -> httpx.Response:
    """Ask with the cookie, the right host and, of a form, the right origin, unless told otherwise."""

    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(guard, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as client:
            if cookie:
                client.cookies.set(guard._cookie, guard._secret)
            headers = OWN | (ORIGIN if method == "POST" else {}) | more.pop("headers", {})  # type: ignore[operator]
            sent = {name: value for name, value in headers.items() if value is not None}
            return await client.request(method, path, headers=sent, **more)  # type: ignore[arg-type]

    return asyncio.run(asked())


def test_the_link_opens_once_and_gives_a_cookie_for_this_server_alone(guard: Guard) -> None:
    wrong = ask(guard, "GET", "/?token=guessed", cookie=False)
    assert wrong.status_code == 403
    assert "set-cookie" not in wrong.headers
    link = guard.link().removeprefix(f"http://127.0.0.1:{PORT}")
    first = ask(guard, "GET", link, cookie=False)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert re.fullmatch(
        rf"perhop-{PORT}=[\w-]{{43}}; HttpOnly; SameSite=Strict; Path=/", first.headers["set-cookie"]
    )
    assert ask(guard, "GET", link, cookie=False).status_code == 403
    assert ask(guard, "GET", "/").status_code == 200


def test_a_new_link_is_for_another_browser_and_an_older_one_opens_no_more(guard: Guard) -> None:
    older = guard.link()
    assert ask(guard, "POST", "/link", cookie=False).status_code == 403
    page = ask(guard, "POST", "/link").text
    new = re.search(r"http://127\.0\.0\.1:8111(/\?token=[\w-]{43})<", page)
    assert new is not None
    assert ask(guard, "GET", older.partition(str(PORT))[2], cookie=False).status_code == 403
    assert ask(guard, "GET", new[1], cookie=False).status_code == 303
    assert ask(guard, "GET", new[1], cookie=False).status_code == 403


@pytest.mark.parametrize(
    "path", ["/", "/serve.js", "/page/0/x", "/form/0/x", "/jobs/1/events", "/openapi.json"]
)
def test_nothing_is_answered_without_the_cookie(guard: Guard, path: str) -> None:
    given = ask(guard, "GET", path, cookie=False)
    assert given.status_code == 403
    assert "<" not in given.text
    wrong = ask(guard, "GET", path, cookie=False, headers={"cookie": f"perhop-{PORT}=x; perhop-{PORT}="})
    assert wrong.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost:1@evil", "", "0.0.0.0:8111"]
)
def test_a_name_that_is_not_of_this_machine_is_refused(guard: Guard, host: str) -> None:
    assert ask(guard, "GET", "/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "[::1]:8111"])
def test_other_names_of_this_machine_are_good(guard: Guard, host: str) -> None:
    assert ask(guard, "GET", "/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", f"https://127.0.0.1:{PORT}"]
)
def test_a_form_of_others_is_refused(guard: Guard, origin: str | None) -> None:
    for path in ("/run/0/x", "/check/0/x", "/make/0/x", "/jobs/1/end"):
        assert ask(guard, "POST", path, headers={"origin": origin}).status_code == 403


def test_what_a_page_of_others_fetches_is_refused(guard: Guard) -> None:
    fetched = {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}
    assert ask(guard, "GET", "/", headers=fetched).status_code == 403
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert ask(guard, "GET", "/", headers=followed).status_code == 200
    assert ask(guard, "PUT", "/", headers=ORIGIN).status_code == 405
    assert ask(guard, "POST", "/check/0/x", content=b"x" * 1_000_001).status_code == 413


def test_every_answer_has_a_strict_policy(guard: Guard) -> None:
    for path in ("/", f"/form/0/{EVIL}", "/not/there", "/serve.js", "/page/0/nothing"):
        answer = ask(guard, "GET", path)
        said = answer.headers["content-security-policy"]
        assert said.startswith("default-src 'none'")
        assert "unsafe" not in said
        assert "frame-ancestors 'none'" in said
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        nonces = set(re.findall(r'<(?:script|style) nonce="([\w-]+)"', answer.text))
        assert len(re.findall(r"<(?:script|style)\b", answer.text)) == (2 if nonces else 0)
        assert nonces <= set(re.findall(r"'nonce-([\w-]+)'", said))
    one, other = (ask(guard, "GET", "/").headers["content-security-policy"] for _ in range(2))
    assert one != other


@pytest.mark.parametrize(
    "key",
    [
        "",
        "1",
        "-1",
        "9",
        "0/..",
        "0/../secret",
        "0/./run",
        "0//run",
        "0/link",
        "0/link/run",
        "0/run/link.toml",
        "0/.hidden",
        "0/run/scenario.toml",
        "0/text.txt",
        "0/run/../run",
        "0/a\0b",
        "٠/run",
        "0/half",
        "/etc",
        "0/odd",
    ],
)
def test_a_key_leads_to_nothing_else(tmp_path: Path, key: str) -> None:
    root = tmp_path / "lab"
    for folder in (root / "run", root / ".hidden", tmp_path / "secret"):
        folder.mkdir(parents=True)
        for name in ("record.json", "scenario.toml"):
            (folder / name).write_text(TEXT)
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "link.toml").symlink_to(tmp_path / "secret" / "scenario.toml")
    (root / "text.txt").write_text(TEXT)
    (root / "half").mkdir()
    (root / "half" / "record.json").symlink_to(tmp_path / "secret" / "record.json")
    (root / "half" / "scenario.toml").write_text(TEXT)
    (root / "odd").mkdir()
    with pytest.raises(UnknownPlaceError):
        look_up([root], key)
    assert look_up([root], "0/run").path == root / "run"
    assert {place.key for place in search([root]).places} == {"0/run", "0/half/scenario.toml"}


@pytest.mark.parametrize(
    "path", ["/page/0/..%2F..%2Fetc", "/form/0/../../etc/passwd", "/page/0/%2e%2e/x", "/jobs/7"]
)
def test_an_address_that_climbs_is_nowhere(guard: Guard, path: str) -> None:
    assert ask(guard, "GET", path).status_code == 404


def test_names_like_markup_are_shown_as_text(guard: Guard, place: Path) -> None:
    for path in ("/", f"/form/0/{EVIL}", f"/form/0/{EVIL}.toml", f"/page/0/{EVIL}", f"/page/0/{EVIL}x"):
        text = ask(guard, "GET", path).text
        assert "<img" not in text
        assert '<script>alert("' not in text
    listed = ask(guard, "GET", "/").text
    assert "&lt;img src=x onerror=alert(1)&gt;.toml" in listed
    assert "flow.up.class=&#34;&lt;img" in listed
    Path(place, "bad.toml").write_text(f'[[flow]]\nname = "<script>alert(3)</script>{EVIL}"\n')
    bad = ask(guard, "GET", "/form/0/bad.toml")
    assert bad.status_code == 422
    assert "&lt;script&gt;alert(3)&lt;/script&gt;" in bad.text
    assert "<img" not in bad.text


def test_what_is_filled_in_is_shown_as_text_and_goes_into_no_shell(guard: Guard, place: Path) -> None:
    filled = {
        "value:flow.up.class": f"{EVIL}'; touch x #",
        "value:run.duration": EVIL,
        "set": f"run.seed={EVIL}",
    }
    shown = ask(guard, "POST", f"/form/0/{EVIL}.toml", data=filled)
    assert "<img" not in shown.text
    checked = ask(guard, "POST", f"/check/0/{EVIL}.toml", data={**filled, "set": "run.seed=2"}).json()
    assert "'flow.up.class=<img src=x onerror=alert(1)>'\"'\"'; touch x #'" in checked["command"]
    assert "run.duration" in checked["mistakes"][0]
    for odd in (
        {"name": "../up"},
        {"name": "/x"},
        {"name": "-x"},
        {"value:run.seed": "1\n2"},
        {"other": "1"},
    ):
        assert ask(guard, "POST", f"/check/0/{EVIL}.toml", data=odd).status_code == 400


def test_a_page_without_a_policy_of_its_own_may_do_nothing() -> None:
    meta = '<meta http-equiv="Content-Security-Policy" content="{}">'
    own = "default-src 'none'; script-src 'sha256-abc='"
    assert policy_of(f"<head>{meta.format(own)}") == own
    assert policy_of(f"<head>{meta.format(own.replace(chr(39), '&#39;'))}") == own
    for odd in ("", meta.format("script-src *"), "x" * 3000 + meta.format(own)):
        assert policy_of(odd) == "default-src 'none'"


def send(guard: Guard, body: list[dict[str, object]]) -> int:
    """Post a body in parts to a form, as a server hands it on; return the status of the answer."""
    parts, answers = iter(body), list[dict[str, object]]()
    headers = {**OWN, **ORIGIN, "cookie": f"{guard._cookie}={guard._secret}"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/check/0/{EVIL}.toml",
        "raw_path": b"",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("127.0.0.1", PORT),
        "asgi": {"version": "3.0"},
        "client": ("127.0.0.1", 1),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }

    async def receive() -> dict[str, object]:
        part = next(parts, None)
        if part is None:
            await asyncio.sleep(60)
        assert part is not None
        return part

    async def answer(message: dict[str, object]) -> None:
        answers.append(message)

    asyncio.run(guard(scope, receive, answer))  # type: ignore[arg-type]
    return int(str(answers[0]["status"]))


def test_a_body_that_announced_nothing_and_is_too_long_is_refused(guard: Guard) -> None:
    part = {"type": "http.request", "body": b"x" * 300_000, "more_body": True}
    assert send(guard, [part] * 9) == 413


def test_a_body_whose_rest_never_comes_is_refused(
    guard: Guard,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("perhop.serve.guard.SILENT_S", 0.1)
    assert send(guard, [{"type": "http.request", "body": b"name=x", "more_body": True}]) == 408
