"""Values of Tcl's ``expr`` for constants: numbers, comparisons, ``?:`` and a few functions.

Rules: the manual page expr(n) of Tcl 8.6. Whole numbers divide towards minus infinity.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from perhop.import_ns2.quantities import Drawn, number
from perhop.import_ns2.remarks import Refused

Operand = int | float | str

MOST_NESTED = 15
MOST_BITS = 200
"""Bits of the largest whole number that is reckoned with."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<value>\x00\d+\x00)|(?P<word>[A-Za-z_]\w*)|\"(?P<quoted>[^\"\x00]*)\"|\{(?P<braced>[^{}]*)\}"
    r"|(?P<sign>\*\*|<=|>=|==|!=|&&|\|\||[-+*/%<>!?:(),]))"
)
_LEVELS = (("||",), ("&&",), ("==", "!=", "eq", "ne"), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
_FUNCTIONS: dict[str, Callable[..., int | float]] = {
    "abs": abs,
    "ceil": lambda x: float(math.ceil(x)),
    "double": float,
    "floor": lambda x: float(math.floor(x)),
    "int": int,
    "max": max,
    "min": min,
    "pow": lambda x, y: float(x) ** float(y),
    "round": lambda x: math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1),
    "sqrt": math.sqrt,
}
_PLAIN: dict[str, Callable[[int | float, int | float], int | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def reckon(text: str, values: tuple[str, ...] = ()) -> str:
    r"""Evaluate an expression, or refuse it; ``\0N\0`` stands for the N-th of `values`."""
    try:
        found = _Reckoner(text, values).whole()
    except (ValueError, OverflowError, ZeroDivisionError, TypeError) as error:
        raise Refused(f"`expr` cannot be reckoned: {error}") from None
    return found if isinstance(found, str) else repr(found)


class _Reckoner:
    def __init__(self, text: str, values: tuple[str, ...]) -> None:
        self.values = values
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        self.nested = 0
        place, text = 0, text.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                raise Refused(f"`expr`: `{text[place : place + 20]}` is not understood")
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            place = found.end()

    def peek(self) -> str:
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        return text if kind in ("sign", "word") else ""

    def whole(self) -> Operand:
        found = self.choice()
        if self.at < len(self.tokens):
            raise Refused(f"`expr`: `{self.tokens[self.at][1]}` is not understood there")
        return found

    def choice(self) -> Operand:
        self.deeper()
        found = self.level(0)
        if self.peek() == "?":
            self.at += 1
            yes = self.choice()
            self.take(":")
            no = self.choice()
            found = yes if _truth(found) else no
        self.nested -= 1
        return found

    def deeper(self) -> None:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise Refused("`expr` has too many parentheses")

    def take(self, sign: str) -> None:
        if self.peek() != sign:
            raise Refused(f"`expr` lacks `{sign}`")
        self.at += 1

    def level(self, depth: int) -> Operand:
        if depth == len(_LEVELS):
            return self.signed()
        found = self.level(depth + 1)
        while (sign := self.peek()) in _LEVELS[depth]:
            self.at += 1
            found = _apply(sign, found, self.level(depth + 1))
        return found

    def signed(self) -> Operand:
        signs = []
        while self.peek() in ("-", "+", "!"):
            signs.append(self.peek())
            self.at += 1
        found = self.operand()
        for sign in reversed(signs):
            found = int(not _truth(found)) if sign == "!" else _numeric(found) * (-1 if sign == "-" else 1)
        if self.peek() == "**":
            self.at += 1
            self.deeper()
            found = _power(_numeric(found), _numeric(self.signed()))
            self.nested -= 1
        return found

    def operand(self) -> Operand:
        if self.at >= len(self.tokens):
            raise Refused("`expr` ends too early")
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "value":
            return _value(self.values[int(text.strip("\0"))])
        if kind in ("number", "quoted", "braced"):
            return _value(text)
        if kind == "word" and text in _FUNCTIONS and self.peek() == "(":
            return self.function(text)
        if kind == "word" and text.lower() in _TRUTHS:
            return text
        if text == "(":
            found = self.choice()
            self.take(")")
            return found
        raise Refused(f"`expr`: `{text}` is not understood")

    def function(self, name: str) -> Operand:
        self.take("(")
        arguments = [_numeric(self.choice())]
        while self.peek() == ",":
            self.at += 1
            arguments.append(_numeric(self.choice()))
        self.take(")")
        return _bounded(_FUNCTIONS[name](*arguments))


def _value(text: str) -> Operand:
    found = number(text)
    return text if found is None else found


def _numeric(value: Operand) -> int | float:
    if isinstance(value, str):
        raise Refused(f"`expr`: `{value}` is no number")
    return value


def _truth(value: Operand) -> bool:
    if isinstance(value, str) and value.lower() in _TRUTHS:
        return _TRUTHS[value.lower()]
    return bool(_numeric(value))


def _bounded(value: int | float | complex) -> int | float:
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise Refused("`expr` gives no number")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise Refused("`expr` gives too large a number")
    return value


def _power(base: int | float, exponent: int | float) -> int | float:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > MOST_BITS:
        raise Refused("`expr` gives too large a number")
    return _bounded(base**exponent)


def _apply(sign: str, left: Operand, right: Operand) -> Operand:
    if sign in ("&&", "||"):
        both = (_truth(left), _truth(right))
        return int(all(both) if sign == "&&" else any(both))
    is_of_text = isinstance(left, str) or isinstance(right, str)
    if sign in ("eq", "ne") or (sign in ("==", "!=") and is_of_text):
        return int((str(left) == str(right)) == (sign in ("eq", "==")))
    if sign == "+" and isinstance(left, Drawn) != isinstance(right, Drawn):
        drawn, by = (left, right) if isinstance(left, Drawn) else (right, left)
        assert isinstance(drawn, Drawn)
        return Drawn.between(drawn.low + _numeric(by), drawn.high + _numeric(by))
    a, b = _numeric(left), _numeric(right)
    if sign == "/":
        return a // b if isinstance(a, int) and isinstance(b, int) else _bounded(a / b)
    if sign == "%":
        if not (isinstance(a, int) and isinstance(b, int)):
            raise Refused("`%` is for whole numbers")
        return a % b
    found = _PLAIN[sign](a, b)
    return int(found) if isinstance(found, bool) else _bounded(found)
