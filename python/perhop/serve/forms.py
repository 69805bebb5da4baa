"""The page of a form: settings of a scenario, the command they amount to, and a button that runs it."""

from __future__ import annotations

import shlex

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse

from perhop._core import ScenarioError
from perhop.serve.asked import Base, Filled, Offer, base_of, offer, read, run_words
from perhop.serve.site import Site, own_page, problem
from perhop.tables import TRACES


def router(site: Site) -> APIRouter:
    """Return what answers about forms."""
    routes = APIRouter()

    @routes.get("/form/{key:path}")
    async def begin(request: Request, key: str) -> Response:
        base = base_of(site.look_up(key))
        filled = Filled(base.sets, trace=base.trace)
        return await _page(site, request, key, base, filled)

    @routes.post("/form/{key:path}")
    async def change(request: Request, key: str) -> Response:
        return await _page(site, request, key, base_of(site.look_up(key)), read(await request.body()))

    @routes.post("/check/{key:path}")
    async def check(request: Request, key: str) -> Response:
        base, filled = base_of(site.look_up(key)), read(await request.body())
        try:
            found = await run_in_threadpool(offer, base, filled, settle=False)
        except ScenarioError as error:
            return JSONResponse({"command": "", "mistakes": [str(error)], "warnings": []})
        words = run_words(site, base, found.sets, filled.trace, filled.name)
        told = {"mistakes": found.mistakes, "warnings": found.warnings}
        return JSONResponse({"command": shlex.join(["perhop", *words]), **told})

    @routes.post("/run/{key:path}")
    async def run(request: Request, key: str) -> Response:
        base, filled = base_of(site.look_up(key)), read(await request.body())
        found = await run_in_threadpool(offer, base, filled, settle=False)
        name = filled.name or site.free_name(base.stem)
        words = run_words(site, base, found.sets, filled.trace, name)
        job = site.jobs.start(words, f"{site.home_key}/{name}")
        return RedirectResponse(f"/jobs/{job.id}", 303)

    return routes


async def _page(site: Site, request: Request, key: str, base: Base, filled: Filled) -> Response:
    try:
        found: Offer = await run_in_threadpool(offer, base, filled)
    except ScenarioError as error:
        checked = shlex.join(["perhop", "check", base.word, *(x for one in filled.sets for x in ("-s", one))])
        return problem(request, 422, "The scenario has mistakes", str(error), checked)
    name = filled.name or site.free_name(base.stem)
    words = run_words(site, base, found.sets, filled.trace, name)
    return own_page(
        request,
        "form.html.j2",
        {
            "title": f"Run {base.scenario.name}",
            "key": key,
            "offer": found,
            "command": shlex.join(["perhop", *words]),
            "name": name,
            "home": str(site.home),
            "traces": [(kind, kind in filled.trace) for kind in TRACES],
        },
    )
