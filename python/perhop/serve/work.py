"""Jobs in the browser: begun, followed as they go, ended."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from perhop.experiment.rules import name_of
from perhop.run.folder import is_there
from perhop.serve.jobs import Job, following
from perhop.serve.places import Place, UnknownPlaceError, kind_of, word
from perhop.serve.site import Site, own_page


def routes(site: Site) -> list[Route]:
    """Return the routes of jobs."""

    def job_of(request: Request) -> Job:
        number = request.path_params["number"]
        if number not in site.jobs.all:
            raise UnknownPlaceError(f"jobs/{number}")
        return site.jobs.all[number]

    async def make(request: Request) -> Response:
        words, result = words_of(site, site.place_of(request))
        return site.start(words, result, "/#campaigns")

    async def page(request: Request) -> Response:
        job = job_of(request)
        return own_page(request, "job.html.j2", {"title": job.line, "job": job, "result": _result(site, job)})

    async def end(request: Request) -> Response:
        job = job_of(request)
        site.jobs.end(job)
        return RedirectResponse(f"/jobs/{job.id}", 303)

    async def events(request: Request) -> Response:
        job = job_of(request)
        last = request.headers.get("last-event-id", "0")
        seen = int(last) if last.isdigit() and len(last) < 10 else 0
        return StreamingResponse(_events(site, job, seen), media_type="text/event-stream")

    return [
        Route("/make/{key:path}", make, methods=["POST"]),
        Route("/jobs/{number:int}", page),
        Route("/jobs/{number:int}/end", end, methods=["POST"]),
        Route("/jobs/{number:int}/events", events),
    ]


def words_of(site: Site, place: Place) -> tuple[list[str], str]:
    """Return the command that makes what a file or a store is about, and the key of its result."""
    if place.kind == "store":
        return ["campaign", "run", place.word], place.key
    if place.kind == "campaign":
        name = name_of(place.path)
        if is_there(site.home / name) and kind_of(site.home / name) != "store":
            name = site.free_name(name)
        return ["campaign", "run", place.word, "-o", word(site.home / name)], f"{site.home_key}/{name}"
    if place.kind == "study":
        folder = place.path.parent
        name = site.free_name(folder.resolve().name)
        words = ["reproduce", word(folder), "--quick", "-o", word(site.home / name)]
        return words, f"{site.home_key}/{name}"
    raise UnknownPlaceError(place.key)


def _result(site: Site, job: Job) -> Place | None:
    """Return the place of a job's result, if it is there and records how the job ended."""
    if job.state == "ended":
        with suppress(UnknownPlaceError):
            return site.look_up(job.result)
    return None


async def _events(site: Site, job: Job, seen: int) -> AsyncIterator[str]:
    """Give server-sent events: each thing printed, how far it is, and at last how it ended."""
    async for number, stream, text in following(job, seen, site.stopping):
        data = {"stream": stream, "text": text, "percent": job.percent}
        yield f"id: {number}\nevent: printed\ndata: {json.dumps(data)}\n\n"
    if job.state == "ended":
        result = _result(site, job) if job.code == 0 else None
        page = f"/page/{quote(result.key)}" if result else None
        yield f"event: ended\ndata: {json.dumps({'code': job.code, 'page': page})}\n\n"
