"""Records of studies as text: JSON with a row a line, so that a change is one line."""

from __future__ import annotations

from typing import Any

import msgspec


def encode(record: Any) -> bytes:
    """Write a record.

    Parameters
    ----------
    record
        Plain JSON values: an object, or a list of them. Where it holds a list or a table of objects or lists,
        each has a line of its own. What is not a number becomes null.
    """
    if isinstance(record, list):
        return b"[\n" + b",\n".join(encode(one).rstrip() for one in record) + b"\n]\n"
    parts = [_line(name) + b": " + _value(value) for name, value in record.items()]
    return b"{\n  " + b",\n  ".join(parts) + b"\n}\n"


def _value(value: Any) -> bytes:
    if isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        return b"[\n    " + b",\n    ".join(map(_line, value)) + b"\n  ]"
    if isinstance(value, dict) and any(isinstance(one, dict | list) for one in value.values()):
        rows = (_line(name) + b": " + _line(one) for name, one in value.items())
        return b"{\n    " + b",\n    ".join(rows) + b"\n  }"
    return _line(value)


def _line(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=0)
