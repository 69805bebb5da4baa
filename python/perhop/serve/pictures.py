"""A scenario at a glance: its question, and its topology as a drawing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from perhop._core import ScenarioError
from perhop.plot.layout import Place, group, places
from perhop.scenario.scenario import Description, LinkView, Scenario
from perhop.serve.places import Place as File
from perhop.units import bit_rate, duration

_COLUMN_PX, _ROW_PX, _EDGE_PX = 240, 92, 46
_ALONG = 0.42
"""How far along a link its words stand, from the end with more neighbours: there they have more room."""
_DEFAULT = ("all", "fifo", "1000p")
"""Class, queue and limit of a port that no scenario mentions."""


class Node(NamedTuple):
    """A node, or a counted one, in pixels."""

    x: float
    y: float
    label: str
    router: bool


class Link(NamedTuple):
    """A link between two points, and words at a third point."""

    x1: float
    y1: float
    x2: float
    y2: float
    x: float
    y: float
    words: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """A topology, in pixels, and in words."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    flows: str

    @property
    def described(self) -> str:
        """All of it in words."""
        return "; ".join([*(", ".join(link.words) for link in self.links), self.flows])


def draw(meaning: Description) -> Picture:
    """Return the drawing of a scenario's topology."""
    placed = places(meaning)
    low, high = (end(place.y for place in placed.values()) for end in (min, max))
    rows = Counter(place.x for place in placed.values())

    def at(place: Place) -> tuple[float, float]:
        return 1.4 * _EDGE_PX + place.x * _COLUMN_PX, _EDGE_PX + (high - place.y) * _ROW_PX

    many = Counter(group(node.name) for node in meaning.nodes)
    nodes = [
        Node(*at(place), name if many[name] == 1 else f"{name} ×{many[name]}", place.router)
        for name, place in placed.items()
    ]
    edges: dict[tuple[str, str], LinkView] = {}
    for link in meaning.links:
        edges.setdefault((group(link.source), group(link.target)), link)
    links = []
    for (source, target), link in edges.items():
        back = edges.get((target, source))
        if back is not None and (placed[source].x, source) > (placed[target].x, target):
            continue
        (x1, y1), (x2, y2) = at(placed[source]), at(placed[target])
        from_many = rows[placed[source].x] - rows[placed[target].x]
        along = 0.5 if not from_many else _ALONG if from_many > 0 else 1 - _ALONG
        links.append(Link(x1, y1, x2, y2, x1 + along * (x2 - x1), y1 + along * (y2 - y1), _words(link, back)))
    width = 2.8 * _EDGE_PX + max(place.x for place in placed.values()) * _COLUMN_PX
    return Picture(width, 2 * _EDGE_PX + (high - low) * _ROW_PX, tuple(nodes), tuple(links), _flows(meaning))


def _words(there: LinkView, back: LinkView | None) -> tuple[str, ...]:
    """Return a link's name, its rates and delays, and its queues that a scenario mentions."""
    name = f"{group(there.source)}-{group(there.target)}"
    ways = [("→", there), *([("←", back)] if back is not None else [])]
    numbers = [f"{bit_rate(one.rate_bit_s)}, {duration(one.delay_s)}" for _, one in ways]
    if len(set(numbers)) > 1:
        numbers = [f"{arrow} {number}" for arrow, number in zip("→←", numbers, strict=True)]
    queues = [f"{arrow} {own}" for arrow, one in ways if (own := _queues(one))]
    return (name, *dict.fromkeys(numbers), *queues)


def _queues(link: LinkView) -> str:
    classes = link.port.classes
    if len(classes) > 1:
        return f"{link.port.scheduler.kind}, {len(classes)} classes"
    own = (classes[0].name, classes[0].queue, classes[0].limit)
    return "" if own == _DEFAULT else f"{own[1]} {own[2]}"


def _flows(meaning: Description) -> str:
    """Return what goes from where to where, in words."""
    ends = [(one.name, one.source, one.target) for one in meaning.flows]
    ends += [(one.name, one.source, one.target) for one in meaning.udp]
    found = Counter("{} from {} to {}".format(*map(group, one)) for one in ends)
    each = [text if count == 1 else f"{text} ×{count}" for text, count in found.items()]
    more = f", and {len(each) - 8} more" if len(each) > 8 else ""
    return f"Flows: {', '.join(each[:8])}{more}." if each else "No flows."


def question(source: bytes) -> str:
    """Return the question of a file: its first comment, to the first line that ends a sentence."""
    words: list[str] = []
    for line in source.decode(errors="replace").splitlines():
        text = line.lstrip("#").strip()
        if line.startswith("#:") or (not words and not text):
            continue
        if not line.startswith("#") or not text:
            break
        words.append(text)
        if text[-1] in ".?!:":
            break
    return " ".join(words)


@dataclass(frozen=True)
class Card:
    """A scenario on the list; without a `picture` it has mistakes."""

    place: File
    question: str
    picture: Picture | None


def card(place: File) -> Card:
    """Return the card of a scenario file, made anew when the file changes."""
    return _card(place, place.stamp())


@lru_cache(maxsize=1000)
def _card(place: File, _stamp: tuple[int, ...]) -> Card:
    try:
        scenario = Scenario.load(place.path)
        return Card(place, question(scenario.source), draw(scenario.describe()))
    except (ScenarioError, OSError, ValueError) as error:
        return Card(place, str(error).partition("\n")[0], None)
