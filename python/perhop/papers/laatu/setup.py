"""A set-up of the study: which marker sits at the customer's edge, and everything the paper leaves open.

The scenario files of the pack hold the defaults; `Setup.changes` gives the overrides that turn one of them
into any other set-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Marking = Literal["per-flow", "aggregate"]
Meter = Literal["tr-tcm", "sr-tcm", "tcp-friendly"]
Background = Literal["tcp", "constant"]
Averaging = Literal["decoupled", "coupled", "shared"]

AVERAGINGS: tuple[Averaging, ...] = ("decoupled", "coupled", "shared")
MARKINGS: tuple[Marking, Marking] = ("per-flow", "aggregate")

CIR_KBPS = 800.0
"""Committed rate of the customer, section 4.4; per flow a quarter of it."""

PIR_KBPS = 1400.0
"""Peak rate of the customer, section 4.4."""

AF_KBPS = 2000.0
"""What the AF class gets at the bottleneck, section 4.3."""

EXCESS_KBPS = 1000.0
"""What the utilization of the excess rate is relative to. The paper does not say: `excess_denominator`."""

CBS_PACKETS, PBS_PACKETS = 15, 18
"""Bucket depths, section 4.4."""

FLOWS = 4
RTT_MS = 300.0
BACKGROUND_RTT_MS = 20.0
PACKET = 1500
LIMIT_KB = 180.0
AVERAGING: Averaging = "coupled"
HEADERS = 52


@dataclass(frozen=True)
class Setup:
    """One network of the study.

    Attributes
    ----------
    marking
        A meter for each flow, or one for all of the customer.
    meter
        Which meter; `tcp-friendly` has one pool of tokens and no per-flow form.
    flows
        Measured flows; the customer's rates stay as they are.
    rtts_ms
        Empty round-trip times of the measured flows, ms: flow i has the i-th, over and over.
    background
        Seven TCP flows, or seven that keep their mean rate whatever is lost, with packets at random times.
    background_rtt_ms
        Empty round-trip time of the background's TCP flows, ms.
    packet
        Length of a full packet on the wire, byte.
    averaging
        Which backlog a virtual queue averages.
    limit_kb
        Most that waits in the AF queue, kB.
    recovery
        TCP's recovery.
    ack
        When receivers acknowledge.
    window_kb
        Receiver's window, KiB.
    depth
        Factor on the bucket depths of the customer's meter.
    """

    marking: Marking
    meter: Meter = "tr-tcm"
    flows: int = FLOWS
    rtts_ms: tuple[float, ...] = (RTT_MS,)
    background: Background = "tcp"
    background_rtt_ms: float = BACKGROUND_RTT_MS
    packet: int = PACKET
    averaging: Averaging = AVERAGING
    limit_kb: float = LIMIT_KB
    recovery: str = "reno"
    ack: str = "delayed"
    window_kb: int = 64
    depth: float = 1.0

    def __post_init__(self) -> None:
        if self.meter == "tcp-friendly" and self.marking != "aggregate":
            raise ValueError("tcp-friendly: one pool of tokens serves all flows; there is no per-flow form")
        if self.background == "constant" and self.meter != "tr-tcm":
            raise ValueError(f"{self.meter}: there is no scenario with a background of constant rate")
        if self.flows < 1 or not self.rtts_ms:
            raise ValueError(f"flows = {self.flows}, rtts_ms = {self.rtts_ms}: at least one of each")

    def scenario(self) -> str:
        """Name of the pack's scenario file."""
        if self.meter == "tcp-friendly":
            return "tcp-friendly.toml"
        if self.background == "constant":
            return f"{self.marking}-constant.toml"
        return f"{self.marking}.toml" if self.meter == "tr-tcm" else f"{self.marking}-{self.meter}.toml"

    def changes(self) -> list[str]:
        """List the overrides, `path=value`, that turn the scenario file into this set-up."""
        found = []
        if self.flows != FLOWS:
            found += [f"node.s.count={self.flows}", f"node.d.count={self.flows}"]
            if self.marking == "per-flow":
                found += [f"conditioner.customer.meter.cir={_bit_s(CIR_KBPS / self.flows)}"]
                if self.meter == "tr-tcm":
                    found += [f"conditioner.customer.meter.pir={_bit_s(PIR_KBPS / self.flows)}"]
        if self.rtts_ms != (RTT_MS,):
            found.append(f"link.s-e1.delay={_delays(self.rtts_ms)}")
        if self.background == "tcp" and self.background_rtt_ms != BACKGROUND_RTT_MS:
            found.append(f"link.b-e2.delay={_delays((self.background_rtt_ms,))}")
        if self.packet != PACKET:
            found += [f"run.packet_size={self.packet}B", f"profile.linux24.mss={self.packet - HEADERS}B"]
        if self.averaging != AVERAGING:
            found.append(f"port.c1-c2.class.af.queue.averaging={self.averaging}")
        if self.limit_kb != LIMIT_KB:
            found.append(f"port.c1-c2.class.af.queue.limit={round(self.limit_kb * 1000)}B")
        if self.recovery != "reno":
            found.append(f"profile.linux24.recovery={self.recovery}")
        if self.ack != "delayed":
            acking = ("measured", "background") if self.background == "tcp" else ("measured",)
            found += [f"flow.{name}.ack.policy={self.ack}" for name in acking]
        if self.window_kb != 64:
            found.append(f"profile.linux24.window={self.window_kb}KiB")
        if self.depth != 1.0:
            found += self._depths()
        return found

    def _depths(self) -> list[str]:
        second = "ebs" if self.meter == "sr-tcm" else "pbs"
        return [
            f"conditioner.customer.meter.{name}={round(self.depth * packets * self.packet)}B"
            for name, packets in (("cbs", CBS_PACKETS), (second, PBS_PACKETS))
        ]


def _bit_s(kbps: float) -> str:
    return f"{round(kbps * 1000)}bit/s"


def _delays(rtts_ms: tuple[float, ...]) -> str:
    """Delay of the access link, half the round trip; a list where flows differ."""
    each = [f"{round(rtt * 500)}us" for rtt in rtts_ms]
    return each[0] if len(each) == 1 else "[" + ", ".join(f'"{one}"' for one in each) + "]"
