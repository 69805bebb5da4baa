"""State that the parts of a server share: places, jobs, pages, and templates."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from perhop.report.page import render
from perhop.run.folder import is_there
from perhop.serve.guard import policy
from perhop.serve.jobs import Jobs, Pages
from perhop.serve.places import Found, Place, look_up, search


@dataclass
class Site:
    """A server of the folders, stores, runs and files that are given."""

    given: Sequence[Path]
    home: Path
    jobs: Jobs
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    pages: Pages = field(init=False)

    def __post_init__(self) -> None:
        self.pages = Pages(self.jobs)
        self.roots = [*self.given, *([] if self.home in self.given else [self.home])]

    @property
    def home_key(self) -> str:
        """Key of the folder for runs from here."""
        return str(self.roots.index(self.home))

    def search(self) -> Found:
        """Find everything that is served."""
        return search(self.roots)

    def look_up(self, key: str) -> Place:
        """Return the place with a key; see `perhop.serve.places.look_up`."""
        return look_up(self.roots, key)

    def place_of(self, request: Request) -> Place:
        """Return the place that the address of a request names."""
        return self.look_up(request.path_params["key"])

    def start(self, words: Sequence[str], result: str, back: str) -> RedirectResponse:
        """Start a command (see `Job`) and lead to its page."""
        return RedirectResponse(f"/jobs/{self.jobs.start(words, result, back).id}", 303)

    def free_name(self, stem: str, end: str = "") -> str:
        """Return a name that nothing in the folder for results has, with that end."""
        names = (f"{stem}-{number}{end}" for number in itertools.count(1))
        return next(name for name in names if not is_there(self.home / name))


def own_page(request: Request, template: str, context: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """Return a page of the server's own, under its policy."""
    nonce = request.state.nonce
    html = render(f"templates/{template}", {"nonce": nonce, **context}, "perhop.serve")
    return HTMLResponse(html, status, {"content-security-policy": policy(nonce)})


def problem(request: Request, status: int, title: str, text: str, command: str = "") -> HTMLResponse:
    """Return the page of something that cannot be, in the words of the command line."""
    context = {"title": title, "text": text.rstrip(), "command": command}
    return own_page(request, "problem.html.j2", context, status)
