"""Procedures: followed where called with constants, looked through where called at a time."""

from __future__ import annotations

from perhop.import_ns2.interpreter import Procedure
from perhop.import_ns2.parser import Bracket, Command, parse

_LOOKING = """
append array break close continue exec exit expr flush for foreach format global if incr lappend lindex list
llength open proc puts return set string unset upvar variable while
"""
"""Commands that leave the network alone."""
_READING = """
cleartrace close color flush-trace get-bytes-integrator get-delay-samples get-pkts-integrator getAverage
getAverageV getCurrent getStat halt id link newpoint now printPHBTable printPolicerTable printPolicyTable
printStats printWRR queue reset sample-queue-size
"""
"""Methods that do so."""
_COUNTERS = "barrivals_ bdepartures_ bdrops_ bytes_ npkts_ nlost_ pdrops_ parrivals_ sum_"
"""What may be set back, as it is read alone."""


def ends(text: str, known: dict[str, Procedure]) -> bool:
    """Return whether commands end the run, themselves or by a procedure."""
    scripts, called = [text], set[str]()
    while scripts:
        for command in parse(scripts.pop()).commands:
            name = command.words[0].plain
            if name == "exit" or [word.plain for word in command.words[1:2]] == ["halt"]:
                return True
            if name in known and name not in called:
                called.add(name)
                scripts.append(known[name].body)
    return False


def only_looks(text: str, known: dict[str, Procedure]) -> bool:
    """Return whether commands leave the network as it is, so that they can be left out."""
    scripts, seen = [text], {""}
    while scripts:
        script = scripts.pop()
        if script in seen:
            continue
        seen.add(script)
        parsed = parse(script)
        if parsed.mistakes:
            return False
        commands = list(parsed.commands)
        for command in commands:
            more = _looks(command, known)
            if more is None:
                return False
            scripts += more
            inner = [part for word in command.words for part in word.parts if isinstance(part, Bracket)]
            commands += [one for part in inner for one in part.commands]
    return True


def _looks(command: Command, known: dict[str, Procedure]) -> list[str] | None:
    """Return the scripts in a command to look through too; None if it does more than look."""
    words = [word.plain for word in command.words]
    name = words[0]
    if name in known:
        return [known[name].body]
    if name is None:
        return _reads(words[1:], known)
    return [script or "" for script in _bodies(name, words)] if name in _LOOKING.split() else None


def _reads(words: list[str | None], known: dict[str, Procedure]) -> list[str] | None:
    method = words[0] if words else ""
    if method == "set":
        return [] if len(words) == 2 or words[1] in _COUNTERS.split() else None
    if method == "at":
        called = (words[-1] or "").split()[:1]
        return [known[called[0]].body] if called and called[0] in known else None
    return [] if method in _READING.split() else None


def _bodies(name: str, words: list[str | None]) -> list[str | None]:
    """Return the scripts among the words of a command of Tcl that has some."""
    if name in ("foreach", "while"):
        return words[-1:]
    if name == "for":
        return [words[1], *words[3:]] if len(words) == 5 else []
    if name == "if":
        conditions = {1} | {at + 1 for at, word in enumerate(words) if word == "elseif"}
        keywords = ("elseif", "else", "then")
        return [one for at, one in enumerate(words) if at and at not in conditions and one not in keywords]
    return []
