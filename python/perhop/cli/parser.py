"""The parser: every command, and the options that come before one."""

from __future__ import annotations

from importlib import import_module

import typer

COMMANDS = (
    *("init", "check", "describe", "deploy", "estimate", "run", "emulate", "sweep", "recommend", "report"),
    *("compare", "figure", "table", "serve", "analyze", "replay", "test-element", "reproduce", "pack"),
    *("schema", "bench", "doctor", "man"),
)

GROUPS = {"campaign": "campaign", "import": "importing", "lesson": "lesson"}
"""Commands that have commands, and the modules that have them."""


def _version(asked: bool) -> None:
    if asked:
        import perhop

        print(f"perhop {perhop.__version__} (results_version {perhop.RESULTS_VERSION})")
        raise typer.Exit


def _global_options(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an internal error."),
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and leave."
    ),
) -> None:
    """Scenarios of TCP over differentiated services: run them, look at them, and judge published studies."""


def build_app(asked: str = "") -> typer.Typer:
    """Return the parser of the command `asked`, of `--version` or, which takes longer, of all commands."""
    app = typer.Typer(
        name="perhop",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        callback=_global_options,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit: 0 done, 2 usage, 3 invalid file, 4 a run failed, 6 replay differs, "
        "7 this machine or the cluster lacks something, 8 a folder is damaged, in use or of a newer version, "
        "130 interrupted, 141 nobody reads the output any more, 143 terminated, "
        "1 a defect in perhop.",
    )
    known = asked in (*COMMANDS, *GROUPS, "--version")
    for name in COMMANDS:
        if name == asked or not known:
            app.command(name)(import_module(f"perhop.cli.{name.replace('-', '_')}").command)
    for name, module in GROUPS.items():
        if name == asked or not known:
            app.add_typer(import_module(f"perhop.cli.{module}").group, name=name)
    return app
