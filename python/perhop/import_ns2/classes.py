"""ns-2's classes: settings, as the script changes them, and the objects of ``new``."""

from __future__ import annotations

from perhop.import_ns2.defaults import NS2, Setting, chain, check
from perhop.import_ns2.interpreter import Interpreter
from perhop.import_ns2.parser import Command
from perhop.import_ns2.queues import DsRed, Queue
from perhop.import_ns2.remarks import Refused, need, shown
from perhop.import_ns2.simulator import Network, Simulator
from perhop.import_ns2.things import Agent, Application, Random, Thing, fresh

_APPLICATIONS = ("Application/FTP", "Application/Traffic/CBR", "Application/Traffic/Exponential")
_MAKERS: dict[str, type[Thing]] = {
    "RNG": Random,
    **{kind: Agent for kind in NS2 if kind.startswith("Agent/")},
    **dict.fromkeys(_APPLICATIONS, Application),
}
_WHY = {
    "ErrorModel": "losses by chance are `loss` of a link: add it to the scenario yourself",
    "Application/Traffic/Pareto": "perhop's `on-off` has exponential times",
    "Agent/TCP/Vegas": "perhop has no Vegas",
    "Agent/TCP/Fack": "perhop has no FACK; `sack-1996` or `sack` is what comes nearest",
    "Agent/TCP/FullTcp": "ns-2's two-way TCP is another one: take one-way agents",
    "Agent/TCP/Linux": 'ns-2\'s Linux agents are other code: take `profile = "linux"` in the scenario',
}


class Classes:
    """Settings of classes, ns-2.35's until the script sets others."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.given: dict[str, dict[str, Setting]] = {}

    def settings(self, kind: str) -> dict[str, Setting]:
        """Return the settings that an object made now has: those of the nearest class count."""
        found: dict[str, Setting] = {}
        for one in reversed(chain(kind)):
            found |= {name: Setting(value, None) for name, value in NS2.get(one, {}).items()}
            found |= self.given.get(one, {})
        return found

    def queue(self, kind: str, line: int, text: str) -> Queue:
        """Make a queue of a kind like `RED`."""
        whole = f"Queue/{kind}"
        made = DsRed(whole, line, text) if kind.startswith("dsRED") else Queue(whole, line, text)
        made.settings = self.settings(whole)
        return made

    def new(self, interpreter: Interpreter, command: Command) -> str:
        """Take ``new CLASS``."""
        given = interpreter.arguments(command)
        need(len(given) == 1, "new CLASS")
        kind, text = given[0], shown(command.text)
        if kind == "Simulator":
            made: Thing = Simulator(self.queue, self.network, command.line, text)
        elif kind in _MAKERS:
            made = _MAKERS[kind](kind, command.line, text)
        else:
            raise Refused(_WHY.get(kind, f"class `{kind[:40]}` is not taken"))
        made.settings = self.settings(kind)
        return fresh(interpreter, made)


class ClassObject:
    """A class, to which settings are given before objects are made."""

    def __init__(self, kind: str, classes: Classes) -> None:
        self.kind = kind
        self.classes = classes

    def call(self, interpreter: Interpreter, command: Command) -> str:
        """Take ``CLASS set NAME VALUE``."""
        given = interpreter.arguments(command)
        need(len(given) == 3 and given[0] == "set", f"{self.kind} set NAME VALUE")
        name, value = given[1:]
        check(self.kind, name, value)
        self.classes.given.setdefault(self.kind, {})[name] = Setting(value, command.line)
        return value
