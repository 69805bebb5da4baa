"""A small scenario run as a slider moves: in this process, kept nowhere."""

from __future__ import annotations

import asyncio
import time

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from perhop._core import ScenarioError
from perhop.run import summary
from perhop.run.run import Result, run
from perhop.say.document import filled
from perhop.scenario.scenario import HOPS_PER_S, Scenario
from perhop.serve.asked import Base, Filled, base_of, offer, read
from perhop.serve.site import Site

_EXPECTED_S = 0.5
"""The longest run that is tried, s, as it is expected to take on an idle core."""

_LONGEST_S = 3.0
_COLUMNS = {
    "classes": ("class", "class", 3, "goodput: goodput_bit_s | lost: {lost:%} | 95 % within: delay_p95_s"),
    "flows": ("flow", "name", 4, "goodput: goodput_bit_s"),
    "applications": ("application", "name", 2, "half within: load_p50_s"),
    "calls": ("call", "name", 2, "MOS: {mos:.2f}"),
}
"""Of each table: what a row is, what names it, the most rows that are shown, and what is shown of each."""


class _TooLongError(Exception):
    """A run takes longer than a slider may wait."""


def is_small(scenario: Scenario) -> bool:
    """Return whether a scenario without mistakes may run as a slider moves; none with programs may."""
    core = scenario.core
    return not (core.live or core.has_programs) and scenario.work() <= _EXPECTED_S * HOPS_PER_S


def routes(site: Site) -> list[Route]:
    """Return the route of trials."""
    turn = asyncio.Lock()

    async def tried(request: Request) -> Response:
        base, asked = base_of(site.place_of(request)), read(await request.body())
        async with turn:
            return JSONResponse(await run_in_threadpool(_tried, base, asked))

    return [Route("/try/{key:path}", tried, methods=["POST"])]


def _tried(base: Base, asked: Filled) -> dict[str, object]:
    """Return what a run gives, or why there is none."""
    until = time.monotonic() + _LONGEST_S

    def look(_done: float, _whole: float) -> None:
        if time.monotonic() > until:
            raise _TooLongError

    try:
        scenario = base.scenario.unread(*offer(base, asked, settle=False).sets)
        if scenario.core.live:
            return {"why": "Not run as you move: it runs on real packets. Press Run."}
        if scenario.core.has_programs:
            return {"why": "Not run as you move: it starts programs. Press Run."}
        if is_small(scenario):
            return _measured(run(scenario, progress=look, series=False))
    except _TooLongError:
        pass
    except ScenarioError:
        return {"why": "Not run: the settings have a mistake."}
    return {"why": "Not run as you move: it takes too long. Press Run."}


def _measured(result: Result) -> dict[str, object]:
    """Return what is measured after the warm-up: headings and cells."""
    found: dict[str, object] = {}
    tables = result.tables()
    tables["classes"] = tables["classes"].with_columns(lost=summary.LOST)
    if not 2 <= tables["flows"].height <= _COLUMNS["flows"][2]:
        del tables["flows"]  # one is its class, of many the class says enough
    for name, (what, key, most, columns) in _COLUMNS.items():
        rows = tables[name].head(most).to_dicts() if name in tables else []
        table = filled("", [columns], rows)
        for row, cells in zip(rows, table.rows, strict=True):
            of = "" if len(rows) == 1 else f"{what} {row[key]}: "
            texts = ("–" if cell is None else str(cell) for cell in cells)
            found |= zip((f"{of}{column}" for column in table.columns), texts, strict=True)
    return {"headings": list(found), "cells": list(found.values())}
