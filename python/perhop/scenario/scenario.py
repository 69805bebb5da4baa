"""Scenarios: a file and the overrides laid over it. The core validates."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, get_type_hints

import msgspec

# with this module, so as a rule by the main thread: the core's allocator ends with the thread that loads it
from perhop import _core
from perhop.scenario import overrides
from perhop.scenario.files import Files
from perhop.units import exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perhop._core import Diagnostic
    from perhop.scenario.overrides import Value

HOPS_PER_S = 5e6
"""Packet-hops, as `Scenario.work` has them, that a core of 2023 does in a second; studies have 4 to 12e6."""

# Reading stops here, so that a device or a film named by mistake is refused instead of read to its end.
_READ_AT_MOST = 64 * 1024 * 1024


class RunSettings(msgspec.Struct, frozen=True):
    """Settings of the run as a whole, in seconds."""

    seed: int
    replication: int
    duration_s: float
    warmup_s: float
    interval_s: float
    processing_jitter_s: float = 0.0


class NodeView(msgspec.Struct, frozen=True):
    """A host or a router."""

    name: str
    kind: str


class ThresholdsView(msgspec.Struct, frozen=True):
    """Thresholds of early detection, in packets or bytes: of one colour, or of all packets."""

    min_th: int
    max_th: int
    color: str | None = None


class ClassView(msgspec.Struct, frozen=True):
    """A class of a port: which packets, and the queue they wait in."""

    name: str
    matches: list[str]
    queue: str
    limit: str
    filters_acks: bool
    thresholds: list[ThresholdsView] = []


class SchedulerView(msgspec.Struct, frozen=True):
    """How a port chooses among its classes."""

    kind: str
    data: str | None = None
    share: float | None = None
    weights: list[int] | None = None
    quanta_bytes: list[int] | None = None
    shares: list[float] | None = None
    rate_bit_s: float | None = None
    rates_bit_s: list[float] | None = None

    def __str__(self) -> str:
        if self.share is not None:
            return f"{self.kind}, {exact(self.share)} for {self.data}"
        if self.rates_bit_s is not None:
            rates = " : ".join(exact(rate / 1e6) for rate in self.rates_bit_s)
            return f"{self.kind} {rates} of {exact((self.rate_bit_s or 0.0) / 1e6)} Mbit/s"
        parts = self.weights or self.quanta_bytes or self.shares or []
        return " ".join([self.kind, " : ".join(exact(part) for part in parts)]).rstrip()


class ShaperView(msgspec.Struct, frozen=True):
    """A shaper that holds a port to a rate below its link's."""

    rate_bit_s: float
    burst_bytes: int
    overhead_bytes: int
    mpu_bytes: int


class PortView(msgspec.Struct, frozen=True):
    """An outgoing interface."""

    path: str
    scheduler: SchedulerView
    classes: list[ClassView]
    backpressure: int | None = None
    shaper: ShaperView | None = None


class BurstLossView(msgspec.Struct, frozen=True):
    """Losses in bursts in the long run: the part of packets, and the mean length of a burst."""

    mean_loss: float
    mean_burst_packets: float


