"""The schema of scenarios: which settings of an element one chose, and which are as by default."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from perhop import _core


def parted(table: dict[str, Any], structure: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part the settings of a table of a resolved scenario into those not as by default, and those that are.

    `structure` is the table's name in the schema, such as ``Queue``. Both together have every setting of the
    schema; one that is left out and has no default is None.
    """
    return _parted(table, schema()["$defs"][structure])


@cache
def schema() -> dict[str, Any]:
    """Return the schema of scenarios, as ``perhop schema`` prints it."""
    found: dict[str, Any] = json.loads(_core.schema())
    return found


def _parted(table: dict[str, Any], rules: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    chosen: dict[str, Any] = {}
    default: dict[str, Any] = {}
    for key, rule in _own(rules, table)["properties"].items():
        value = table.get(key, rule.get("default"))
        below = schema()["$defs"][rule["$ref"].rsplit("/", 1)[1]] if "$ref" in rule else rule
        if value == rule.get("default"):
            default[key] = value
        elif isinstance(value, dict) and "properties" in below.get("oneOf", [below])[0]:
            inner = _parted(value, below)
            chosen |= {key: inner[0]} if inner[0] else {}
            default |= {key: inner[1]} if inner[1] else {}
        else:
            chosen[key] = value
    return chosen, default


def _own(rules: dict[str, Any], table: dict[str, Any]) -> Any:
    """Return the rules of the table's kind, where there are several."""
    kinds = (None, table.get("kind"))
    each = rules.get("oneOf", [rules])
    return next(one for one in each if one["properties"].get("kind", {}).get("const") in kinds)
