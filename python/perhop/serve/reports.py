"""Pages that commands make: of a run, of a campaign, of several side by side."""

from __future__ import annotations

import asyncio
import html
import re
import shlex
from dataclasses import dataclass
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from perhop.experiment.store import Store
from perhop.report.page import is_page, render
from perhop.serve import listing
from perhop.serve.places import Place, UnknownPlaceError
from perhop.serve.site import Site, own_page, problem

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_NOTHING = "default-src 'none'"
_STILL = f"{_NOTHING}; style-src 'unsafe-inline'; img-src data:"
"""Of a page that is a file, which anybody may have written: it runs no script."""
_FILE = "/report.html"
"""The end of the address of such a page: its links lead to others of its kind, beside it and below it."""


def routes(site: Site) -> list[Route]:
    """Return the routes of reports."""

    async def page(request: Request) -> Response:
        key = request.path_params["key"]
        try:
            place, is_file = site.look_up(key), False
        except UnknownPlaceError:
            place, is_file = site.look_up(key.removesuffix(_FILE)), True
        if place.kind == "reproduced":
            if not is_file:
                return RedirectResponse(f"/page/{quote(key)}{_FILE}")
            return _with_bar(await run_in_threadpool(_page_file, place), place, _STILL)
        if is_file or place.kind not in ("run", "store"):
            raise UnknownPlaceError(key)
        return await made(request, ["report", place.word, "-o", "-"], [place])

    async def compare(request: Request) -> Response:
        places = [site.look_up(key) for key in request.query_params.getlist("of")]
        if len(places) < 2:
            hint = "hint: choose two runs or more on the first page"
            text = f"error: one run is not compared with itself\n{hint}"
            return problem(request, 422, "Compare what with what?", text, "perhop compare A B")
        return await made(request, ["compare", *(place.word for place in places), "-o", "-"], places)

    async def made(request: Request, words: list[str], places: list[Place]) -> Response:
        """Answer with the page that a command prints, or with its error."""
        place = places[0] if len(places) == 1 else None
        (code, text), since = await asyncio.gather(site.pages.page(words, places), _since(site, place))
        if code != 0:
            line = shlex.join(["perhop", *words])
            return problem(request, 422, f"No page: the command ended with {code}", text, line)
        return _with_bar(text, place, policy_of(text), since)

    async def treatments(request: Request) -> Response:
        key, of = request.path_params["key"], request.query_params.getlist("of")
        place = site.look_up(key)
        if place.kind != "store":
            raise UnknownPlaceError(key)
        names = await run_in_threadpool(_treatments, place)
        dashes = ["--"] if any(name.startswith("-") for name in of) else []
        words = ["compare", place.word, *dashes, *of[:2]]
        chosen = len(of) == 2 and set(of) <= set(names)
        code, out, err = await site.jobs.printed(words) if chosen else (0, "", "")
        shown = shlex.join(["perhop", *words]) if chosen else f"perhop compare {shlex.quote(place.word)} A B"
        asked = {"title": f"Treatments of {place.path}", "key": key, "names": names, "of": of}
        done = {"command": shown, "code": code, "out": out, "err": err}
        return own_page(request, "treatments.html.j2", {**asked, **done})

    return [
        Route("/page/{key:path}", page),
        Route("/compare", compare),
        Route("/treatments/{key:path}", treatments),
    ]


def _treatments(place: Place) -> list[str]:
    return [one.name for one in Store.open(place.path).campaign.design.treatments]


def _page_file(place: Place) -> str:
    file = place.path / _FILE[1:]
    if not is_page(file):
        raise ValueError(f"{file}: is no page of perhop")
    return file.read_text()


def _with_bar(text: str, place: Place | None, own: str, since: Since | None = None) -> Response:
    bar = render("templates/bar.html.j2", {"place": place, "since": since}, "perhop.serve")
    # the bar of a store has a form; what else is on a page may be anybody's, and presses nothing
    forms = "'self'" if place is not None and place.kind == "store" else "'none'"
    rest = f"base-uri 'none'; form-action {forms}; frame-ancestors 'none'"
    headers = {"content-security-policy": f"{own}; {rest}"}
    return HTMLResponse(text.replace("<body>\n", f"<body>\n{bar}\n", 1), headers=headers)


@dataclass(frozen=True)
class Since:
    """The run before another one: overrides that it has not, or had alone; what became of classes."""

    before: Place
    came: list[str]
    gone: list[str]
    sentences: list[str]


async def _since(site: Site, place: Place | None) -> Since | None:
    """Return what is new in a run since the run before, as `perhop compare` says it."""
    if place is None or place.kind != "run":
        return None
    found = await run_in_threadpool(_before, site, place)
    if found is None:
        return None
    before, was, own = found
    code, text = await site.pages.page(["compare", before.word, place.word], [before, place])
    sentences = text.partition("\n\n")[0].splitlines() if code == 0 else []
    came, gone = (
        [x for x in one.overrides if x not in other.overrides] for one, other in ((own, was), (was, own))
    )
    return Since(before, came, gone, sentences)


def _before(site: Site, place: Place) -> tuple[Place, listing.Head, listing.Head] | None:
    """Return the latest earlier run of the same scenario, or the one whose scenario was changed for it."""
    own = listing.run(place).head
    if own is None:
        return None
    for one in site.search().of("run"):
        head = listing.run(one).head if one.stamp() < place.stamp() else None
        if head is not None and own.scenario in (head.scenario, f"{one.word}/scenario.toml"):
            return one, head, own
    return None


def policy_of(page: str) -> str:
    """Return the policy that a page has for itself, for its answer; without one it may do nothing."""
    found = _POLICY.search(page, 0, 2000)
    own = html.unescape(found[1]).strip().rstrip(";") if found else _NOTHING
    return own if own.startswith(_NOTHING) and "\n" not in own else _NOTHING
