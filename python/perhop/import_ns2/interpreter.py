"""Constants of a script: variables, `expr`, loops and procedures over constants.

Nothing is executed but this: a command that is neither of these nor one of ns-2's objects is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from perhop.import_ns2 import expression, lists
from perhop.import_ns2.parser import Bracket, Command, Literal, Part, Variable, Word, parse
from perhop.import_ns2.quantities import Drawn
from perhop.import_ns2.remarks import LeftOut, Refused, Remarks

MOST_COMMANDS = 100_000
"""Commands that a script may have after its loops are written out."""
MOST_DEEP = 25
"""Loops, procedures and brackets within one another."""
MOST_CHARACTERS = 100_000
"""Characters of a value."""
MOST_SPENT = 10_000_000
"""Characters of all values together."""


class Object(Protocol):
    """Something of ns-2 that has methods."""

    def call(self, interpreter: Interpreter, command: Command) -> str:
        """Take a command that begins with this object, or refuse it."""


class Refusal(NamedTuple):
    """The value of a variable after a refused command."""

    line: int


class Return(Exception):
    """``return``, with its value."""


Value = str | Refusal
Builtin = Callable[["Interpreter", Command], str]


class Interpreter:
    """Variables, objects and procedures of a script, and the remarks on its lines."""

    def __init__(self, builtins: dict[str, Builtin]) -> None:
        self.builtins = builtins
        self.globals: dict[str, Value] = {}
        self.frames: list[dict[str, Value]] = []
        self.shared: list[set[str]] = []
        self.objects: dict[str, Object] = {}
        self.procedures: dict[str, Procedure] = {}
        self.refused = Remarks()
        self.left_out = Remarks()
        self.line = 0
        self.commands = 0
        self.characters = 0
        self.deep = 0

    def script(self, text: str, line: int) -> str:
        """Take a script; each command that is refused is remarked, and the next is taken."""
        parsed = parse(text, line)
        for mistake in parsed.mistakes:
            self.refused.add(mistake.line, "", str(mistake))
        return self.run(parsed.commands)

    def run(self, commands: Sequence[Command]) -> str:
        """Take commands one by one."""
        found = ""
        for command in commands:
            try:
                found = self.evaluate(command)
            except Refused as error:
                found = ""
                line = error.line or command.line
                self.refused.add(line, command.text if line == command.line else "", str(error))
                self.poison(command)
        return found

    def count(self) -> None:
        """Count a command, or a turn of a loop, which may have none."""
        self.commands += 1
        if self.commands > MOST_COMMANDS:
            raise TooLong

    def evaluate(self, command: Command) -> str:
        """Take a command and return its value, or refuse it; remark on one without effect."""
        self.line = command.line
        self.count()
        self.deep += 1
        try:
            if self.deep > MOST_DEEP:
                raise Refused(f"more than {MOST_DEEP} loops, procedures and brackets within one another")
            return self._evaluate(command)
        except LeftOut as error:
            self.left_out.add(command.line, command.text, str(error))
            return ""
        finally:
            self.deep -= 1

    def _evaluate(self, command: Command) -> str:
        name = self.word(command.words[0])
        if name in self.objects:
            return self.objects[name].call(self, command)
        if name in self.procedures:
            return self.procedures[name].call(self, self.arguments(command))
        if name in self.builtins:
            return self.builtins[name](self, command)
        raise Refused(f"`{name[:40]}` is not a command that is taken")

    def poison(self, command: Command) -> None:
        """Note that the variable of a refused ``set`` has no value."""
        words = command.words
        if len(words) == 3 and words[0].plain == "set":
            with suppress(Refused):
                self.assign(self.word(words[1]), Refusal(command.line))

    def arguments(self, command: Command) -> list[str]:
        """Return the values of the words behind the first."""
        return [self.word(word) for word in command.words[1:]]

    def word(self, word: Word) -> str:
        """Return the value of a word."""
        return self.part(word.parts[0]) if len(word.parts) == 1 else self.joined(word.parts)

    def joined(self, parts: Sequence[Part]) -> str:
        """Return the text of parts."""
        found = "".join(str(self.part(part)) for part in parts)
        self.spend(found)
        if len(found) > MOST_CHARACTERS:
            raise Refused(f"a value of more than {MOST_CHARACTERS} characters")
        return found

    def part(self, part: Part) -> str:
        """Return the value of a part of a word."""
        if isinstance(part, Literal):
            return part.text
        if isinstance(part, Variable):
            index = "" if part.index is None else f"({self.joined(part.index)})"
            return self.variable(part.name + index)
        assert isinstance(part, Bracket)
        found = ""
        for command in part.commands:
            found = self.evaluate(command)
        return found

    def scope(self, name: str) -> dict[str, Value]:
        """Return where a variable is."""
        head = name.partition("(")[0]
        if not self.frames or head.startswith("::") or head in self.shared[-1]:
            return self.globals
        return self.frames[-1]

    def variable(self, name: str) -> str:
        """Return a variable's value, or refuse."""
        found = self.scope(name).get(name.removeprefix("::"))
        if isinstance(found, Refusal):
            raise Refused(f"it needs `{name[:40]}`, which line {found.line} could not give")
        if found is None:
            if name in ("argv", "argc", "argv0") or name.startswith("env("):
                raise Refused(f"`{name[:40]}` comes from the command line: write the value into the script")
            raise Refused(f"`{name[:40]}` has no value")
        return found

    def spend(self, value: str) -> None:
        """Count the characters of a value, so that no script takes long or much memory."""
        self.characters += len(value)
        if self.characters > MOST_SPENT:
            raise TooLong

    def assign(self, name: str, value: Value) -> None:
        """Set a variable."""
        if isinstance(value, str):
            self.spend(value)
        self.scope(name)[name.removeprefix("::")] = value

    def reckon(self, words: Sequence[Word]) -> str:
        """Evaluate words by ``expr``: parts in braces are substituted by value."""
        values: list[str] = []

        def place(parts: Sequence[Part]) -> str:
            text = []
            for part in parts:
                if isinstance(part, Literal):
                    text.append(part.text.replace("\0", ""))
                else:
                    values.append(self.part(part))
                    text.append(f" \0{len(values) - 1}\0 ")
            return "".join(text)

        text = " ".join(place(_inner(word) if word.braced else word.parts) for word in words)
        return expression.reckon(text, tuple(values))

    def true(self, word: Word) -> bool:
        """Return whether the condition of ``if`` or ``for`` holds."""
        found = self.reckon([word])
        if isinstance(found, Drawn):
            raise Refused("a condition on a drawn number")
        return expression.reckon(f"({found}) ? 1 : 0") == "1"

    def body(self, word: Word) -> str:
        """Take the script that a word is."""
        return self.script(self.word(word), word.line)

    def split(self, text: str) -> list[str]:
        """Return the elements of a list."""
        self.spend(text)
        return lists.split(text)


