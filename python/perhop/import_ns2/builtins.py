"""Tcl's own commands that are taken, and those that can be left out."""

from __future__ import annotations

from functools import partial

from perhop.import_ns2 import lists
from perhop.import_ns2.interpreter import MOST_CHARACTERS, Builtin, Interpreter, Procedure, Return
from perhop.import_ns2.parser import Command
from perhop.import_ns2.quantities import whole
from perhop.import_ns2.remarks import LeftOut, Refused, need

_LEFT_OUT = {
    "puts": "what it prints is not wanted here",
    "ns-random": "the seed is `run.seed`",
    **dict.fromkeys(("flush", "close", "open"), "files are not written"),
    **dict.fromkeys(("remove-all-packet-headers", "remove-packet-header"), "it saves ns-2 memory"),
    "add-packet-header": "it saves ns-2 memory",
}
_REFUSED = {
    "exec": "nothing is executed",
    "source": "other files are not read: write what it has into the script",
    "eval": "`eval` is not taken: write the command out",
    "while": "`while` is not taken: write a `for` or `foreach` over constants",
    "Class": "classes of one's own are not taken",
    "exit": "the script ends here without a run",
}


def _set(interpreter: Interpreter, command: Command) -> str:
    given = interpreter.arguments(command)
    if len(given) == 1:
        return interpreter.variable(given[0])
    need(len(given) == 2, "set NAME VALUE")
    if given[0] in ("argv", "argc", "argv0"):
        raise Refused(f"`{given[0]}` comes from the command line: write the value into the script")
    interpreter.assign(given[0], given[1])
    named = interpreter.objects.get(given[1])
    if named is not None and hasattr(named, "name_by"):
        named.name_by(given[0])
    return given[1]


def _expr(interpreter: Interpreter, command: Command) -> str:
    return interpreter.reckon(command.words[1:])


def _incr(interpreter: Interpreter, command: Command) -> str:
    given = interpreter.arguments(command)
    need(len(given) in (1, 2), "incr NAME AMOUNT")
    try:
        old = interpreter.variable(given[0])
    except Refused:
        if given[0] in interpreter.scope(given[0]):
            raise
        old = "0"
    by = given[1] if len(given) == 2 else "1"
    found = str(whole(old, given[0], least=-(10**18)) + whole(by, "the step", least=-(10**18)))
    interpreter.assign(given[0], found)
    return found


def _for(interpreter: Interpreter, command: Command) -> str:
    need(len(command.words) == 5, "for {START} {CONDITION} {NEXT} {BODY}")
    _, start, condition, following, body = command.words
    interpreter.body(start)
    while interpreter.true(condition):
        interpreter.body(body)
        interpreter.body(following)
        interpreter.count()
    return ""


def _foreach(interpreter: Interpreter, command: Command) -> str:
    words = command.words
    need(len(words) >= 4 and len(words) % 2 == 0, "foreach NAMES LIST {BODY}")
    lists_of = []
    for first, second in zip(words[1:-1:2], words[2:-1:2], strict=True):
        several = interpreter.split(interpreter.word(first))
        need(bool(several), "foreach NAMES LIST {BODY}")
        lists_of.append((several, interpreter.split(interpreter.word(second))))
    turns = max(-(-len(values) // len(names)) for names, values in lists_of)
    for turn in range(turns):
        for names, values in lists_of:
            for place, name in enumerate(names):
                at = turn * len(names) + place
                interpreter.assign(name, values[at] if at < len(values) else "")
        interpreter.body(words[-1])
        interpreter.count()
    return ""


def _if(interpreter: Interpreter, command: Command) -> str:
    form, words = "if {CONDITION} {BODY} else {BODY}", list(command.words[1:])
    while words:
        taken = interpreter.true(words.pop(0))
        if words and words[0].plain == "then":
            del words[0]
        need(bool(words), form)
        body = words.pop(0)
        if taken:
            return interpreter.body(body)
        if not words:
            return ""
        following = words[0].plain
        if following in ("elseif", "else"):
            del words[0]
        if following != "elseif":
            need(len(words) == 1, form)
            return interpreter.body(words[0])
    raise Refused(f"written as `{form}`")


def _proc(interpreter: Interpreter, command: Command) -> str:
    need(len(command.words) == 4, "proc NAME {ARGUMENTS} {BODY}")
    name, parameters, body = interpreter.arguments(command)
    split = tuple(tuple(lists.split(one)) for one in lists.split(parameters))
    need(all(1 <= len(one) <= 2 for one in split), "proc NAME {ARGUMENTS} {BODY}")
    interpreter.procedures[name] = Procedure(name, split, body, command.words[3].line)
    return ""


def _global(interpreter: Interpreter, command: Command) -> str:
    if interpreter.frames:
        interpreter.shared[-1] |= set(interpreter.arguments(command))
    return ""


def _return(interpreter: Interpreter, command: Command) -> str:
    need(len(command.words) <= 2 and bool(interpreter.frames), "return VALUE")
    raise Return("".join(interpreter.arguments(command)))


def _list(interpreter: Interpreter, command: Command) -> str:
    return lists.join(interpreter.arguments(command))


def _lindex(interpreter: Interpreter, command: Command) -> str:
    given = interpreter.arguments(command)
    need(len(given) == 2, "lindex LIST PLACE")
    elements = interpreter.split(given[0])
    at = len(elements) - 1 if given[1] == "end" else whole(given[1], "the place")
    return elements[at] if 0 <= at < len(elements) else ""


def _llength(interpreter: Interpreter, command: Command) -> str:
    need(len(command.words) == 2, "llength LIST")
    return str(len(interpreter.split(interpreter.word(command.words[1]))))


def _append(name: str, interpreter: Interpreter, command: Command) -> str:
    """Take `append` or `lappend`."""
    given = interpreter.arguments(command)
    need(bool(given), f"{name} NAME VALUES")
    variable, *more = given
    old = interpreter.variable(variable) if variable in interpreter.scope(variable) else ""
    value = lists.join([*interpreter.split(old), *more]) if name == "lappend" else "".join([old, *more])
    if len(value) > MOST_CHARACTERS:
        raise Refused(f"a value of more than {MOST_CHARACTERS} characters")
    interpreter.assign(variable, value)
    return value


def _array(interpreter: Interpreter, command: Command) -> str:
    given = interpreter.arguments(command)
    need(len(given) == 3 and given[0] == "set", "array set NAME LIST")
    pairs = lists.split(given[2])
    need(len(pairs) % 2 == 0, "array set NAME LIST")
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        interpreter.assign(f"{given[1]}({key})", value)
    return ""


def _raises(error: type[Exception], why: str) -> Builtin:
    def take(_interpreter: Interpreter, _command: Command) -> str:
        raise error(why)

    return take


BUILTINS: dict[str, Builtin] = {
    "set": _set,
    "expr": _expr,
    "incr": _incr,
    "for": _for,
    "foreach": _foreach,
    "if": _if,
    "proc": _proc,
    "global": _global,
    "return": _return,
    "list": _list,
    "lindex": _lindex,
    "llength": _llength,
    **{name: partial(_append, name) for name in ("append", "lappend")},
    "array": _array,
    **{name: _raises(LeftOut, why) for name, why in _LEFT_OUT.items()},
    **{name: _raises(Refused, why) for name, why in _REFUSED.items()},
}
"""Commands by name."""
