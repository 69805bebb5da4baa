"""Entry point: parse, run the command, and turn whatever happens into an exit status.

Slow imports are made in `run`, where an interruption is reported like any other.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from perhop.cli.exit import CommandError, ExitCode, UsageError, error_text
from perhop.cli.paint import painted

if TYPE_CHECKING:
    import typer

_OBJECTS = 50_000
"""Objects after which Python looks for garbage among them; by itself it does after 700."""

_WRONG_PLACE = (
    *(errno.ENOENT, errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM),
    *(errno.ENAMETOOLONG, errno.ELOOP),
)


_ERRORS = (
    ("perhop._core", "ScenarioError", ExitCode.INVALID),
    ("perhop._core", "ElementError", ExitCode.FAILED_RUNS),
    ("perhop.run.live", "LiveError", ExitCode.INVALID),
    ("perhop.run.live", "LackingError", ExitCode.MACHINE),
    ("perhop.run.record", "DamagedRunError", ExitCode.STORE),
    ("perhop.run.folder", "PlaceTakenError", ExitCode.STORE),
    ("perhop.experiment.fault", "DesignError", ExitCode.INVALID),
    ("perhop.experiment.ledger", "StoreError", ExitCode.STORE),
    ("perhop.experiment.executors", "ExecutorError", ExitCode.MACHINE),
    ("perhop.lesson.judging", "BrokenRunError", ExitCode.FAILED_RUNS),
    ("perhop.papers.error", "PackError", ExitCode.INVALID),
    ("perhop.papers.packed", "PackedError", ExitCode.STORE),
    ("perhop.papers.on_record", "StaleRecordError", ExitCode.DIFFERS),
    ("perhop.papers.again", "DiffersError", ExitCode.DIFFERS),
    ("perhop.papers.reproduce", "FailedRunError", ExitCode.FAILED_RUNS),
)
"""Errors that a command ends with, and what each means."""


class Terminated(BaseException):
    """SIGTERM, raised where the main thread is, as KeyboardInterrupt is for SIGINT."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    import signal

    # imports make many objects and no garbage
    gc.set_threshold(_OBJECTS)
    # numpy begins a thread for each core, for products of matrices larger than any here
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    def ignore() -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)

    def stop(number: int, _frame: object) -> None:
        # one may be sent to the process and to its group, Ctrl-C pressed again: the first is cleaned up after
        ignore()
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated

    _open_closed_streams()
    try:
        signal.signal(signal.SIGTERM, stop)
        # a shell that starts a command in the background may have it ignore Ctrl-C
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, stop)
        status = run(sys.argv[1:] if arguments is None else arguments)
        # the work is done; what comes now is Python taking itself apart
        ignore()
    except KeyboardInterrupt:
        status = ExitCode.INTERRUPTED
    except Terminated:
        status = ExitCode.TERMINATED
    _leave(status)


def _leave(status: int) -> NoReturn:
    """End the process at once.

    At a usual exit Python waits for threads until the runs they are at have ended, and takes everything that
    was imported apart.
    """
    if status not in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
    os._exit(status)


def run(arguments: list[str]) -> int:
    """Run the command line, report its errors, and return its exit status."""
    try:
        from perhop.cli.parser import build_app

        # parts of typer that a later one may not have: then all values are made by pydantic
        with suppress(ImportError):
            from perhop.cli.values import take_plain

            take_plain()
        _check_text(arguments)
        app = build_app(arguments[0] if arguments else "")
        status = app(arguments or ["--help"], standalone_mode=False, prog_name="perhop")
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = ExitCode.INTERRUPTED
    except Terminated:
        status = ExitCode.TERMINATED
    except BaseException as error:
        import typer

        # the parser makes an exit of a pipe that breaks while a command runs
        if _has_no_reader(error) or _has_no_reader(error.__context__):
            # Python would complain once more at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.PIPE
        if isinstance(error, typer.TyperException):
            return _usage(error)
        if not isinstance(error, typer.Abort):
            # a panic of the core is no Exception
            is_panic = type(error).__module__ == "pyo3_runtime"
            if "--debug" in arguments or not (isinstance(error, Exception) or is_panic):
                raise
            code, text = _explain(error, arguments)
            print(painted(text), file=sys.stderr)
            return code
        status = ExitCode.INTERRUPTED
    if status in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        print(f"{ExitCode(status).name.lower()}: nothing half-written is left behind", file=sys.stderr)
    return int(status or ExitCode.DONE)


