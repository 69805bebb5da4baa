"""A script read to its end: the network it built, its end, and the starts of flows."""

from __future__ import annotations

from dataclasses import dataclass, field

from perhop.import_ns2.builtins import BUILTINS
from perhop.import_ns2.classes import Classes, ClassObject
from perhop.import_ns2.defaults import NS2
from perhop.import_ns2.interpreter import Interpreter, TooLong
from perhop.import_ns2.parser import Command, parse
from perhop.import_ns2.procedures import ends, only_looks
from perhop.import_ns2.quantities import Drawn, nanoseconds, whole
from perhop.import_ns2.remarks import Refused, Remark
from perhop.import_ns2.simulator import Event, Network
from perhop.import_ns2.things import Agent, Application, Random, Start, fresh


@dataclass
class Script:
    """The contents of a script, with the parts that are refused or left out."""

    network: Network
    end_ns: int = 0
    started: list[Agent] = field(default_factory=list)
    refused: tuple[Remark, ...] = ()
    left_out: tuple[Remark, ...] = ()


def read(text: str) -> Script:
    """Read a script; nothing of it is executed."""
    network = Network()
    classes = Classes(network)
    interpreter = Interpreter(BUILTINS | {"new": classes.new})
    interpreter.objects |= {kind: ClassObject(kind, classes) for kind in NS2}
    interpreter.assign("defaultRNG", fresh(interpreter, Random("RNG", 0, "defaultRNG")))
    script = Script(network)
    try:
        _lines(interpreter, network, text)
        _Events(interpreter, script).take()
    except TooLong:
        interpreter.refused.add(interpreter.line, "", "a loop that is too long, or never ends")
    script.refused, script.left_out = interpreter.refused.sorted(), interpreter.left_out.sorted()
    return script


def _lines(interpreter: Interpreter, network: Network, text: str) -> None:
    """Take the commands up to ``$ns run``; ns-2 never comes to those behind it."""
    parsed = parse(text.replace("\r\n", "\n"))
    for mistake in parsed.mistakes:
        interpreter.refused.add(mistake.line, "", str(mistake))
    for command in parsed.commands:
        if network.runs:
            interpreter.left_out.add(command.line, command.text, "it stands behind `$ns run`")
        else:
            interpreter.run((command,))
    if not network.runs and not interpreter.refused:
        interpreter.refused.add(0, "", "the script has no `$ns run` that is taken")


class _Events:
    def __init__(self, interpreter: Interpreter, script: Script) -> None:
        self.interpreter = interpreter
        self.script = script
        self.stops: list[tuple[int, Event]] = []

    def take(self) -> None:
        """Take each ``$ns at``; the first that ends the run gives its length."""
        ends_at, known = [], self.interpreter.procedures
        for event in self.script.network.events:
            try:
                if ends(event.script, known):
                    ends_at.append(_fixed(event.time))
                elif only_looks(event.script, known):
                    why = "it looks and changes nothing: a run leaves its tables and series"
                    self.interpreter.left_out.add(event.line, event.text, why)
                else:
                    for command in parse(event.script, event.line).commands:
                        self.command(event, command)
            except Refused as error:
                self.interpreter.refused.add(event.line, event.text, str(error))
        if ends_at and min(ends_at) > 0:
            self.script.end_ns = min(ends_at)
            self.check_stops()
        elif self.script.network.runs and not self.interpreter.refused:
            why = "no `$ns at` ends the run, by `exit`, `$ns halt` or a procedure that has one of them"
            self.interpreter.refused.add(0, "", why)

    def command(self, event: Event, command: Command) -> None:
        words = [self.interpreter.word(word) for word in command.words]
        found = self.interpreter.objects.get(words[0])
        agent = found.agent if isinstance(found, Application) else found
        if not isinstance(agent, Agent) or not isinstance(found, Agent | Application):
            raise Refused("at a time only agents and applications are started and stopped")
        if len(words) == 2 and words[1] == "stop":
            self.stops.append((_fixed(event.time), event))
            return
        if isinstance(found, Application):
            agent.source = agent.source or found
            if agent.source is not found:
                raise Refused("the agent has another application already")
        if agent.start:
            raise Refused(f"it is started by line {agent.start.line} already")
        agent.start = self.start(event, agent, found, words[1:])
        self.script.started.append(agent)

    def start(self, event: Event, agent: Agent, found: Agent | Application, words: list[str]) -> Start:
        at, spread = _moment(event.time)
        packets = None
        ftp = found.kind == "Application/FTP" or found.kind.startswith("Agent/TCP")
        if ftp and len(words) == 2 and words[0] in ("produce", "producemore", "advance", "advanceby"):
            packets = whole(words[1], "the number of packets", least=1)
        elif ftp and len(words) == 2 and words[0] == "send":
            packets = -(-whole(words[1], "the bytes", least=1) // int(agent.real("packetSize_")))
        elif words != ["start"] or not isinstance(found, Application):
            raise Refused(f"`{' '.join(words)[:40]}` of {found.kind} is not taken at a time")
        return Start(at, spread, packets, event.line)

    def check_stops(self) -> None:
        for at, event in self.stops:
            if at < self.script.end_ns:
                why = (
                    f"perhop's flows send until the run ends, at {self.script.end_ns / 1e9:g} s: "
                    "let the run end here, or leave the stop out"
                )
                self.interpreter.refused.add(event.line, event.text, why)
            else:
                self.interpreter.left_out.add(event.line, event.text, "the run ends no later")


def _fixed(time: str) -> int:
    if isinstance(time, Drawn):
        raise Refused("a drawn number can only be the time of a start")
    return nanoseconds(time)


def _moment(time: str) -> tuple[int, int]:
    if isinstance(time, Drawn):
        low = nanoseconds(f"{time.low:.12g}")
        return low, nanoseconds(f"{time.high:.12g}") - low
    return nanoseconds(time), 0
