"""Scripts of the project that are in no package, as modules for tests."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def script(path: Path, name: str | None = None) -> ModuleType:
    """Load a script; another of its folder that it imports by name must be known by that name already.

    Parameters
    ----------
    name
        What `sys.modules` knows it by, where its data classes look it up; default: its folder's and its own.
    """
    spec = spec_from_file_location(name or f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
