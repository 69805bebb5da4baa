"""The application: the first page, the parts, and pages of errors."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from perhop.experiment.ledger import StoreError
from perhop.serve import forms, lessons, listing, pictures, reports, trial, work
from perhop.serve.asked import FilledInError
from perhop.serve.connections import warn_once
from perhop.serve.guard import Guard
from perhop.serve.jobs import BusyError
from perhop.serve.places import UnknownPlaceError
from perhop.serve.site import Site, own_page, problem

Handler = Callable[[Request, Exception], Awaitable[Response]]

_MOST_LISTED = 500
_NOTHING = "error: nothing that is served has this address\nhint: begin at the list of runs"


def build(site: Site, port: int) -> Guard:
    """Return the whole application behind its guard."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        warn_once(asyncio.get_running_loop())
        yield
        await site.jobs.close()

    script = (files("perhop.serve") / "serve.js").read_bytes()

    async def first(request: Request) -> Response:
        return own_page(request, "home.html.j2", await run_in_threadpool(_listed, site))

    async def serve_js(_request: Request) -> Response:
        return Response(script, media_type="text/javascript")

    async def link(request: Request) -> Response:
        return own_page(request, "link.html.j2", {"title": "Link for another browser", "link": guard.link()})

    async def alive(_request: Request) -> Response:
        return Response(status_code=204)

    routes = [Route("/", first), Route("/serve.js", serve_js), Route("/alive", alive)]
    routes.append(Route("/link", link, methods=["POST"]))
    for part in (forms, trial, lessons, work, reports):
        routes += part.routes(site)
    guard = Guard(Starlette(routes=routes, exception_handlers=_ERRORS, lifespan=lifespan), port)
    return guard


def _listed(site: Site) -> dict[str, object]:
    """Return the contents of the first page."""
    found = site.search()
    runs = found.of("run")
    return {
        "title": "Laboratory",
        "jobs": sorted(site.jobs.all.values(), key=lambda job: -job.id)[:20],
        "runs": [listing.run(place) for place in runs[:_MOST_LISTED]],
        "more": max(0, len(runs) - _MOST_LISTED),
        "campaigns": [listing.campaign(place) for place in found.of("store")[:_MOST_LISTED]],
        "lessons": [lessons.card(site, place) for place in found.of("lesson")[:_MOST_LISTED]],
        "scenarios": [pictures.card(place) for place in found.of("scenario")[:_MOST_LISTED]],
        "reproduced": [(place, listing.when(place)) for place in found.of("reproduced")[:_MOST_LISTED]],
        "files": [
            (place, listing.asked(place), shlex.join(["perhop", *work.words_of(site, place)[0]]))
            for place in [*found.of("campaign"), *found.of("study")][:_MOST_LISTED]
        ],
        "whole": found.whole,
        "home": str(site.home),
        "roots": [str(root) for root in site.given],
        "folder": str(Path.cwd()),
    }


def _page(status: int, title: str, text: str) -> Handler:
    """Return what answers with a page of this text, in which `{}` is the error."""

    async def page(request: Request, error: Exception) -> Response:
        return problem(request, status, title, text.format(error))

    return page


async def _unreadable(request: Request, error: Exception) -> Response:
    hint = f"\nhint: {error.hint}" if isinstance(error, StoreError) and error.hint else ""
    return problem(request, 422, "It cannot be read", f"error: {error}{hint}")


async def _other(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(request, error.status_code, "Not here", f"error: {error.detail}")


_ERRORS = {
    UnknownPlaceError: _page(404, "Not here", _NOTHING),
    FilledInError: _page(400, "The form cannot be read", "error: {}"),
    BusyError: _page(409, "Not now", "error: {}\nhint: wait until one has ended, or end it"),
    StoreError: _unreadable,
    OSError: _unreadable,
    ValueError: _unreadable,
    HTTPException: _other,
}
"""What tells each error on a page, in words."""
