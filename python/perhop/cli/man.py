"""`perhop man`: the manual page, made from the help of the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from perhop.cli import options


def command(as_json: bool = options.JSON) -> None:
    """Print the manual page: perhop man | man -l -; or into a folder man1 of MANPATH."""
    from perhop.cli.output import answer

    page = "\n".join(_page())
    answer({"roff": page}, page, as_json)


def _page() -> Iterator[str]:
    import typer

    import perhop
    from perhop.cli.parser import build_app

    whole: Any = typer.main.get_command(build_app())
    yield f'.TH PERHOP 1 "" "perhop {perhop.__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"perhop \\- {_text(whole.help.strip().splitlines()[0])}"
    yield ".SH SYNOPSIS"
    yield ".B perhop\n.I COMMAND\n[\\fIOPTION\\fR]..."
    yield ".SH COMMANDS"
    for name, one in whole.commands.items():
        for path, own in _each(name, one):
            yield f".SS {path}"
            yield _text(own.help or "")
            for parameter in own.params:
                yield from _parameter(parameter)
    yield ".SH EXIT STATUS"
    yield _text((whole.epilog or "").removeprefix("Exit: "))
    yield ".SH ENVIRONMENT"
    yield ".TP\n.B NO_COLOR\nNo colour, whatever the terminal."


def _each(path: str, one: Any) -> Iterator[tuple[str, Any]]:
    if hasattr(one, "commands"):
        for name, own in one.commands.items():
            yield from _each(f"{path} {name}", own)
    else:
        yield path, one


def _parameter(parameter: Any) -> Iterator[str]:
    """Describe an argument or an option, as its help does."""
    text = _text(getattr(parameter, "help", None) or "")
    words = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        yield f".TP\n.I {_text(parameter.metavar or parameter.name.upper())}\n{text}"
        return
    value = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar or 'VALUE'}"
    yield f".TP\n.B {_text(', '.join(words) + value)}\n{text}"


def _text(text: str) -> str:
    """Return text as roff takes it: backslashes and hyphens named, no line like a request."""
    text = " ".join(re.sub(r"\\", r"\\e", text).replace("-", "\\-").split())
    return f"\\&{text}" if text.startswith((".", "'")) else text
