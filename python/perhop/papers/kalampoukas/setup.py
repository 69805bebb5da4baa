"""One set-up of the two links: as a scenario to run, and as parameters of the closed forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from perhop.models import two_way
from perhop.papers.published import Row

Scheme = Literal["fifo", "ack-priority", "backpressure", "bandwidth-allocation"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


@dataclass(frozen=True)
class Setup:
    """What distinguishes one run of the study from another.

    The defaults are the paper's base case, and the values of the pack's scenario files.

    Attributes
    ----------
    scheme
        How the slow node treats ACKs.
    fast_rate, slow_rate
        Link rates, bit/s.
    fast_packet, slow_packet, ack
        Data packets of either connection and an ACK, bytes.
    fast_window, slow_window
        Window of one connection, bytes.
    threshold
        Backpressure: data packets per connection, ``b``.
    share
        Bandwidth allocation: share of the slow link for data, ``f``.
    delay
        Propagation delay there and back, s.
    connections
        Connections each way.
    alone
        Whether the fast connection is alone.
    """

    scheme: Scheme
    fast_rate: float = 5e6
    slow_rate: float = 1e5
    fast_packet: int = 1500
    slow_packet: int = 1500
    ack: int = 28
    fast_window: int = 65536
    slow_window: int = 65536
    threshold: int = 1
    share: float = 0.5
    delay: float = 0.0
    connections: int = 1
    alone: bool = False

    def model(self) -> two_way.TwoWay:
        """Give the parameters of the closed forms."""
        return two_way.TwoWay(
            fast_rate=self.fast_rate,
            slow_rate=self.slow_rate,
            fast_packet=self.fast_packet,
            slow_packet=self.slow_packet,
            ack=self.ack,
            fast_window=self.fast_window,
            slow_window=self.slow_window,
            delay=self.delay,
            connections=self.connections,
        )

    def closed_form(self, form: two_way.Form) -> two_way.Efficiencies | None:
        """Evaluate the closed form of this set-up's scheme.

        Returns
        -------
        Efficiencies or None
            None where the paper has no such form: with propagation delay only FIFO has both forms, and
            backpressure with a threshold of one the printed form alone.
        """
        p = self.model()
        if self.alone:
            fast = two_way.one_way(p)
            return two_way.Efficiencies(0.0 * fast, fast)
        if self.scheme == "fifo":
            return two_way.fifo(p, form)
        if self.delay > 0:
            known = self.scheme == "backpressure" and self.threshold == 1 and form == "printed"
            return two_way.backpressure_delay(p) if known else None
        if self.scheme == "ack-priority":
            return two_way.ack_priority(p, form)
        if self.scheme == "backpressure":
            return two_way.backpressure(p, self.threshold, form)
        return two_way.bandwidth_allocation(p, self.share, form)

    def scenario(self) -> str:
        """Name the pack's scenario file of this scheme, with one connection each way."""
        return f"{self.scheme}.toml"

    def changes(self, base: Setup) -> list[str]:
        """List the ``path=value`` overrides that turn the scenario of `base` into this one."""
        up, down = _flow_names("up", self.connections), _flow_names("down", self.connections)
        link, port = "link.slow-fast", "port.slow-fast"
        candidates = [
            ("fast_rate", [f"{link}.rate.fast->slow"], f"{self.fast_rate:.0f}bit/s"),
            ("slow_rate", [f"{link}.rate.slow->fast"], f"{self.slow_rate:.0f}bit/s"),
            ("delay", [f"{link}.delay"], f"{self.delay * 1e9 / 2:.0f}ns"),
            ("ack", [f"{link}.pure_ack_size"], f"{self.ack}B"),
            ("slow_packet", [f"flow.{name}.tcp.mss" for name in up], f"{self.slow_packet}B"),
            ("fast_packet", [f"flow.{name}.tcp.mss" for name in down], f"{self.fast_packet}B"),
            ("slow_window", [f"flow.{name}.tcp.window" for name in up], f"{self.slow_window}B"),
            ("fast_window", [f"flow.{name}.tcp.window" for name in down], f"{self.fast_window}B"),
            ("threshold", [f"{port}.backpressure"], f"{self.threshold}"),
            ("share", [f"{port}.scheduler.share"], f"{self.share:g}"),
        ]
        return [
            f"{path}={value}"
            for field, paths, value in candidates
            if getattr(self, field) != getattr(base, field)
            for path in paths
        ]


CABLE_MODEM = Setup(
    scheme="fifo",
    fast_rate=1e7,
    slow_rate=5e4,
    fast_packet=512,
    slow_packet=512,
    ack=9,
    fast_window=4096,
    slow_window=4096,
    delay=0.0781504,
)
"""Section 3's network. The segment size is ours; the delay makes the empty round trip 80 ms."""


def from_row(row: Row) -> Setup:
    """Read a row of `published/efficiencies.csv`."""
    scheme = next((known for known in SCHEMES if known == row["scheme"]), None)
    if scheme is None:
        raise row.error("scheme", " or ".join(SCHEMES))
    setup = Setup(
        scheme=scheme,
        fast_rate=row.number("fast_mbps") * 1e6,
        slow_rate=row.number("slow_kbps") * 1e3,
        fast_packet=row.whole("fast_pkt_bytes"),
        slow_packet=row.whole("slow_pkt_bytes"),
        ack=row.whole("ack_bytes"),
        fast_window=row.whole("window_bytes"),
        slow_window=row.whole("window_bytes"),
        connections=row.whole("connections_each_way"),
    )
    if row["backpressure_pkts"]:
        setup = replace(setup, threshold=row.whole("backpressure_pkts"))
    if row["f"]:
        setup = replace(setup, share=row.number("f"))
    return setup


def with_connections(text: str, connections: int) -> str:
    """Repeat both flows of a scenario of one connection each way, each copy a second later than the last.

    Parameters
    ----------
    text
        A scenario of the pack with the flows `up` and `down`.
    connections
        How many of each; 1 gives `text` back.
    """
    if connections == 1:
        return text
    head, *flows = text.split("[[flow]]")
    copies = []
    for flow in flows:
        for k in range(connections):
            copy = flow.replace('name = "up"', f'name = "up{k + 1}"')
            copy = copy.replace('name = "down"', f'name = "down{k + 1}"')
            copies.append(copy.replace('start = "0s"', f'start = "{k}s"').rstrip("\n"))
    return head + "\n\n".join(f"[[flow]]{copy}" for copy in copies) + "\n"


def _flow_names(name: str, connections: int) -> list[str]:
    return [name] if connections == 1 else [f"{name}{k + 1}" for k in range(connections)]
