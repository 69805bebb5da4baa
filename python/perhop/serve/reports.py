"""Pages that commands make: of a run, of a campaign, of several side by side."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from perhop.experiment.store import Store
from perhop.report.page import render
from perhop.serve.places import Place, UnknownPlaceError
from perhop.serve.site import Site, own_page, problem

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_NOTHING = "default-src 'none'"


def routes(site: Site) -> list[Route]:
    """Return the routes of reports."""

    async def page(request: Request) -> Response:
        place = site.look_up(request.path_params["key"])
        if place.kind not in ("run", "store"):
            raise UnknownPlaceError(place.key)
        return await _made(site, request, ["report", place.word, "-o", "-"], [place])

    async def compare(request: Request) -> Response:
        places = [site.look_up(key) for key in request.query_params.getlist("of")]
        if len(places) < 2:
            text = (
                "error: one run is not compared with itself\nhint: choose two runs or more on the first page"
            )
            return problem(request, 422, "Compare what with what?", text, "perhop compare A B")
        words = ["compare", *(place.word for place in places), "-o", "-"]
        return await _made(site, request, words, places)

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
        context = {"title": f"Treatments of {place.path}", "key": key, "names": names, "of": of}
        return own_page(
            request, "treatments.html.j2", {**context, "command": shown, "code": code, "out": out, "err": err}
        )

    return [
        Route("/page/{key:path}", page),
        Route("/compare", compare),
        Route("/treatments/{key:path}", treatments),
    ]


def _treatments(place: Place) -> list[str]:
    return [one.name for one in Store.open(place.path).campaign.design.treatments]


def compare_words(places: Sequence[Place]) -> list[str]:
    """Return the command that compares runs."""
    return ["compare", *(place.word for place in places), "-o", "-"]


async def _made(site: Site, request: Request, words: list[str], places: Sequence[Place]) -> Response:
    """Answer with the page that a command prints, or with its error."""
    code, text = await site.pages.page(words, places)
    line = shlex.join(["perhop", *words])
    if code != 0:
        return problem(request, 422, f"No page: the command ended with {code}", text, line)
    place = places[0] if len(places) == 1 else None
    bar = render("templates/bar.html.j2", {"place": place}, "perhop.serve")
    own = policy_of(text)
    rest = "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    headers = {"content-security-policy": f"{own}; {rest}"}
    return HTMLResponse(text.replace("<body>\n", f"<body>\n{bar}\n", 1), headers=headers)


def policy_of(page: str) -> str:
    """Return the policy that a page has for itself, for its answer; without one it may do nothing."""
    found = _POLICY.search(page, 0, 2000)
    own = html.unescape(found[1]).strip().rstrip(";") if found else _NOTHING
    return own if own.startswith(_NOTHING) and "\n" not in own else _NOTHING