def _has_no_reader(error: BaseException | None) -> bool:
    """Return whether an error is of a standard output that has no reader or is closed."""
    closed = isinstance(error, OSError) and error.errno == errno.EBADF and error.filename is None
    return closed or isinstance(error, BrokenPipeError)


def _open_closed_streams() -> None:
    """Open the streams that the caller closed, as by ``>&-``.

    Else a file would take a stream's number, and what is printed. Printing to a closed standard output
    fails, as it does for other programs.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.fstat(number)
                continue
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_RDWR)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _check_text(arguments: list[str]) -> None:
    """Refuse arguments that are not text in the locale's encoding: no message can repeat them."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(argument).decode(errors="backslashreplace")
            encoding = sys.getfilesystemencoding().upper()
            message = f"`{shown}` is not text in {encoding}"
            hint = "use another name" if encoding == "UTF-8" else "use a locale of UTF-8, or PYTHONUTF8=1"
            raise UsageError(message, hint) from None


def _usage(error: typer.TyperException) -> int:
    """Print what is wrong with the command line, and where its help is."""
    context = getattr(error, "ctx", None)
    message = _bad_value(error) or getattr(error, "format_message", error.__str__)()
    place = context.command_path if context else "perhop"
    print(painted(f"error: {message}\nhint: {place} --help"), file=sys.stderr)
    return ExitCode.USAGE


def _bad_value(error: typer.TyperException) -> str | None:
    """Return the mistake in an option's value in words, where pydantic found it."""
    option, found = getattr(error, "param", None), getattr(error.__cause__, "errors", None)
    if option is None or found is None:
        return None
    wrong = found()[0]
    kind, value, text = wrong["type"], wrong["input"], wrong["msg"].removeprefix("Value error, ")
    if kind.startswith("int_"):
        text = f"{value!r} is not a whole number"
    elif kind == "greater_than_equal":
        text = f"{value} is below {wrong['ctx']['ge']}, the least allowed"
    elif kind == "less_than_equal":
        text = f"{value} is above {wrong['ctx']['le']}, the most allowed"
    return f"{max(option.opts, key=len)}: {text.rstrip('.')}"


def _explain(error: BaseException, arguments: list[str]) -> tuple[ExitCode, str]:
    """Return the exit status of an error, and its words."""
    if isinstance(error, CommandError):
        return error.code, error_text(str(error), error.hint)
    if isinstance(error, OSError):
        # what is written to a file has the file's name
        place = error.filename or ("standard output" if error.errno == errno.ENOSPC else "")
        message = f"{place}: {error.strerror or error}" if place else error.strerror or str(error)
        code = ExitCode.USAGE if error.errno in _WRONG_PLACE else ExitCode.MACHINE
        from perhop.cli.output import hint_for

        return code, error_text(message, hint_for(error))
    if isinstance(error, MemoryError):
        return ExitCode.MACHINE, error_text(str(error) or "out of memory")
    if isinstance(error, ImportError) and "_core" in str(error):
        return ExitCode.MACHINE, error_text("the compiled core is missing", "make build")
    for module, name, code in _ERRORS:
        # the error can be one of these only if its module is loaded already
        if module in sys.modules and isinstance(error, getattr(sys.modules[module], name)):
            text = error_text(str(error).rstrip(), getattr(error, "hint", ""))
            return code, text.removeprefix("error: ") if name == "ScenarioError" else text
    import shlex

    again = f"to see where: perhop --debug {shlex.join(arguments)}"
    return ExitCode.INTERNAL, f"internal error: {type(error).__name__}: {error}\n{again}"


if __name__ == "__main__":
    main()
