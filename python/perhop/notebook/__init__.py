"""Scenarios and runs with figures and pages, which are imported when first drawn."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perhop.notebook import drawing as drawing


def __getattr__(name: str) -> object:
    if name != "drawing":
        raise AttributeError(f"module 'perhop.notebook' has no attribute {name!r}")
    return import_module("perhop.notebook.drawing")
