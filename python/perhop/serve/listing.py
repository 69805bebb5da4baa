"""Rows of the first page, from little of each run and store."""

from __future__ import annotations

import time
import tomllib
from dataclasses import dataclass

import msgspec

from perhop.experiment import kept, ledger
from perhop.experiment.ledger import StoreError
from perhop.serve.pictures import question
from perhop.serve.places import Place


class Head(msgspec.Struct, frozen=True):
    """The part of a run's ``record.json`` that is read."""

    scenario: str
    seed: int
    replication: int
    overrides: list[str]
    trace: list[str]
    invariants: list[str]
    command: str


@dataclass(frozen=True)
class Run:
    """A run on the list; without a `head`, `fault` is the reason."""

    place: Place
    when: str
    head: Head | None
    fault: str = ""


@dataclass(frozen=True)
class Campaign:
    """A store on the list; without `states`, `fault` is the reason. One that `chooses` drops some runs."""

    place: Place
    when: str
    name: str
    states: dict[str, int]
    running: str
    fault: str = ""
    chooses: bool = False


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
_HEAD = msgspec.json.Decoder(Head)


def head(place: Place) -> Head:
    """Read the row of a run."""
    return _HEAD.decode((place.path / "record.json").read_bytes())


def run(place: Place) -> Run:
    """Return a run's line."""
    try:
        return Run(place, when(place), head(place))
    except (OSError, ValueError, RecursionError) as error:
        return Run(place, when(place), None, f"record.json is damaged: {error}")


def campaign(place: Place) -> Campaign:
    """Return a store's line."""
    try:
        with ledger.read(place.path) as book:
            meta, states = book.meta(), book.states()
        made = kept.decode(meta)
    except (StoreError, OSError, ValueError, KeyError) as error:
        return Campaign(place, when(place), "", {}, "", str(error))
    running = ledger.driver(place.path) or ""
    return Campaign(place, when(place), made.name, states, running, chooses=made.select is not None)


def asked(place: Place) -> str:
    """Return what a file asks: its `question` or its title, or its first comment."""
    try:
        source = place.path.read_bytes()
        found = tomllib.loads(source.decode())
    except (OSError, ValueError):
        return ""
    return str(found.get("question") or found.get("title") or "") or question(source)


def when(place: Place) -> str:
    """Return when it was last written."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(place.stamp()[0] / 1e9))
