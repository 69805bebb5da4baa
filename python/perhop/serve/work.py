"""Jobs in the browser: begun, followed as they go, ended."""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from perhop.experiment.definition import name_of
from perhop.serve.jobs import Job, following
from perhop.serve.places import Place, UnknownPlaceError
from perhop.serve.site import Site, own_page


def router(site: Site) -> APIRouter:
    """Return what answers about jobs."""
    routes = APIRouter()

    def job_of(number: int) -> Job:
        if number not in site.jobs.all:
            raise UnknownPlaceError(f"jobs/{number}")
        return site.jobs.all[number]

    @routes.post("/campaign/{key:path}")
    async def campaign(key: str) -> Response:
        place = site.look_up(key)
        words, result = campaign_words(site, place)
        return RedirectResponse(f"/jobs/{site.jobs.start(words, result).id}", 303)

    @routes.get("/jobs/{number}")
    async def page(request: Request, number: int) -> Response:
        job = job_of(number)
        return own_page(request, "job.html.j2", {"title": job.line, "job": job, **_result(site, job)})

    @routes.post("/jobs/{number}/end")
    async def end(number: int) -> Response:
        site.jobs.end(job_of(number))
        return RedirectResponse(f"/jobs/{number}", 303)

    @routes.get("/jobs/{number}/events")
    async def events(request: Request, number: int) -> Response:
        job = job_of(number)
        last = request.headers.get("last-event-id", "0")
        seen = int(last) if last.isdigit() and len(last) < 10 else 0
        return StreamingResponse(_events(site, job, seen), media_type="text/event-stream")

    return routes


def campaign_words(site: Site, place: Place) -> tuple[list[str], str]:
    """Return the command that runs what is missing of a campaign, and the key of its store."""
    if place.kind == "store":
        return ["campaign", "run", place.word], place.key
    if place.kind != "campaign":
        raise UnknownPlaceError(place.key)
    name = name_of(place.path)
    folder = str(site.home / name)
    store = f"./{folder}" if folder.startswith("-") else folder
    return ["campaign", "run", place.word, "-o", store], f"{site.home_key}/{name}"


def _result(site: Site, job: Job) -> dict[str, object]:
    """Return the place of what a job made, if it is there, and that it is told how the job ended."""
    found = None
    if job.state == "ended":
        try:
            found = site.look_up(job.result)
        except UnknownPlaceError:
            found = None
    return {"result": found, "again": shlex.join(["perhop", *job.words])}


async def _events(site: Site, job: Job, seen: int) -> AsyncIterator[str]:
    """Give server-sent events: each thing printed, how far it is, and at last how it ended."""
    async for number, stream, text in following(job, seen, site.stopping):
        data = {"stream": stream, "text": text, "percent": job.percent}
        yield f"id: {number}\nevent: printed\ndata: {json.dumps(data)}\n\n"
    if job.state == "ended":
        yield f"event: ended\ndata: {json.dumps({'code': job.code})}\n\n"
