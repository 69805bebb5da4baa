"""A scenario with the promises of a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perhop.experiment import shape
from perhop.experiment.fault import Fault, FileError
from perhop.scenario.overrides import toml

if TYPE_CHECKING:
    from perhop.scenario.scenario import Scenario


class _File(msgspec.Struct):
    """A file of promises."""

    sla: list[dict[str, str]]


def promised(scenario: Scenario, path: Path) -> Scenario:
    """Return a scenario with the promises of a file in the place of its own.

    Raises
    ------
    OSError
        It cannot be read.
    FileError
        It has mistakes, or the scenario cannot promise that.
    """
    source = path.read_bytes()
    tables = shape.read(path, source, _File, FileError).sla
    changed = scenario.unread(f"sla={toml(tables, 'sla')}")
    wrong = changed.check()
    if wrong and not scenario.check():
        faults = [Fault(_at(one["path"]), one["rule"], one["hint"]) for one in wrong]
        raise FileError(shape.diagnostics(path, source, faults))
    return changed


def _at(path: str) -> tuple[str | int, ...]:
    """Return the place in the file of a setting such as ``sla[0].bound``."""
    return tuple(int(part) if part.isdecimal() else part for part in re.findall(r"[^.\[\]]+", path))
