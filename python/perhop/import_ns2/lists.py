"""Tcl's lists: text to elements and back (manual page Tcl(n) and list(n))."""

from __future__ import annotations

from collections.abc import Iterable

from perhop.import_ns2.parser import Literal, parse
from perhop.import_ns2.remarks import Refused


def split(text: str) -> list[str]:
    """Return the elements of a list; `$` and `[` are only characters in it."""
    if text.isascii() and not any(char in text for char in '{}"\\'):
        return text.split()
    quoted = text.replace("\\\n", " ").translate({ord("\n"): " ", ord(";"): "\\;"})
    quoted = quoted.replace("$", "\\$").replace("[", "\\[")
    if quoted.lstrip().startswith("#"):
        quoted = quoted.replace("#", "\\#", 1)
    found = parse(quoted)
    if found.mistakes or len(found.commands) > 1:
        raise Refused(f"`{text[:40]}` is not a list of Tcl")
    words = found.commands[0].words if found.commands else ()
    elements = []
    for word in words:
        plain = "".join(part.text for part in word.parts if isinstance(part, Literal))
        if word.braced:
            plain = plain.replace("\\$", "$").replace("\\[", "[").replace("\\;", ";")
        elements.append(plain)
    return elements


def join(elements: Iterable[str]) -> str:
    """Return the list of some elements."""
    return " ".join(_quoted(one) for one in elements)


def _quoted(element: str) -> str:
    if element and not any(char in ' \t\r\n\f\v;"$[]{}\\' for char in element) and element[0] != "#":
        return element
    if element.count("{") == element.count("}") and "\\" not in element:
        return f"{{{element}}}"
    return "".join(f"\\{char}" if char in ' \t;"$[]{}\\\n' else char for char in element) or "{}"
