"""Lessons in the browser: questions, predictions, and the command that judges them."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from perhop.run.folder import write_file
from perhop.scenario.overrides import toml
from perhop.serve import pictures
from perhop.serve.asked import FilledInError
from perhop.serve.places import Place, UnknownPlaceError, word
from perhop.serve.site import Site, own_page


def routes(site: Site) -> list[Route]:
    """Return the routes of lessons."""

    def lesson_of(request: Request) -> tuple[Place, dict[str, Any]]:
        place = site.look_up(request.path_params["key"])
        if place.kind != "lesson":
            raise UnknownPlaceError(place.key)
        return place, _read(place)

    async def page(request: Request) -> Response:
        place, lesson = lesson_of(request)
        folder, text = place.path.parent, place.path.with_suffix(".md")
        found = await run_in_threadpool(site.search)
        context = {
            "title": lesson["title"],
            "questions": lesson["question"],
            "text": text.read_text(errors="replace") if text.is_file() and not text.is_symlink() else "",
            "files": [one for one in found.of("scenario") if one.path.parent == folder],
            "command": f"perhop lesson check ANSWERS --lesson {shlex.quote(word(folder))}",
        }
        return own_page(request, "lesson.html.j2", context)

    async def check(request: Request) -> Response:
        place, lesson = lesson_of(request)
        given = {key: values[-1] for key, values in parse_qs((await request.body()).decode()).items()}
        seed = given.get("seed", "1")
        if not (seed.isascii() and seed.isdecimal()):
            raise FilledInError(f"the seed {seed!r} is no whole number")
        keys = ["student", *(one["key"] for one in lesson["question"])]
        lines = [f"seed = {int(seed)}", *(f"{key} = {toml(given.get(key, '').strip(), key)}" for key in keys)]
        folder = place.path.parent
        site.home.mkdir(parents=True, exist_ok=True)
        file = site.home / site.free_name(folder.resolve().name, ".answers.toml")
        write_file(file, "\n".join([*lines, ""]))
        job = site.jobs.start(["lesson", "check", word(file), "--lesson", word(folder)], "")
        return RedirectResponse(f"/jobs/{job.id}", 303)

    return [Route("/lesson/{key:path}", page), Route("/lesson/{key:path}", check, methods=["POST"])]


def _read(place: Place) -> dict[str, Any]:
    """Read a lesson, as far as a form needs it; `perhop lesson check` reads all of it.

    Raises
    ------
    OSError, ValueError
        It cannot be read.
    """
    found = tomllib.loads(place.path.read_text())
    questions = found.get("question") or [None]
    if not isinstance(found.get("title"), str) or not all(map(_is_question, questions)):
        raise ValueError(f"{place.path}: has no title, or a question without key, text and scenario")
    return found


def _is_question(one: Any) -> bool:
    keys = ("key", "text", "scenario")
    return (
        isinstance(one, dict)
        and all(isinstance(one.get(key), str) for key in keys)
        and one["key"].isidentifier()
    )


@dataclass(frozen=True)
class Card:
    """A lesson on the list, with the picture of its first question's scenario; or why there is none."""

    place: Place
    title: str
    questions: int
    picture: pictures.Picture | None
    fault: str = ""


def card(site: Site, place: Place) -> Card:
    """Return the card of a lesson."""
    try:
        lesson = _read(place)
    except (OSError, ValueError) as error:
        return Card(place, place.path.parent.name, 0, None, str(error))
    try:
        folder = place.key.rpartition("/")[0]
        picture = pictures.card(site.look_up(f"{folder}/{lesson['question'][0]['scenario']}")).picture
    except UnknownPlaceError:
        picture = None
    return Card(place, lesson["title"], len(lesson["question"]), picture)
