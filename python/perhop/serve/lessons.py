"""Lessons in the browser: questions, predictions, and the command that judges them."""

from __future__ import annotations

import glob
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from perhop.lesson import form
from perhop.run.folder import write_file
from perhop.scenario.overrides import toml
from perhop.serve import pictures
from perhop.serve.asked import FilledInError
from perhop.serve.places import Place, UnknownPlaceError, word
from perhop.serve.site import Site, own_page, problem
from perhop.serve.text import html

Strings = Mapping[str, str]


def routes(site: Site) -> list[Route]:
    """Return the routes of lessons."""

    async def page(request: Request) -> Response:
        place = site.place_of(request)
        if place.kind != "lesson":
            raise UnknownPlaceError(place.key)
        try:
            lesson = await run_in_threadpool(form.load, place.path.parent)
        except form.LessonError as error:
            checked = shlex.join(["perhop", "check", place.word])
            return problem(request, 422, "The lesson has mistakes", str(error), checked)
        if request.method == "POST":
            return await check(request, place, lesson)
        return await shown(request, place, lesson, {}, {})

    async def shown(
        request: Request, place: Place, lesson: form.Lesson, given: Strings, mistakes: Strings
    ) -> Response:
        folder, text = place.path.parent, place.path.with_suffix(".md")
        found = await run_in_threadpool(site.search)
        is_text = text.is_file() and not text.is_symlink()
        context = {
            "title": lesson.title,
            "questions": lesson.questions,
            "given": given,
            "mistakes": mistakes,
            "text": html(text.read_text(errors="replace")) if is_text else "",
            "files": [one for one in found.of("scenario") if one.path.parent == folder],
            "command": f"perhop lesson check ANSWERS --lesson {shlex.quote(word(folder))}",
        }
        return own_page(request, "lesson.html.j2", context, 422 if mistakes else 200)

    async def check(request: Request, place: Place, lesson: form.Lesson) -> Response:
        given = {key: values[-1].strip() for key, values in parse_qs((await request.body()).decode()).items()}
        seed = given.get("seed", "1")
        if not (seed.isascii() and seed.isdecimal()):
            raise FilledInError(f"the seed {seed!r} is no whole number")
        keys = ["student", *(one.written.key for one in lesson.questions)]
        lines = [f"seed = {int(seed)}", *(f"{key} = {toml(given.get(key, ''), key)}" for key in keys)]
        source, folder = "\n".join([*lines, ""]), place.path.parent
        file = _file_of(site, folder.resolve().name, source)
        try:
            form.answers_in(source.encode(), file, lesson)
        except form.LessonError as error:
            told = {one["path"]: f"{one['rule']}. {one['hint'] or ''}".rstrip() for one in error.diagnostics}
            return await shown(request, place, lesson, given, told)
        site.home.mkdir(parents=True, exist_ok=True)
        write_file(file, source, may_replace=lambda _: True)
        words = ["lesson", "check", word(file), "--lesson", word(folder)]
        return site.start(words, "", f"/lesson/{quote(place.key)}")

    return [Route("/lesson/{key:path}", page, methods=["GET", "POST"])]


def _file_of(site: Site, stem: str, source: str) -> Path:
    """Return the file for answers: that of the same student and seed, if there is one."""
    own = tomllib.loads(source)
    for file in site.home.glob(f"{glob.escape(stem)}-*.{form.ANSWERS}"):
        try:
            other = tomllib.loads(file.read_text())
        except (OSError, ValueError):
            continue
        if other.keys() == own.keys() and all(other[key] == own[key] for key in ("student", "seed")):
            return file
    return site.home / site.free_name(stem, f".{form.ANSWERS}")


def _read(place: Place) -> dict[str, Any]:
    """Read a lesson as far as the list needs it; `perhop.lesson.form.load` reads all of it."""
    found = tomllib.loads(place.path.read_text())
    questions = found.get("question") or [None]
    if not isinstance(found.get("title"), str) or not all(map(_is_question, questions)):
        raise ValueError(f"{place.path}: has no title, or a question without key, text and scenario")
    return found


def _is_question(one: Any) -> bool:
    keys = ("key", "text", "scenario")
    has_all = isinstance(one, dict) and all(isinstance(one.get(key), str) for key in keys)
    return has_all and one["key"].isidentifier()


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
