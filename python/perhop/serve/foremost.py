"""The settings of a form that come first: those that matter most to what a run gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, zip_longest

from perhop.plot.layout import group
from perhop.scenario.scenario import Description
from perhop.serve.settings import Field, Form, Group

_MOST = 10
_KINDS = (
    r"port\..+\.queue\.kind",
    r"port\..+\.queue\.limit",
    r"link\.[^.]+\.rate(\..+)?",
    r"link\.[^.]+\.delay(\..+)?",
    r"flow\..+\.tcp\.cc",
    r"port\.[^.]+\.scheduler\.(share|weights)",
    r"port\.[^.]+\.scheduler\.kind",
    r"flow\..+\.tcp\.window",
    r"udp\..+\.rate",
    r"run\.duration",
    r"run\.seed",
    r"link\.[^.]+\.loss",
    r"run\.warmup",
    r"flow\..+\.tcp\.(profile|size|mss)",
)
"""In this order, one setting of each kind in turn; the slowest link comes first."""


def take_first(shown: Form, meaning: Description) -> list[Field]:
    """Take the settings that matter most out of a form's groups; those of a kind just chosen go with it."""
    slow: dict[str, float] = {}
    alone = set()
    for link in meaning.links:
        rate, (source, target) = link.rate_bit_s, (group(link.source), group(link.target))
        slow[f"{source}->{target}"] = slow[f"port.{source}-{target}"] = rate
        for name in (f"link.{source}-{target}", f"link.{target}-{source}"):
            slow[name] = min(rate, slow.get(name, rate))
        if len(link.port.classes) == 1:
            alone.add(f"port.{source}-{target}")

    def rate_at(one: Field) -> float:
        return slow.get(one.name, slow.get(_element(one), 0.0))

    # a scheduler of one class has nothing to choose
    every = [
        one
        for part in shown.groups
        for one in _fields(part)
        if not (".scheduler." in one.path and _element(one) in alone)
    ]
    by_kind = [sorted((one for one in every if re.fullmatch(kind, one.path)), key=rate_at) for kind in _KINDS]
    rounds = chain.from_iterable(zip_longest(*by_kind))
    chosen = {one.path for one in [one for one in rounds if one is not None][:_MOST]}
    first: list[Field] = []
    for one in chain.from_iterable(by_kind):
        if one.path in chosen:
            table = one.path.removesuffix("kind") if one.swaps else None
            beside = [other for other in every if other.new and other.path == f"{table}{other.name}"]
            first += [one, *(other for other in beside if other.path not in chosen)]
    _leave(shown.groups, {one.path for one in first})
    return first


def _element(one: Field) -> str:
    return ".".join(one.path.split(".")[:2])


def _fields(part: Group) -> Iterator[Field]:
    yield from part.fields
    for inner in part.groups:
        yield from _fields(inner)


def _leave(groups: list[Group], taken: set[str]) -> None:
    """Drop fields, and groups that have nothing left."""
    for part in groups:
        part.fields = [one for one in part.fields if one.path not in taken]
        _leave(part.groups, taken)
    groups[:] = [part for part in groups if part.fields or part.groups or part.left_out]
