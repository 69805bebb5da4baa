"""Exit statuses, and errors that end a command with one."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit statuses, the same for every command."""

    DONE = 0
    INTERNAL = 1
    """A defect in perhop."""
    USAGE = 2
    """The command line asks for something that cannot be."""
    INVALID = 3
    """A scenario file, or a file of a study, has mistakes."""
    FAILED_RUNS = 4
    """Finished, but a run broke an invariant, ended with an error, or was lost with its workers."""
    CONDITION = 5
    """A condition the command was asked to watch for was met."""
    DIFFERS = 6
    """A replay or a run made again gave other results, or what is on record is not current."""
    MACHINE = 7
    """This machine lacks something."""
    STORE = 8
    """A folder, or a packed study, is damaged or from a newer version; or a folder is in use, or came into
    being during the run."""
    INTERRUPTED = 130
    """Ctrl-C."""
    PIPE = 141
    """The reader of the output, such as `head`, has gone."""
    TERMINATED = 143
    """SIGTERM."""


def error_text(message: str, hint: str | None = "") -> str:
    """Return an error as it is printed, with its hint if there is one."""
    return f"error: {message}" + (f"\nhint: {hint}" if hint else "")


class CommandError(Exception):
    """A command that cannot go on: the mistake, with the value, in one line, and a remedy as hint."""

    def __init__(self, code: ExitCode, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


class UsageError(CommandError):
    """A command line that asks for something that cannot be."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(ExitCode.USAGE, message, hint)