class TooLong(Exception):
    """More commands than `MOST_COMMANDS`."""


def _inner(word: Word) -> tuple[Part, ...]:
    """Return the substitution of an expression in braces; strings in it keep their quotes."""
    text = word.plain or ""
    parsed = parse('"' + text.replace('"', '\\"') + '"', word.line)
    if parsed.mistakes or len(parsed.commands) != 1 or len(parsed.commands[0].words) != 1:
        raise Refused(f"`expr`: `{text[:40]}` is not understood")
    return parsed.commands[0].words[0].parts


@dataclass(frozen=True)
class Procedure:
    """``proc``: its name, its arguments with their defaults, its body, and where that begins."""

    name: str
    parameters: tuple[tuple[str, ...], ...]
    body: str
    line: int

    def call(self, interpreter: Interpreter, given: list[str]) -> str:
        """Follow it with some arguments."""
        frame: dict[str, Value] = {}
        rest = list(given)
        for parameter in self.parameters:
            if parameter == ("args",) and parameter is self.parameters[-1]:
                frame["args"] = lists.join(rest)
                rest = []
            elif rest:
                frame[parameter[0]] = rest.pop(0)
            elif len(parameter) == 2:
                frame[parameter[0]] = parameter[1]
            else:
                raise Refused(f"`{self.name}` needs `{parameter[0]}`")
        if rest:
            raise Refused(f"`{self.name}` takes {len(self.parameters)} arguments")
        interpreter.frames.append(frame)
        interpreter.shared.append(set())
        try:
            return interpreter.script(self.body, self.line)
        except Return as found:
            value: str = found.args[0]
            return value
        finally:
            interpreter.frames.pop()
            interpreter.shared.pop()
