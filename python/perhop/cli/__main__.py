"""Entry point: parse, run the command, and turn whatever happens into an exit status."""

from __future__ import annotations

import os
import shlex
import sys
from importlib import import_module

import typer

from perhop.cli.exit import CommandError, ExitCode

COMMANDS = (
    "init",
    "check",
    "describe",
    "run",
    "report",
    "replay",
    "reproduce",
    "schema",
    "bench",
    "doctor",
)

_WRONG_PLACE = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


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


def build_app() -> typer.Typer:
    """Return the parser with every command."""
    app = typer.Typer(
        name="perhop",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        callback=_global_options,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit: 0 done, 2 usage, 3 invalid file, 4 a run failed, 6 replay differs, "
        "7 this machine lacks something, 8 run folder damaged, 130 interrupted, 1 a defect in perhop.",
    )
    for name in COMMANDS:
        app.command(name)(import_module(f"perhop.cli.{name}").command)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit status; nothing but the status leaves this function."""
    try:
        status = build_app()(arguments or ["--help"], standalone_mode=False, prog_name="perhop")
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = ExitCode.INTERRUPTED
    except BrokenPipeError:
        # the reader, such as `head`, has seen enough; Python would complain once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except typer.TyperException as error:
        return _usage(error)
    except typer.Abort:
        status = ExitCode.INTERRUPTED
    except BaseException as error:
        if "--debug" in arguments or not (isinstance(error, Exception) or _is_panic(error)):
            raise
        return _report(error, arguments)
    if status == ExitCode.INTERRUPTED:
        print("interrupted: nothing half-written is left behind", file=sys.stderr)
    return int(status or ExitCode.DONE)


def _is_panic(error: BaseException) -> bool:
    """Tell a panic of the core, which PyO3 keeps out of reach of ``except Exception``."""
    return type(error).__module__ == "pyo3_runtime"


def _usage(error: typer.TyperException) -> int:
    """Print what is wrong with the command line, and where its help is."""
    context = getattr(error, "ctx", None)
    message = getattr(error, "format_message", error.__str__)()
    print(f"error: {message}", file=sys.stderr)
    print(f"hint: {context.command_path if context else 'perhop'} --help", file=sys.stderr)
    return ExitCode.USAGE


def _report(error: BaseException, arguments: list[str]) -> int:
    """Print an error as its reader needs it and return the exit status."""
    code, text = _explain(error)
    if code == ExitCode.INTERNAL:
        text = (
            f"internal error: {type(error).__name__}: {error}\n"
            f"to see where: perhop --debug {shlex.join(arguments)}"
        )
    print(text, file=sys.stderr)
    return code


def _explain(error: BaseException) -> tuple[ExitCode, str]:
    if isinstance(error, CommandError):
        return error.code, f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else "")
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        code = ExitCode.USAGE if isinstance(error, _WRONG_PLACE) else ExitCode.MACHINE
        return code, f"error: {place}{error.strerror or error}"
    if isinstance(error, ImportError) and "_core" in str(error):
        return ExitCode.MACHINE, "error: the compiled core is missing\nhint: make build"
    # imported only now: the error can be one of these only if its module is loaded already
    if "perhop._core" in sys.modules:
        from perhop._core import ScenarioError

        if isinstance(error, ScenarioError):
            return ExitCode.INVALID, f"{error}".rstrip()
    if "perhop.record" in sys.modules:
        from perhop.record import DamagedRunError

        if isinstance(error, DamagedRunError):
            return ExitCode.STORE, f"error: {error}"
    if "perhop.papers.pack" in sys.modules:
        from perhop.papers.error import PackError

        if isinstance(error, PackError):
            return ExitCode.INVALID, f"error: {error}\nhint: {error.hint}"
    return ExitCode.INTERNAL, str(error)


if __name__ == "__main__":
    main()
