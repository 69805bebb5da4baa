"""Objects of a script: nodes, links, queues, agents, applications, each with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from perhop.import_ns2 import quantities
from perhop.import_ns2.defaults import Setting, check
from perhop.import_ns2.interpreter import Interpreter
from perhop.import_ns2.parser import Command
from perhop.import_ns2.remarks import LeftOut, Refused, shown
from perhop.units import written_time

MOST_NAME = 48
"""Characters of a name; perhop allows 64, and a number may follow."""


class Thing:
    """Something that a script makes."""

    left_out: ClassVar[dict[str, str]] = {}
    """Methods without effect on results, and what they do."""
    unknown: ClassVar[str] = "`{}` of {} is not taken"
    """The message on a method that is not taken."""

    def __init__(self, kind: str, line: int, text: str) -> None:
        self.kind = kind
        self.line = line
        self.text = shown(text)
        self.name = ""
        self.settings: dict[str, Setting] = {}

    def name_by(self, variable: str) -> None:
        """Take the name of the first variable that has it: of `s(3)` it is `s3`."""
        parts = re.findall(r"[A-Za-z0-9]+", variable)
        between = "" if len(parts) == 2 and parts[1].isdigit() else "_"
        self.name = self.name or between.join(parts)[:MOST_NAME]

    def call(self, interpreter: Interpreter, command: Command) -> str:
        """Take a method, leave it out or refuse it."""
        if len(command.words) < 2:
            raise Refused(f"a command of {self.kind} without a method")
        method = interpreter.word(command.words[1])
        if method in self.left_out:
            raise LeftOut(self.left_out[method])
        return self.take(interpreter, method, interpreter.arguments(command)[1:])

    def take(self, interpreter: Interpreter, method: str, given: list[str]) -> str:
        """Take a method with its arguments: `attach-agent` is `_take_attach_agent`. Refuse what has none."""
        name = method.replace("-", "_")
        taken = None if "_" in method else getattr(self, f"_take_{name}", None)
        if taken is None:
            raise self.refusal(method)
        return taken(interpreter, given) or ""

    def refusal(self, method: str) -> Refused:
        """Return why a method is not taken."""
        return Refused(self.unknown.format(method[:40], self.kind))

    def _take_set(self, interpreter: Interpreter, given: list[str]) -> str:
        """Take `set NAME VALUE` or `set NAME`."""
        if len(given) == 1 and given[0] in self.settings:
            return self.settings[given[0]].value
        if len(given) != 2:
            raise Refused(f"`set {' '.join(given)[:40]}` of {self.kind} is not taken")
        check(self.kind, *given)
        self.settings[given[0]] = Setting(given[1], interpreter.line)
        return given[1]

    def value(self, name: str) -> str:
        """Return a setting's value."""
        return self.settings[name].value

    def whole(self, name: str, least: int = 0) -> int:
        """Return a setting that is a whole number, or refuse."""
        return quantities.whole(self.value(name), name, least)

    def real(self, name: str) -> float:
        """Return a setting that is a number, or refuse."""
        return quantities.real(self.value(name), name)

    def truth(self, name: str) -> bool:
        """Return a setting that is true or false, or refuse."""
        return quantities.truth(self.value(name), name)

    def time(self, name: str) -> str:
        """Return a setting that is a time, as a scenario has it, or refuse."""
        return written_time(quantities.nanoseconds(self.value(name)))


SEEN = "it changes what is seen, not what happens"
TRACES = "traces are `--trace` of `perhop run`"
MONITORS = "monitors are not needed: a run leaves its tables"


class Node(Thing):
    """A node; its number counts from 0."""

    left_out: ClassVar[dict[str, str]] = dict.fromkeys(("color", "label", "shape", "label-color"), SEEN)

    def __init__(self, number: int, line: int, text: str) -> None:
        super().__init__("Node", line, text)
        self.number = number

    def _take_id(self, _interpreter: Interpreter, _given: list[str]) -> str:
        return str(self.number)


@dataclass
class Start:
    """When a sender begins, and how much it sends."""

    at_ns: int
    spread_ns: int
    """How much later it may be drawn."""
    packets: int | None
    """None without end."""
    line: int


class Agent(Thing):
    """An agent: the node it is at, and the one it is connected to."""

    left_out: ClassVar[dict[str, str]] = dict.fromkeys(("attach", "trace", "tracevar"), TRACES)
    node: Node | None = None
    peer: Agent | None = None
    link_line: int = 0
    """The line that connects it."""
    source: Application | None = None
    """What makes it send, once it is started."""
    start: Start | None = None


class Application(Thing):
    """An application and its agent."""

    agent: Agent | None = None

    def _take_attach_agent(self, interpreter: Interpreter, given: list[str]) -> None:
        agent = interpreter.objects.get(given[0]) if given else None
        if not isinstance(agent, Agent):
            raise Refused("it is attached to no agent that is taken")
        self.agent = agent


class Random(Thing):
    """A stream of random numbers."""

    left_out: ClassVar[dict[str, str]] = dict.fromkeys(("seed", "next-substream"), "the seed is `run.seed`")

    def _take_uniform(self, _interpreter: Interpreter, given: list[str]) -> str:
        if len(given) != 2:
            raise self.refusal("uniform")
        low, high = (quantities.real(one, "the bound") for one in given)
        return quantities.Drawn.between(low, high)


class Unwanted(Thing):
    """An observer: every method of it is left out."""

    def call(self, interpreter: Interpreter, command: Command) -> str:
        """Leave it out."""
        raise LeftOut(MONITORS)


MOST_OBJECTS = 50_000


def fresh(interpreter: Interpreter, made: Thing) -> str:
    """Give an object a handle, as ns-2 does."""
    if len(interpreter.objects) > MOST_OBJECTS:
        raise Refused(f"more than {MOST_OBJECTS} objects")
    handle = f"_o{len(interpreter.objects)}"
    interpreter.objects[handle] = made
    return handle