class LinkView(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """One direction of a link; `trace` is the file that its rate follows, and its rate then the mean."""

    name: str
    source: str
    target: str
    rate_bit_s: float
    delay_s: float
    port: PortView
    pure_ack_bytes: int | None = None
    trace: str | None = None
    burst_loss: BurstLossView | None = None


class BareLink(NamedTuple):
    """One direction of a link without its port, which is most of it."""

    source: str
    target: str
    rate_bit_s: float
    delay_s: float

    @property
    def name(self) -> str:
        """As in the table of links."""
        return f"{self.source}->{self.target}"


class FlowView(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to", "class_": "class"}):
    """One connection: data from `source` to `target`, ACKs back."""

    name: str
    class_: str
    mark: str
    source: str
    target: str
    start_s: float
    start_jitter_s: float
    profile: str
    mss_bytes: int
    header_bytes: int
    window_bytes: int
    size_bytes: int | None = None
    has_application: bool = False
    labels: dict[str, str] = {}

    @property
    def is_transfer(self) -> bool:
        """Whether it has data of one size; what an application sends has none of its own."""
        return self.size_bytes is not None and not self.has_application


class CaptureView(msgspec.Struct, frozen=True):
    """The packets of a source from a capture, and from the first to the last of them."""

    packets: int
    duration_s: float
    repeats: bool


class UdpView(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to", "class_": "class"}):
    """One UDP flow; of a capture the mean rate, and the longest packet."""

    name: str
    class_: str
    mark: str
    source: str
    target: str
    start_s: float
    start_jitter_s: float
    rate_bit_s: float
    packet_bytes: int
    labels: dict[str, str] = {}
    capture: CaptureView | None = None


class MarkerView(msgspec.Struct, frozen=True):
    """The action for each colour."""

    green: str
    yellow: str
    red: str

    def __str__(self) -> str:
        return f"green {self.green}, yellow {self.yellow}, red {self.red}"


class ConditionerView(msgspec.Struct, frozen=True, rename={"source": "from"}):
    """A conditioner, for packets that arrive by the links `source`."""

    path: str
    at: str
    source: list[str]
    per: str
    marker: MarkerView
    ack_marking: bool
    shaper: bool
    meter: str | None = None
    cir_bit_s: int | None = None


class ApplicationView(msgspec.Struct, frozen=True):
    """An application over flows; of a load its mean, and of the time from one to the next."""

    name: str
    kind: str
    flows: int
    mean_load_bytes: float
    mean_think_s: float


class CallView(msgspec.Struct, frozen=True):
    """A call, a UDP flow each way, with what its quality is computed from."""

    name: str
    jitter_buffer_s: float
    ie: float
    bpl: float


class SettingsView(msgspec.Struct, frozen=True):
    """Ports, conditioners, TCPs and promises as a scenario file has them, every default filled in."""

    port: list[dict[str, Any]]
    conditioner: list[dict[str, Any]]
    flow: list[dict[str, Any]] = []
    sla: list[dict[str, str]] = []


class Description:
    """The meaning of a scenario: names resolved, counts expanded, defaults filled.

    A part is made when it is first asked for: the links of thousands of subscribers take megabytes.
    """

    run: RunSettings
    nodes: list[NodeView]
    links: list[LinkView]
    bare_links: list[BareLink]
    conditioners: list[ConditionerView]
    settings: SettingsView
    udp: list[UdpView]
    flows: list[FlowView]
    applications: list[ApplicationView]
    calls: list[CallView]
    arrivals_per_s: dict[str, float]
    """Of each table of random transfers, by its name: how many begin in a second on average."""

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

    def __getattr__(self, part: str) -> Any:
        """Make a part, which is then an attribute like any other."""
        if part not in _DECODERS:
            raise AttributeError(part)
        made = _DECODERS[part].decode(self._core.describe(part))
        setattr(self, part, made)
        return made

    def parts(self) -> dict[str, Any]:
        """Return every part by its name, but for what is in another."""
        return {part: getattr(self, part) for part in _DECODERS if part != "bare_links"}


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    part: msgspec.json.Decoder(of) for part, of in get_type_hints(Description).items()
}

KEPT_SINCE = 10
"""Runs of this results version or a later one stay valid until a version changes their scenario."""


class Key(NamedTuple):
    """The identity of a run's results: runs with equal keys have equal results.

    Parameters
    ----------
    treatment
        SHA-256, in hexadecimal, of the resolved scenario without seed and replication.
    results_since
        The results version since which the scenario gives what it gives, `KEPT_SINCE` at least.
    """

    treatment: str
    seed: int
    replication: int
    results_since: int

    def hex(self) -> str:
        """Return the key as one word: SHA-256, in hexadecimal."""
        return hashlib.sha256("/".join(map(str, self)).encode()).hexdigest()


@dataclass(frozen=True, repr=False)
class Scenario:
    """A scenario file with overrides. It is read once: when something is first asked of it.

    What Python gives (`from_text`, `from_dict`, `override`) is read at the call, so that a mistake is raised
    there; a file that is loaded may have mistakes, which `check` returns.

    Parameters
    ----------
    source
        The file as read; it need not be valid, nor even text.
    overrides
        ``path=value`` each, applied in order.
    files
        Those that it names.

    Raises
    ------
    ScenarioError
        From everything but `check`, `warnings` and `diagnose`: the scenario has mistakes.
    """

    source: bytes
    name: str
    overrides: tuple[str, ...] = ()
    files: Files = field(default_factory=Files, compare=False)

    @classmethod
    def load(cls, path: str | Path, overrides: tuple[str, ...] = ()) -> Self:
        """Read a file. Mistakes in it are reported by `check`, `resolve` and `run`, not here.

        Files that it names are looked for in its folder.
        """
        with open(path, "rb") as file:
            return cls(file.read(_READ_AT_MOST + 1), str(path), overrides, Files(Path(path).parent))

    @classmethod
    def from_text(cls, text: str, name: str = "scenario") -> Self:
        """Take a scenario's text, and its name in messages.

        Raises
        ------
        ScenarioError
            It has mistakes: its message shows them all.
        """
        return cls(text.encode(), name)._read()

    @classmethod
    def from_dict(cls, tables: Mapping[str, Value], name: str = "scenario") -> Self:
        """Take a scenario as a dictionary, as `tomllib` reads its file.

        Raises
        ------
        TypeError
            A value is of a type that TOML has not; the message names its key.
        ScenarioError
            It has mistakes.
        """
        lines = (f"{key} = {overrides.toml(value, key)}\n" for key, value in tables.items())
        return cls.from_text("".join(lines), name)

    def __repr__(self) -> str:
        overrides = f", overrides={self.overrides!r}" if self.overrides else ""
        return f"<Scenario {self.name!r}, {len(self.source)} bytes{overrides}>"

    def __reduce__(self) -> tuple[type[Self], tuple[bytes, str, tuple[str, ...], Files]]:
        return type(self), (self.source, self.name, self.overrides, self.files)

    def override(self, *assignments: str | Mapping[str, Value], **values: Value) -> Self:
        """Return the scenario with further overrides, applied after those it has.

        Parameters
        ----------
        assignments
            ``path=value`` as for ``perhop run -s``, or mappings of paths to values.
        values
            Values by path, two underscores for a dot.

        Raises
        ------
        TypeError
            An assignment is neither, or a value is of a type that TOML has not.
        ScenarioError
            The scenario has mistakes with them.

        Examples
        --------
        >>> pair = {"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}
        >>> link = {"ends": ["a", "b"], "rate": "1Mbit/s"}
        >>> flow = {"name": "up", "from": "a", "to": "b"}
        >>> run = {"duration": "1s"}
        >>> scenario = Scenario.from_dict({"run": run, "node": [*pair], "link": [link], "flow": [flow]})
        >>> scenario.override("run.seed=2", {"flow.up.tcp.window": "64KiB"}, run__replication=3).overrides
        ('run.seed=2', 'flow.up.tcp.window="64KiB"', 'run.replication=3')
        """
        return self.unread(*overrides.assignments(assignments, values))._read()

    def unread(self, *assignments: str) -> Self:
        """Return the scenario with further overrides, whatever mistakes it has with them: for `check`."""
        return replace(self, overrides=(*self.overrides, *assignments))

    def try_elements(self) -> None:
        """Build the elements in Python, if there are any; this runs their programs.

        Raises
        ------
        ScenarioError
            One cannot be built from its settings.
        """
        if self.core.has_programs:
            _core.try_elements(self.source, self.name, list(self.overrides), self.files)

    def _read(self) -> Self:
        _ = self.core
        return self

    @cached_property
    def core(self) -> _core.Scenario:
        """The scenario as the core read it."""
        return _core.Scenario(self.source, self.name, list(self.overrides), self.files)

    @property
    def seed(self) -> int:
        """Key of every random stream."""
        return self.core.seed

    @property
    def replication(self) -> int:
        """Second key of every random stream."""
        return self.core.replication

    def check(self) -> list[Diagnostic]:
        """Return every mistake; an empty list means that it will run, with `kernel_only` on real packets."""
        return self.diagnose()[0]

    def kernel_only(self) -> list[Diagnostic]:
        """Return settings that only a kernel has, for which virtual time refuses it; none beside mistakes."""
        try:
            return self.core.kernel_only
        except _core.ScenarioError:
            return []

    def check_clock(self) -> None:
        """See that what runs the scenario has its senders.

        Raises
        ------
        ScenarioError
            It has mistakes, or runs in virtual time and has settings that only a kernel has.
        """
        self.core.check_clock()

    def warnings(self) -> list[Diagnostic]:
        """Return warnings of valid settings that are almost surely mistakes; none beside mistakes."""
        return self.diagnose()[1]

    def diagnose(self) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """Return the diagnostics of `check` and of `warnings`."""
        try:
            return [], self.core.warnings
        except _core.ScenarioError as error:
            return error.diagnostics, []

    def key(self) -> Key:
        """Return the identity of the results: equal whatever names, comments and order the file has."""
        treatment = hashlib.sha256(self.core.treatment().encode()).hexdigest()
        return Key(treatment, self.seed, self.replication, max(self.core.results_since, KEPT_SINCE))

    def work(self) -> float:
        """Estimate how much work a run is, in packets that cross links; of a live run, in time."""
        if self.core.live:
            return self.describe().run.duration_s * HOPS_PER_S
        return self.core.packet_hops

    def resolve(self) -> str:
        """Return the scenario as TOML with every default filled in and the overrides applied."""
        return self.core.resolve()

    def describe(self) -> Description:
        """Return the meaning of the scenario."""
        return Description(self.core)
