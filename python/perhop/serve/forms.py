"""The page of a form: settings of a scenario, its command, and a button that runs it."""

from __future__ import annotations

import shlex
import tomllib
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from perhop._core import ScenarioError
from perhop.recommend.candidates import first_marks
from perhop.recommend.goals import GOALS
from perhop.run.tables import TRACES
from perhop.serve.asked import Base, Filled, Offer, base_of, offer, read, run_words, set_words
from perhop.serve.foremost import take_first
from perhop.serve.pictures import draw, question
from perhop.serve.places import word
from perhop.serve.site import Site, own_page, problem
from perhop.serve.trial import is_small


def routes(site: Site) -> list[Route]:
    """Return the routes of forms."""

    async def page(request: Request) -> Response:
        base = base_of(site.place_of(request))
        filled = Filled(base.sets, trace=base.trace)
        if request.method == "POST":
            filled = read(await request.body())
        return await _page(site, request, base, filled)

    async def sent(request: Request) -> tuple[Base, Filled, Offer]:
        base, filled = base_of(site.place_of(request)), read(await request.body())
        return base, filled, await run_in_threadpool(offer, base, filled, settle=False)

    async def check(request: Request) -> Response:
        try:
            base, filled, found = await sent(request)
        except ScenarioError as error:
            return JSONResponse({"command": "", "mistakes": [str(error)], "warnings": []})
        words = run_words(site, base, found.sets, filled.trace, filled.name)
        diagnostics = {"mistakes": found.mistakes, "warnings": found.warnings}
        return JSONResponse({"command": shlex.join(["perhop", *words]), **diagnostics})

    async def run(request: Request) -> Response:
        base, filled, found = await sent(request)
        name = filled.name or site.free_name(base.stem)
        return started(request, run_words(site, base, found.sets, filled.trace, name), name)

    async def recommend(request: Request) -> Response:
        base, filled, found = await sent(request)
        name = site.free_name(f"{base.stem}-recommend")
        words = ["recommend", base.word, *set_words(found.sets)]
        words += ["--goal", filled.goal] if filled.goal else []
        return started(request, [*words, "-o", word(site.home / name)], name)

    def started(request: Request, words: list[str], name: str) -> Response:
        back = f"/form/{quote(request.path_params['key'])}"
        return site.start(words, f"{site.home_key}/{name}", back)

    return [
        Route("/form/{key:path}", page, methods=["GET", "POST"]),
        Route("/check/{key:path}", check, methods=["POST"]),
        Route("/run/{key:path}", run, methods=["POST"]),
        Route("/recommend/{key:path}", recommend, methods=["POST"]),
    ]


async def _page(site: Site, request: Request, base: Base, filled: Filled) -> Response:
    try:
        found: Offer = await run_in_threadpool(offer, base, filled)
    except ScenarioError as error:
        checked = shlex.join(["perhop", "check", base.word, *set_words(filled.sets)])
        return problem(request, 422, "The scenario has mistakes", str(error), checked)
    name = filled.name or site.free_name(base.stem)
    words = run_words(site, base, found.sets, filled.trace, name)
    scenario = base.scenario.unread(*found.shown)
    meaning = scenario.describe()
    # without marks there is nothing to try for each class alike
    marked = any(map(first_marks, tomllib.loads(scenario.resolve()).get("port", [])))
    return own_page(
        request,
        "form.html.j2",
        {
            "title": f"Run {base.scenario.name}",
            "key": request.path_params["key"],
            "question": question(base.scenario.source),
            "picture": draw(meaning),
            "first": take_first(found.form, meaning),
            "offer": found,
            "small": is_small(scenario),
            "command": shlex.join(["perhop", *words]),
            "name": name,
            "home": str(site.home),
            "goals": ("", *GOALS) if marked else (*GOALS, ""),
            "traces": [(kind, kind in filled.trace) for kind in TRACES],
        },
    )
