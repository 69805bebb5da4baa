"""Elements in Python: the class of a program text, what is wrong with it, and the object it makes.

The core calls what is here. `look` runs nothing of the program; `built` does.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import sys
import traceback
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, ModuleType

from perhop import _core
from perhop.scenario.trust import is_trusted

METHODS = {
    "queue": ("enqueue", "dequeue"),
    "meter": ("measure",),
    "scheduler": ("select",),
    "control": ("on_ack", "on_congestion"),
    "ack": ("on_arrival",),
}
"""The methods that a class must have, by what it is."""

TIMER = ("next_timeout", "on_timeout")
"""Methods that need one another."""

_PLACES = itertools.count()


class Mistake(Exception):
    """A mistake in an element, for the core: the wrong setting below the element, the rule, a remedy."""

    def __init__(self, path: str, rule: str, hint: str | None = None) -> None:
        super().__init__(rule)
        self.path, self.rule, self.hint = path, rule, hint


def look(kind: str, file: str, text: str, name: str) -> None:
    """Find a class in a program text without running it.

    It is a mistake where the text is no Python, has no such class, or the class lacks a method.
    """
    classes = _classes(file, text)
    if name not in classes:
        hint = _core.suggest(name, list(classes)) or ("" if classes else "it has no class at all")
        raise Mistake("name", f"{file} has no class `{name}`", hint or None)
    methods = _methods(name, classes)
    if methods is not None:
        _check_methods(kind, name, methods)


def kinds(file: str, text: str) -> dict[str, str]:
    """Return the classes of a program text that are elements, and what each is; nothing is run."""
    classes = _classes(file, text)
    found = {}
    for name in classes:
        methods = _methods(name, classes) or set()
        kind = next((kind for kind, needed in METHODS.items() if methods.issuperset(needed)), None)
        if kind is not None:
            found[name] = kind
    return found


def built(
    kind: str, file: str, text: str, name: str, place: object, settings: Mapping[str, object]
) -> object:
    """Run a program text and return an object of its class, made of `place` and the settings by name.

    Mistakes are those of `look`, errors that the program raises, and settings that it does not take.
    """
    if not is_trusted():
        rule = f"{file} is a program, and programs of scenarios are not run here"
        raise Mistake("file", rule, "start with --trust where you trust whoever wrote the scenario")
    look(kind, file, text, name)
    module = ModuleType(f"perhop_element_{next(_PLACES)}")
    module.__file__ = file
    # data classes look up the module of their annotations
    sys.modules[module.__name__] = module
    try:
        try:
            exec(_compiled(file, text), module.__dict__)
        except (Exception, SystemExit) as error:
            raise Mistake("file", _where(error, file)) from error
        made = getattr(module, name, None)
        if not isinstance(made, type):
            raise Mistake("name", f"{file} has no class `{name}` once it has run")
        _check_methods(kind, name, set(dir(made)))
        _check_settings(made, settings)
        try:
            return made(place, **settings)
        except ValueError as error:
            first, said = str(error).split(" ", 1)[0].strip("`"), str(error) or "ValueError"
            raise Mistake(f"settings.{first}" if first in settings else "name", said) from error
        except (Exception, SystemExit) as error:
            raise Mistake("name", _where(error, file)) from error
    finally:
        del sys.modules[module.__name__]


def failure_line(error: BaseException, file: str, name: str, method: str, now_ns: int) -> str:
    """Return one line: where an element failed, when, and with what."""
    at = f" at {now_ns / 1e9:.9g} s" if now_ns else ""
    if _frames(error, file):
        return _where(error, file, at)
    return f"{file}: {name}{at}: {error}"


def _where(error: BaseException, file: str, at: str = "") -> str:
    """Return file, line, method, time and error as text."""
    frames = _frames(error, file)
    kind = type(error).__name__
    said = f"{kind}: {error}" if str(error) else kind
    if not frames:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        return f"{file}{line}: {said}"
    last = frames[-1]
    method = "" if last.name == "<module>" else f", in {last.name}"
    return f"{file}:{last.lineno}{method}{at}: {said}"


def _frames(error: BaseException, file: str) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]


def _check_methods(kind: str, name: str, methods: set[str]) -> None:
    for method in METHODS[kind]:
        if method not in methods:
            hint = f"a {kind} has {' and '.join(f'`{method}`' for method in METHODS[kind])}"
            raise Mistake("name", f"`{name}` has no method `{method}`", hint)
    has, lacks = sorted(TIMER, key=lambda method: method not in methods)
    if has in methods and lacks not in methods:
        raise Mistake("name", f"`{name}` has no method `{lacks}`", f"it has `{has}`: both or none")


def _check_settings(made: type, settings: Mapping[str, object]) -> None:
    """Refuse settings that a class does not take, and miss those that it needs."""
    try:
        first, *parameters = inspect.signature(made).parameters.values()
    except ValueError as error:
        rule = f"`{made.__name__}` takes nothing: it is given its place first"
        raise Mistake("name", rule, "def __init__(self, place, ...)") from error
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in (first, *parameters)):
        return
    names = [one.name for one in parameters if one.kind is not inspect.Parameter.VAR_POSITIONAL]
    for key in settings:
        if key not in names:
            rule = f"`{made.__name__}` has no setting `{key}`"
            raise Mistake(f"settings.{key}", rule, _core.suggest(key, names))
    for one in parameters:
        if one.name in names and one.default is one.empty and one.name not in settings:
            raise Mistake(f"settings.{one.name}", f"{one.name} is missing")


@lru_cache(maxsize=64)
def _classes(file: str, text: str) -> dict[str, ast.ClassDef]:
    """Return the classes at the top of a program text."""
    try:
        tree = ast.parse(text, file)
    except (SyntaxError, ValueError) as error:
        raise Mistake("file", _where(error, file)) from error
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _methods(name: str, classes: Mapping[str, ast.ClassDef]) -> set[str] | None:
    """Return the methods of a class and its bases; None where a base is from elsewhere."""
    found = set[str]()
    for node in classes[name].body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    for base in classes[name].bases:
        if not isinstance(base, ast.Name) or base.id not in classes or base.id == name:
            return None
        inherited = _methods(base.id, {one: classes[one] for one in classes if one != name})
        if inherited is None:
            return None
        found |= inherited
    return found


@lru_cache(maxsize=64)
def _compiled(file: str, text: str) -> CodeType:
    """Return the code of a program text; who asks for a traceback sees its lines."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return compile(text, file, "exec", dont_inherit=True)
