"""``Simulator``: the network that a script builds, and its actions by time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from perhop.import_ns2.interpreter import Interpreter
from perhop.import_ns2.parser import Command
from perhop.import_ns2.quantities import nanoseconds, rate, whole
from perhop.import_ns2.queues import Queue
from perhop.import_ns2.remarks import LeftOut, Refused, need, shown
from perhop.import_ns2.things import MONITORS, SEEN, TRACES, Agent, Node, Thing, Unwanted, fresh

_T = TypeVar("_T", bound=Thing)

MOST_NODES = 5000
QUEUES = ("DropTail", "RED", "dsRED/edge", "dsRED/core")
"""Kinds of queue that a link can be made with."""


class Direction(Thing):
    """One direction of a link."""

    def __init__(self, ends: tuple[Node, Node], bit_s: int, delay_ns: int, queue: Queue) -> None:
        super().__init__("link", queue.line, queue.text)
        self.ends = ends
        self.bit_s = bit_s
        self.delay_ns = delay_ns
        self.queue = queue
        self.handle = ""

    def _take_queue(self, _interpreter: Interpreter, _given: list[str]) -> str:
        return self.handle


@dataclass
class Event:
    """A command of ``$ns at``: time, command, and its line."""

    time: str
    script: str
    line: int
    text: str


@dataclass
class Network:
    """The network of a script, in the order of its lines."""

    nodes: list[Node] = field(default_factory=list)
    directions: dict[tuple[int, int], Direction] = field(default_factory=dict)
    senders: list[Agent] = field(default_factory=list)
    """Agents that are connected to another, in the order of ``$ns connect``."""
    events: list[Event] = field(default_factory=list)
    runs: bool = False


class Simulator(Thing):
    """``new Simulator``; `queue` makes a queue of a kind, as `Classes.queue` does."""

    unknown: ClassVar[str] = "`$ns {}` is not taken"
    left_out: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("color", "duplex-link-op", "simplex-link-op"), SEEN),
        **dict.fromkeys(("trace-all", "namtrace-all", "namtrace-all-wireless"), TRACES),
        **dict.fromkeys(("trace-queue", "namtrace-queue", "flush-trace"), TRACES),
        "use-scheduler": "it is how ns-2 keeps its events",
    }

    def __init__(
        self, queue: Callable[[str, int, str], Queue], network: Network, line: int, text: str
    ) -> None:
        super().__init__("Simulator", line, text)
        self.queue = queue
        self.network = network

    def call(self, interpreter: Interpreter, command: Command) -> str:
        """Take a command; made objects are remembered as text."""
        self.text = shown(command.text)
        return super().call(interpreter, command)

    def _take_set(self, _interpreter: Interpreter, _given: list[str]) -> str:
        raise self.refusal("set")

    def _take_node(self, interpreter: Interpreter, given: list[str]) -> str:
        if given:
            raise Refused("a node takes no arguments")
        if len(self.network.nodes) >= MOST_NODES:
            raise Refused(f"more than {MOST_NODES} nodes")
        node = Node(len(self.network.nodes), interpreter.line, self.text)
        self.network.nodes.append(node)
        return fresh(interpreter, node)

    def _take_duplex_link(self, interpreter: Interpreter, given: list[str]) -> None:
        self._take_simplex_link(interpreter, given)
        self._take_simplex_link(interpreter, [given[1], given[0], *given[2:]])

    def _take_simplex_link(self, interpreter: Interpreter, given: list[str]) -> None:
        if len(given) != 5:
            raise Refused("a link is made with two nodes, rate, delay and the kind of its queue")
        ends = _pair(interpreter, given)
        if given[4] not in QUEUES:
            raise Refused(f"queue `{given[4][:40]}` is none of {', '.join(QUEUES)}")
        place = ends[0].number, ends[1].number
        if place[0] == place[1]:
            raise Refused("a link from a node to itself")
        if place in self.network.directions:
            raise Refused("perhop has one link between two nodes; there is one already")
        queue = self.queue(given[4], interpreter.line, self.text)
        made = Direction(ends, rate(given[2]), nanoseconds(given[3]), queue)
        made.handle = fresh(interpreter, queue)
        self.network.directions[place] = made

    def _take_link(self, interpreter: Interpreter, given: list[str]) -> str:
        return fresh(interpreter, self._direction(interpreter, given))

    def _direction(self, interpreter: Interpreter, given: list[str]) -> Direction:
        one, other = _pair(interpreter, given)
        found = self.network.directions.get((one.number, other.number))
        if found is None:
            raise Refused("there is no link between these nodes that is taken")
        return found

    def _take_queue_limit(self, interpreter: Interpreter, given: list[str]) -> str:
        need(len(given) == 3, "queue-limit FROM TO PACKETS")
        whole(given[2], "the limit", least=1)
        queue = self._direction(interpreter, given[:2]).queue
        return queue.take(interpreter, "set", ["limit_", given[2]])

    def _take_attach_agent(self, interpreter: Interpreter, given: list[str]) -> None:
        need(len(given) == 2, "attach-agent NODE AGENT")
        agent = _thing(interpreter, given[1], Agent, "an agent")
        agent.node = _thing(interpreter, given[0], Node, "a node")

    def _take_connect(self, interpreter: Interpreter, given: list[str]) -> None:
        need(len(given) == 2, "connect SENDER RECEIVER")
        sender, receiver = (_thing(interpreter, one, Agent, "an agent") for one in given)
        if sender.kind in ("Agent/Null", "Agent/LossMonitor") or sender.kind.startswith("Agent/TCPSink"):
            raise Refused("the agent that sends comes first")
        if sender.peer is not None:
            raise Refused("the agent is connected already")
        if sender.node is None or receiver.node is None:
            raise Refused("an agent that is attached to no node")
        sender.peer = receiver
        sender.link_line = interpreter.line
        self.network.senders.append(sender)

    def _take_at(self, interpreter: Interpreter, given: list[str]) -> None:
        need(len(given) == 2, "at TIME COMMAND")
        self.network.events.append(Event(given[0], given[1], interpreter.line, self.text))

    def _take_monitor_queue(self, interpreter: Interpreter, given: list[str]) -> str:
        made = Unwanted("a monitor", interpreter.line, self.text)
        interpreter.left_out.add(interpreter.line, self.text, MONITORS)
        return fresh(interpreter, made)

    def _take_rtproto(self, _interpreter: Interpreter, given: list[str]) -> None:
        if given and given[0] in ("Static", "Session"):
            raise LeftOut("routes are the fewest hops")
        raise Refused("perhop's routes are the fewest hops, and stay")

    def _take_now(self, _interpreter: Interpreter, _given: list[str]) -> str:
        return "0"

    def _take_run(self, _interpreter: Interpreter, _given: list[str]) -> None:
        self.network.runs = True


def _thing(interpreter: Interpreter, handle: str, kind: type[_T], what: str) -> _T:
    found = interpreter.objects.get(handle)
    if not isinstance(found, kind):
        raise Refused(f"`{handle[:40]}` is not {what} that is taken")
    return found


def _pair(interpreter: Interpreter, given: list[str]) -> tuple[Node, Node]:
    if len(given) < 2:
        raise Refused("two nodes are needed")
    one, other = (_thing(interpreter, handle, Node, "a node") for handle in given[:2])
    return one, other
