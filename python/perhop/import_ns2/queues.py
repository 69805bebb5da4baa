"""Queues of links, and ns-2's DiffServ queue with its policies, policers and precedences."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from perhop.import_ns2.interpreter import Interpreter
from perhop.import_ns2.quantities import real, whole
from perhop.import_ns2.remarks import Refused, need
from perhop.import_ns2.things import SEEN, Thing

MOST_QUEUES = 8
MODES = {"RIO-C": "coupled", "RIO-D": "decoupled", "WRED": "shared", "DROP": "drop"}
"""Averaging of dsRED, and what perhop calls it."""
POLICERS = {"Dumb": (0,), "TSW2CM": (1, 2), "TSW3CM": (2,), "TokenBucket": (2,), "srTCM": (3,), "trTCM": (4,)}
"""Policers that are taken, and how many numbers follow the code point."""
TWO_COLORS = ("TSW2CM", "TokenBucket")
"""Policers without a yellow code point."""
SCHEDULERS = ("RR", "WRR", "PRI")


class Policy(NamedTuple):
    """``addPolicyEntry``: source, destination (None for any), policer, code point, numbers."""

    source: int | None
    destination: int | None
    policer: str
    code: int
    numbers: tuple[float, ...]
    line: int

    def is_for(self, pair: tuple[int, int]) -> bool:
        """Return whether it is for packets from one node to another."""
        return self.source in (None, pair[0]) and self.destination in (None, pair[1])


class Curve(NamedTuple):
    """``configQ``: thresholds in packets, largest probability, weight or None, line."""

    low: int
    high: int
    largest: float
    weight: float | None
    line: int


class Queue(Thing):
    """The queue of one direction of a link."""

    left_out: ClassVar[dict[str, str]] = dict.fromkeys(
        ("attach", "trace", "reset", "printStats", "printPHBTable", "printPolicyTable", "printPolicerTable"),
        SEEN,
    )

    @property
    def limit(self) -> int:
        """Its limit as ns-2 counts it."""
        return whole(self.value("limit_"), "the limit", least=1)


class DsRed(Queue):
    """``dsRED/edge`` or ``dsRED/core``."""

    def __init__(self, kind: str, line: int, text: str) -> None:
        super().__init__(kind, line, text)
        self.mean = 500.0
        self.precedences = 4
        self.scheduler = "RR"
        self.weights: dict[int, int] = {}
        self.modes: dict[int, str] = {}
        self.curves: dict[tuple[int, int], Curve] = {}
        self.marks: dict[int, tuple[int, int]] = {}
        """Code point -> queue, precedence."""
        self.policies: list[Policy] = []
        self.policers: dict[tuple[str, int], tuple[int, int, int]] = {}
        """Policer and first code point -> code points of green, yellow and red."""

    @property
    def edge(self) -> bool:
        """Whether it meters and marks."""
        return self.kind.endswith("/edge")

    def _must_be_edge(self, method: str) -> None:
        if not self.edge:
            raise Refused(f"`{method}` is for dsRED/edge")

    def _take_addQueueRate(self, _interpreter: Interpreter, _given: list[str]) -> None:
        raise Refused("perhop's priorities have no largest rate: use `cbq` with `bounded`")

    def _take_meanPktSize(self, _interpreter: Interpreter, given: list[str]) -> None:
        need(len(given) == 1, "meanPktSize BYTES")
        self.mean = float(whole(given[0], "the mean packet", least=1))

    def _take_setNumPrec(self, _interpreter: Interpreter, given: list[str]) -> None:
        need(len(given) == 1, "setNumPrec NUMBER")
        self.precedences = whole(given[0], "the number of precedences", least=1)
        if self.precedences > 3:
            raise Refused("perhop's `gred` has three drop precedences")

    def _take_setMREDMode(self, _interpreter: Interpreter, given: list[str]) -> None:
        if given and given[0] not in MODES:
            raise Refused(f"mode `{given[0]}` is none of {', '.join(MODES)}")
        need(len(given) in (1, 2), "setMREDMode MODE QUEUE")
        queues = [whole(given[1], "the queue")] if len(given) == 2 else range(MOST_QUEUES)
        self.modes |= dict.fromkeys(queues, given[0])

    def _take_setSchedularMode(self, _interpreter: Interpreter, given: list[str]) -> None:
        if given == ["WIRR"]:
            raise Refused("perhop's `wrr` is not interleaved")
        if len(given) != 1 or given[0] not in SCHEDULERS:
            raise Refused(f"a scheduler is one of {', '.join(SCHEDULERS)}")
        self.scheduler = given[0]

    def _take_addQueueWeights(self, _interpreter: Interpreter, given: list[str]) -> None:
        need(len(given) == 2, "addQueueWeights QUEUE WEIGHT")
        self.weights[whole(given[0], "the queue")] = whole(given[1], "the weight", least=1)

    def _take_addPHBEntry(self, _interpreter: Interpreter, given: list[str]) -> None:
        need(len(given) == 3, "addPHBEntry CODEPOINT QUEUE PRECEDENCE")
        code = code_point(given[0])
        self.marks[code] = whole(given[1], "the queue"), whole(given[2], "the precedence")

    def _take_configQ(self, interpreter: Interpreter, given: list[str]) -> None:
        need(len(given) in (5, 6), "configQ QUEUE PRECEDENCE MIN MAX PROBABILITY WEIGHT")
        place = whole(given[0], "the queue"), whole(given[1], "the precedence")
        low, high, largest, *weight = (real(one, "the number") for one in given[2:])
        if not (0 <= low <= high <= 1e9):
            raise Refused("thresholds are not from 0 up")
        line = interpreter.line
        self.curves[place] = Curve(int(low), int(high), largest, weight[0] if weight else None, line)

    def _take_addPolicyEntry(self, interpreter: Interpreter, given: list[str]) -> None:
        self._must_be_edge("addPolicyEntry")
        need(len(given) >= 4, "addPolicyEntry SOURCE DESTINATION POLICER CODEPOINT ...")
        source, destination, policer, code, *rest = given
        if policer not in POLICERS:
            raise Refused(f"policer `{policer[:40]}` is not taken")
        if len(rest) not in POLICERS[policer]:
            many = " or ".join(str(number) for number in POLICERS[policer])
            raise Refused(f"{policer} has {many} numbers behind the code point")
        numbers = tuple(real(one, "the number") for one in rest)
        if any(not 0 <= one < 1e15 for one in numbers):
            raise Refused("rates and bursts are not from 0 up")
        self.policies.append(
            Policy(_host(source), _host(destination), policer, code_point(code), numbers, interpreter.line)
        )

    def _take_addPolicerEntry(self, _interpreter: Interpreter, given: list[str]) -> None:
        self._must_be_edge("addPolicerEntry")
        if not given or given[0] not in POLICERS:
            raise Refused(f"policer `{' '.join(given)[:40]}` is not taken")
        policer, *codes = given
        need = 1 if policer == "Dumb" else 2 if policer in TWO_COLORS else 3
        if len(codes) != need:
            raise Refused(f"{policer} has {need} code points")
        first, *others = (code_point(one) for one in codes)
        last = others[-1] if others else first
        self.policers[policer, first] = first, others[0] if len(others) == 2 else last, last


def code_point(text: str) -> int:
    """Return a code point from 0 to 63, or refuse."""
    found = whole(text, "code point")
    if found > 63:
        raise Refused(f"code point `{text}` is above 63")
    return found


def _host(text: str) -> int | None:
    return None if text == "-1" else whole(text, "the node")
