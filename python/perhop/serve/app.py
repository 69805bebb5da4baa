"""The application: the first page, the parts, and what errors look like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from perhop.experiment.ledger import StoreError
from perhop.serve import forms, listing, reports, work
from perhop.serve.asked import FilledInError
from perhop.serve.connections import tell_once
from perhop.serve.guard import Guard
from perhop.serve.jobs import BusyError
from perhop.serve.places import UnknownPlaceError
from perhop.serve.site import Site, own_page, problem

_MOST_LISTED = 500


def build(site: Site, port: int) -> Guard:
    """Return the whole application behind its guard."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        tell_once(asyncio.get_running_loop())
        yield
        await site.jobs.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    for part in (forms, work, reports):
        app.include_router(part.router(site))
    script = (files("perhop.serve") / "serve.js").read_bytes()

    @app.get("/")
    async def first(request: Request) -> Response:
        return own_page(request, "home.html.j2", await run_in_threadpool(_listed, site))

    @app.get("/serve.js")
    async def serve_js() -> Response:
        return Response(script, media_type="text/javascript")

    _tell_errors(app)
    return Guard(app, port)


def _listed(site: Site) -> dict[str, object]:
    """Return what the first page shows."""
    found = site.search()
    runs = found.of("run")
    return {
        "title": "Runs and campaigns",
        "jobs": sorted(site.jobs.all.values(), key=lambda job: -job.id)[:20],
        "runs": [listing.run(place) for place in runs[:_MOST_LISTED]],
        "more": max(0, len(runs) - _MOST_LISTED),
        "campaigns": [listing.campaign(place) for place in found.of("store")[:_MOST_LISTED]],
        "scenarios": found.of("scenario")[:_MOST_LISTED],
        "files": [
            (place, " ".join(["perhop", *work.campaign_words(site, place)[0]]))
            for place in found.of("campaign")[:_MOST_LISTED]
        ],
        "whole": found.whole,
        "home": str(site.home),
        "roots": [str(root) for root in site.given],
        "folder": str(Path.cwd()),
    }


def _tell_errors(app: FastAPI) -> None:
    """Have every error told on a page, in words."""

    @app.exception_handler(UnknownPlaceError)
    async def unknown(request: Request, _error: UnknownPlaceError) -> Response:
        text = "error: nothing that is served has this address\nhint: begin at the list of runs"
        return problem(request, 404, "Not here", text)

    @app.exception_handler(FilledInError)
    async def filled(request: Request, error: FilledInError) -> Response:
        return problem(request, 400, "The form cannot be read", f"error: {error}")

    @app.exception_handler(BusyError)
    async def busy(request: Request, error: BusyError) -> Response:
        return problem(request, 409, "Not now", f"error: {error}\nhint: wait until one has ended, or end it")

    @app.exception_handler(StoreError)
    async def damaged(request: Request, error: StoreError) -> Response:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        return problem(request, 422, "It cannot be read", f"error: {error}{hint}")

    @app.exception_handler(OSError)
    @app.exception_handler(ValueError)
    async def unreadable(request: Request, error: Exception) -> Response:
        return problem(request, 422, "It cannot be read", f"error: {error}")

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        return problem(request, error.status_code, "Not here", f"error: {error.detail}")
