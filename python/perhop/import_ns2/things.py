"""Objects of a script: nodes, links, queues, agents, applications, each with its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from perhop.import_ns2.defaults import WITHOUT_EFFECT, Setting, check
from perhop.import_ns2.interpreter import LeftOut
from perhop.import_ns2.quantities import Drawn, real
from perhop.import_ns2.remarks import Refused, shown

if TYPE_CHECKING:
    from perhop.import_ns2.interpreter import Interpreter
    from perhop.import_ns2.syntax import Command

MOST_NAME = 48
"""Characters of a name; perhop allows 64, and a number may follow."""


def plain_name(variable: str) -> str:
    """Return a name for the scenario from that of a variable: `s(3)` is `s3`."""
    parts = re.findall(r"[A-Za-z0-9]+", variable)
    joined = "".join(parts) if len(parts) == 2 and parts[1].isdigit() else "_".join(parts)
    return joined[:MOST_NAME]


class Thing:
    """Something that a script makes."""

    left_out: ClassVar[dict[str, str]] = {}
    """Methods without effect on results, and what they do."""

    def __init__(self, kind: str, line: int, text: str) -> None:
        self.kind = kind
        self.line = line
        self.text = shown(text)
        self.name = ""
        self.settings: dict[str, Setting] = {}

    def name_by(self, variable: str) -> None:
        """Take the name of the first variable that has it."""
        self.name = self.name or plain_name(variable)

    def call(self, interpreter: Interpreter, command: Command) -> str:
        """Take a method, leave it out or refuse it."""
        if len(command.words) < 2:
            raise Refused(f"a command of {self.kind} without a method")
        method = interpreter.word(command.words[1])
        if method in self.left_out:
            raise LeftOut(self.left_out[method])
        return self.take(interpreter, method, interpreter.arguments(command)[1:])

    def take(self, interpreter: Interpreter, method: str, given: list[str]) -> str:
        """Take a method with its arguments, or refuse it."""
        if method == "set":
            return self.set(interpreter, given)
        raise Refused(f"`{method[:40]}` of {self.kind} is not taken")

    def set(self, interpreter: Interpreter, given: list[str]) -> str:
        """Take `set NAME VALUE` or `set NAME`."""
        if len(given) == 1 and given[0] in self.settings:
            return self.settings[given[0]].value
        if len(given) != 2:
            raise Refused(f"`set {' '.join(given)[:40]}` of {self.kind} is not taken")
        if given[0] in WITHOUT_EFFECT:
            raise LeftOut(f"`{given[0]}` changes no packet")
        check(self.kind, *given)
        self.settings[given[0]] = Setting(given[1], interpreter.line)
        return given[1]

    def value(self, name: str) -> str:
        """Return a setting's value."""
        return self.settings[name].value


_SEEN = "it changes what is seen, not what happens"


class Node(Thing):
    """A node; its number counts from 0."""

    left_out: ClassVar[dict[str, str]] = dict.fromkeys(("color", "label", "shape", "label-color"), _SEEN)

    def __init__(self, number: int, line: int, text: str) -> None:
        super().__init__("Node", line, text)
        self.number = number

    def take(self, interpreter: Interpreter, method: str, given: list[str]) -> str:
        """Take `id`."""
        return str(self.number) if method == "id" else super().take(interpreter, method, given)


class Agent(Thing):
    """An agent: the node it is at, and the one it is connected to."""

    left_out: ClassVar[dict[str, str]] = dict.fromkeys(
        ("attach", "trace", "tracevar"), "traces are `--trace` of `perhop run`"
    )
    node: Node | None = None
    peer: Agent | None = None
    link_line: int = 0
    """The line that connects it."""


class Application(Thing):
    """An application and its agent."""

    agent: Agent | None = None

    def take(self, interpreter: Interpreter, method: str, given: list[str]) -> str:
        """Take `attach-agent`."""
        if method != "attach-agent":
            return super().take(interpreter, method, given)
        agent = interpreter.objects.get(given[0]) if given else None
        if not isinstance(agent, Agent):
            raise Refused("it is attached to no agent that is taken")
        self.agent = agent
        return ""


class Random(Thing):
    """A stream of random numbers."""

    left_out: ClassVar[dict[str, str]] = {
        "seed": "the seed is `run.seed`",
        "next-substream": "the seed is `run.seed`",
    }

    def take(self, interpreter: Interpreter, method: str, given: list[str]) -> str:
        """Take `uniform LOW HIGH`."""
        if method != "uniform" or len(given) != 2:
            return super().take(interpreter, method, given)
        return Drawn.between(real(given[0], "the bound"), real(given[1], "the bound"))


class Unwanted(Thing):
    """An observer: every method of it is left out."""

    def call(self, interpreter: Interpreter, command: Command) -> str:
        """Leave it out."""
        raise LeftOut("monitors are not needed: a run leaves its tables")


MOST_OBJECTS = 50_000


def fresh(interpreter: Interpreter, made: Thing) -> str:
    """Give an object a handle, as ns-2 does."""
    if len(interpreter.objects) > MOST_OBJECTS:
        raise Refused(f"more than {MOST_OBJECTS} objects")
    handle = f"_o{len(interpreter.objects)}"
    interpreter.objects[handle] = made
    return handle
