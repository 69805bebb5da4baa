"""Records of studies as text: JSON with a row a line, so that a change is one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from perhop.papers.error import PackError


def encode(record: Any) -> bytes:
    """Write a record of plain JSON values: an object, or a list of them.

    Where it holds a list or a table of objects or lists, each has a line of its own. What is not a number
    becomes null.
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


def read(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Read a record, an object with these keys; a `PackError` if it is something else."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise PackError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise PackError(f"{path}: not JSON: {error}") from None
    lacks = [key for key in keys if not isinstance(found, dict) or key not in found]
    if lacks:
        raise PackError(f"{path}: has no {', '.join(map(repr, lacks))}")
    return dict(found)
