"""The compiled core: scenario files, their mistakes, runs. Columns cross as NumPy arrays or lists of str."""

from typing import Protocol, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FORMAT",
    "RESULTS_VERSION",
    "File",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "__version__",
    "campaign_schema",
    "diagnostic",
    "nearest_rank",
    "schema",
    "suggest",
    "tables",
]

__version__: str
RESULTS_VERSION: int
FORMAT: int

_Columns = dict[str, NDArray[np.float64] | NDArray[np.uint64] | list[str]]

@type_check_only
class Diagnostic(TypedDict):
    """A mistake in a scenario or a warning: where, what was written, what is wrong, what would mend it."""

    path: str
    line: int | None
    column: int | None
    value: str | None
    rule: str
    hint: str | None
    count: int
    rendered: str

@type_check_only
class Column(TypedDict):
    """A column of a table: name, unit, first format that has it, meaning, type."""

    name: str
    unit: str
    since: int
    doc: str
    type: str

@type_check_only
class Table(TypedDict):
    """A table and its columns; a trace is there only where it was asked for."""

    name: str
    since: int
    doc: str
    trace: bool
    columns: list[Column]

@type_check_only
class Columns(TypedDict):
    """What a run leaves: the columns of its tables and of its traces."""

    tables: dict[str, _Columns]
    trace: dict[str, _Columns]
    counts: dict[str, int]
    delays: dict[tuple[str, str], tuple[NDArray[np.uint64], NDArray[np.uint64]]]
    invariants: list[str]
    event_digest: str

class ScenarioError(ValueError):
    """A scenario that cannot run; every mistake found is in `diagnostics`."""

    diagnostics: list[Diagnostic]

@type_check_only
class _Files(Protocol):
    """A reader of the files that a scenario names."""

    def read(self, name: str, /) -> tuple[bytes, str]: ...

@final
class File:
    """A TOML file, whose values have places."""

    def __new__(cls, source: bytes, name: str) -> File: ...
    @staticmethod
    def campaign(source: bytes, name: str) -> File:
        """Read a campaign file, whose keys and kinds of values are in order."""

    def json(self) -> str: ...
    def diagnostics(
        self, remarks: list[tuple[list[str | int], tuple[int, int] | None, str, str | None, bool, bool]]
    ) -> list[Diagnostic]: ...

@final
class Scenario:
    """A scenario, read once: everything that is asked of it comes from here."""

    def __new__(
        cls, source: bytes, name: str, overrides: list[str], files: _Files | None = None
    ) -> Scenario: ...
    @property
    def seed(self) -> int: ...
    @property
    def live(self) -> bool: ...
    @property
    def replication(self) -> int: ...
    @property
    def warnings(self) -> list[Diagnostic]: ...
    @property
    def files(self) -> dict[str, bytes]: ...
    @property
    def counts(self) -> list[tuple[str, int]]: ...
    @property
    def results_since(self) -> int: ...
    @property
    def packet_hops(self) -> float: ...
    @property
    def memory_bytes(self) -> int: ...
    def resolve(self) -> str: ...
    def treatment(self) -> str: ...
    def describe(self) -> str: ...
    def simulate(self, trace: list[str]) -> Simulation: ...

@final
class Simulation:
    """One run, advanced in slices."""

    @property
    def duration_s(self) -> float: ...
    def advance_to(self, t_s: float, rows: int | None = None) -> bool: ...
    def capture(self, files: list[tuple[str, str]]) -> None: ...
    def close_captures(self) -> None: ...
    def take_recorded(self) -> dict[str, _Columns]: ...
    def finish(self) -> Columns: ...

def nearest_rank(total: int, permille: int) -> int:
    """Return which of so many values in order, from 1, is the first that the share of all are not above."""

def schema() -> str: ...
def tables() -> list[Table]: ...
def campaign_schema() -> str: ...
def suggest(wrong: str, known: list[str]) -> str | None: ...
def diagnostic(
    text: str, name: str, start: int, end: int, rule: str, hint: str | None = None
) -> Diagnostic: ...
