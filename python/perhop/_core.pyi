"""The compiled core: scenario files, their mistakes, runs.

Columns cross as NumPy arrays, words as each of them once and a number for each row, labels as lists.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypedDict, TypeVar, final, type_check_only

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FORMAT",
    "RESULTS_VERSION",
    "Ack",
    "CongestionLoad",
    "ControlPlace",
    "ElementError",
    "File",
    "Packet",
    "Place",
    "Rng",
    "RngPlace",
    "Scenario",
    "ScenarioError",
    "SchedulerPlace",
    "Segment",
    "Simulation",
    "__version__",
    "campaign_schema",
    "diagnostic",
    "element_laws",
    "nearest_rank",
    "schema",
    "suggest",
    "tables",
    "try_elements",
]

__version__: str
RESULTS_VERSION: int
FORMAT: int

_Frame = TypeVar("_Frame")
_Words = tuple[list[str], NDArray[np.uint32]]
_Columns = dict[str, NDArray[np.float64] | NDArray[np.uint64] | _Words | list[str | None]]

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
class Finished(TypedDict, Generic[_Frame]):
    """What a run leaves."""

    tables: dict[str, _Frame]
    trace: dict[str, _Frame]
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

class ElementError(RuntimeError):
    """An element in Python raised an error or broke the rules of elements; its cause has the traceback."""

@final
class Rng:
    """An element's own random numbers: they depend on seed, replication and its path alone."""

    def unit(self) -> float: ...
    def below(self, bound: int) -> int: ...

@final
class Packet:
    """A packet, as an element in Python sees it."""

    @property
    def length(self) -> int: ...
    @property
    def flow(self) -> int: ...
    @property
    def traffic_class(self) -> int: ...
    @property
    def dscp(self) -> int: ...
    @property
    def color(self) -> str: ...
    @property
    def ecn(self) -> str: ...
    @property
    def is_ack(self) -> bool: ...
    @property
    def is_reverse(self) -> bool: ...
    @property
    def arrived(self) -> int: ...
    @property
    def seq_end(self) -> int | None: ...
    @property
    def ack(self) -> int | None: ...

@final
class Place:
    """The place of a queue in Python: its limit, what waits, and what it may do with packets."""

    @property
    def limit_packets(self) -> int | None: ...
    @property
    def limit_bytes(self) -> int | None: ...
    @property
    def rate_bit_s(self) -> int: ...
    @property
    def rng(self) -> Rng: ...
    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def has_room(self, packet: Packet) -> bool: ...
    def drop(self, packet: Packet, why: str) -> None: ...
    def mark(self, packet: Packet) -> bool: ...

@final
class RngPlace:
    """The place of a meter or an ACK policy in Python."""

    @property
    def rng(self) -> Rng: ...

@final
class ControlPlace:
    """The place of a congestion control in Python; sizes in bytes."""

    @property
    def rng(self) -> Rng: ...
    @property
    def mss(self) -> int: ...
    @property
    def initial_window(self) -> int: ...
    @property
    def window(self) -> int: ...

@final
class Ack:
    """A new acknowledgment, for a congestion control in Python; sizes in bytes, times in ns."""

    @property
    def acked(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def cwnd_limited(self) -> bool: ...
    @property
    def rtt(self) -> int | None: ...
    @property
    def srtt(self) -> int | None: ...

@final
class CongestionLoad:
    """The sender's state when congestion is found, in bytes."""

    @property
    def in_flight(self) -> int: ...
    @property
    def inflation(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def kept(self) -> int: ...

@final
class Segment:
    """A segment with data, as the receiver saw it, for an ACK policy in Python."""

    @property
    def in_order(self) -> bool: ...
    @property
    def fills_gap(self) -> bool: ...
    @property
    def old(self) -> bool: ...
    @property
    def delivered(self) -> int: ...
    @property
    def may_wait(self) -> bool: ...

@final
class SchedulerPlace:
    """The place of a scheduler in Python."""

    @property
    def rng(self) -> Rng: ...
    @property
    def rate_bit_s(self) -> int: ...
    @property
    def classes(self) -> list[str]: ...

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
    def has_programs(self) -> bool: ...
    @property
    def kernel_only(self) -> list[Diagnostic]: ...
    def check_clock(self) -> None: ...
    @property
    def kernel_controls(self) -> set[str]: ...
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
    def describe(self, part: str) -> str: ...
    def simulate(self, trace: list[str]) -> Simulation: ...

@final
class Simulation:
    """One run, advanced in slices."""

    @property
    def duration_s(self) -> float: ...
    def advance_to(self, t_s: float, rows: int | None = None) -> bool: ...
    def keep_endless_goodputs_only(self) -> None: ...
    def capture(self, files: list[tuple[str, str]]) -> None: ...
    def close_captures(self) -> None: ...
    def take_recorded(self, frame: Callable[[str, _Columns], _Frame]) -> dict[str, _Frame]: ...
    def finish(self, frame: Callable[[str, _Columns], _Frame]) -> Finished[_Frame]: ...

def nearest_rank(total: int, permille: int) -> int:
    """Return which of so many values in order, from 1, is the first that the share of all are not above."""

def schema() -> str: ...
def tables() -> list[Table]: ...
def campaign_schema() -> str: ...
def try_elements(source: bytes, name: str, overrides: list[str], files: _Files) -> None: ...
def element_laws(
    kind: str,
    element: tuple[str, str, str],
    settings: list[tuple[str, str | int | float | bool]],
    limit: str,
    classes: list[str],
    aware: bool,
) -> list[tuple[str, str | None]]:
    """Ask the laws of elements of a class, given by file, text and name; return each, and what broke it."""

def suggest(wrong: str, known: list[str]) -> str | None: ...
def diagnostic(
    text: str, name: str, start: int, end: int, rule: str, hint: str | None = None
) -> Diagnostic: ...
