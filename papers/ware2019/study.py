"""What the study needs of code: the closed form of the paper, and the same with the pipe shared."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from perhop.scenario.scenario import Scenario

PROBE_EVERY_S, PROBE_S, PROBE_PACKETS = 10.0, 0.2, 4
"""How often BBR looks for the least round trip, for how long at least, and with what in flight."""


class Setup(NamedTuple):
    """What the model is of, in packets and seconds."""

    rate: float
    round_trip_s: float
    buffer: float
    flows: int
    """Of BBR, ``N``."""

    @property
    def sending(self) -> float:
        """Part of the time in which BBR does not look for the least round trip, with a full buffer (11)."""
        return 1 - (self.buffer / self.rate + PROBE_S + self.round_trip_s) / PROBE_EVERY_S


@cache
def setup(scenario: Scenario) -> Setup:
    """Read a scenario of dumbbell.toml."""
    meaning = scenario.describe()
    bbr = [flow for flow in meaning.flows if flow.class_ == "BBR"]
    links = {link.name: link for link in meaning.links}
    slow = links["router->d"]
    rate = slow.rate_bit_s / (8 * (bbr[0].mss_bytes + bbr[0].header_bytes))
    limit = float(slow.port.classes[0].limit.removesuffix("p"))
    return Setup(rate, 2 * (slow.delay_s + links["b->router"].delay_s), limit, len(bbr))


def model(scenario: Scenario, response: str) -> float | None:
    """Return the share of all BBR flows by equations (9) to (11) of the paper; None of another response."""
    if response != "share":
        return None
    own = setup(scenario)
    of_buffer = own.rate * own.round_trip_s / own.buffer
    cubic = max(0.0, 0.5 - of_buffer / 2 - PROBE_PACKETS * own.flows / own.buffer)
    return (1 - cubic) * own.sending


def pipe(scenario: Scenario, response: str) -> float | None:
    """Return the share where what is in the pipe is shared as the buffer is; None of another response.

    With all ``q + c l`` packets in flight CUBIC has a part ``p`` of them. While BBR looks for the least round
    trip these, and ``4 N`` of its own, are all that is in the network, so the least round trip is
    ``(p (q + c l) + 4 N) / c``: (7) without the packets that (7) counts in the queue and in the pipe. BBR's
    share ``1 - p`` is ``2 (1 - p) (p (q + c l) + 4 N) / (q + c l)`` of all, so ``p = 1/2 - 4 N / (q + c l)``.
    Where the least round trip is that of the path, BBR's window holds more than that, and it has all.
    """
    if response != "share":
        return None
    own = setup(scenario)
    in_pipe = own.rate * own.round_trip_s
    in_all = own.buffer + in_pipe
    cubic = max(0.0, 0.5 - PROBE_PACKETS * own.flows / in_all)
    if cubic * in_all + PROBE_PACKETS * own.flows < in_pipe:
        cubic = 0.0
    return (1 - cubic) * own.sending


FORMS = {"model": model, "pipe": pipe}
