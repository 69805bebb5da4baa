"""Closed forms for the rate of one TCP connection against the loss probability of its path.

All rates are in segments per second and all windows in segments; multiply a rate by the segment's bits for
bit/s. Times are in seconds. Every function broadcasts over NumPy arrays.

`b` is the number of segments that one ACK acknowledges: 1 for a receiver that acknowledges every segment, 2
for delayed ACKs.

References
----------
.. [1] M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance
   Algorithm", ACM CCR 27(3), 1997.
.. [2] J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Throughput: A Simple Model and its Empirical
   Validation", ACM SIGCOMM 1998.
.. [3] RFC 9438, "CUBIC for Fast and Long-Distance Networks", 2023, sections 4.3 and 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perhop.models.arrays import Floats, inside, positive

CUBIC_C = 0.4
"""Scale of CUBIC's growth in segments/s^3 (RFC 9438 section 5.1)."""

CUBIC_BETA = 0.7
"""Part of the window that CUBIC keeps on congestion (RFC 9438 section 4.6)."""


def mathis_constant(b: npt.ArrayLike = 1) -> Floats:
    """Return the constant C of the inverse square-root law for evenly spaced losses.

    Parameters
    ----------
    b
        Segments per ACK.

    Returns
    -------
    array
        ``sqrt(3 / (2 b))``: 1.22 for an ACK per segment, 0.87 for delayed ACKs.
    """
    return np.asarray(np.sqrt(3.0 / (2.0 * positive("b", b))))


def mathis(p: npt.ArrayLike, rtt: npt.ArrayLike, b: npt.ArrayLike = 1) -> Floats:
    """Compute the rate without time-outs and receiver limit, segments/s.

    Parameters
    ----------
    p
        Losses per segment delivered, inside (0, 1).
    rtt
        Round-trip time, s.
    b
        Segments per ACK.

    Returns
    -------
    array
        ``C / (rtt sqrt(p))`` [1]_, equation (3), with C from `mathis_constant`.

    Notes
    -----
    One loss for each cycle of the sawtooth, windows large enough that a cycle lasts many round trips, every
    loss repaired within a round trip, no time-outs.
    """
    return np.asarray(mathis_constant(b) / (positive("rtt", rtt) * np.sqrt(inside("p", p))))


def pftk_window(p: npt.ArrayLike, b: npt.ArrayLike = 1) -> Floats:
    """Compute the mean window at a loss that duplicate ACKs reveal, segments ([2]_, (13))."""
    p, b = inside("p", p), positive("b", b)
    middle = (2.0 + b) / (3.0 * b)
    return np.asarray(middle + np.sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + middle**2))


def pftk_timeout_share(p: npt.ArrayLike, window: npt.ArrayLike) -> Floats:
    """Compute the probability that a loss in a window ends in a time-out ([2]_, equation (24)).

    Parameters
    ----------
    p
        Loss probability, inside (0, 1).
    window
        Segments in the window; with three or fewer every loss does.
    """
    p, window = inside("p", p), positive("window", window)
    kept, three = 1.0 - p, 1.0 - (1.0 - p) ** 3
    with np.errstate(invalid="ignore"):
        share = three * (1.0 + kept**3 * (1.0 - kept ** (window - 3.0))) / (1.0 - kept**window)
    return np.asarray(np.where(window <= 3.0, 1.0, np.minimum(1.0, share)))


def pftk(
    p: npt.ArrayLike,
    rtt: npt.ArrayLike,
    t0: npt.ArrayLike,
    window: npt.ArrayLike = np.inf,
    b: npt.ArrayLike = 2,
) -> Floats:
    """Compute Reno's sending rate with time-outs and a receiver's window, segments/s.

    Parameters
    ----------
    p
        Probability that a segment is the first lost one of its round, inside (0, 1).
    rtt
        Round-trip time, s.
    t0
        First time-out of a series, s.
    window
        Receiver's window, segments; infinite for none.
    b
        Segments per ACK.

    Returns
    -------
    array
        The full model: [2]_, equation (31), with `pftk_window` and `pftk_timeout_share`.

    Notes
    -----
    Once a segment of a round is lost, all that follow it in that round are taken to be lost too. Where losses
    are independent instead, more of a round arrives, and more of the losses are repaired without a time-out.
    A second loss in the same window, which plain Reno repairs by a time-out, is not in the model.
    """
    cycle = _cycle(p, rtt, t0, window, b)
    return np.asarray(cycle.sent / (cycle.sending + cycle.waiting))


def pftk_waiting(
    p: npt.ArrayLike,
    rtt: npt.ArrayLike,
    t0: npt.ArrayLike,
    window: npt.ArrayLike = np.inf,
    b: npt.ArrayLike = 2,
) -> Floats:
    """Compute the part of the time in time-outs by the full model of [2]_.

    Parameters
    ----------
    p, rtt, t0, window, b
        As for `pftk`.
    """
    cycle = _cycle(p, rtt, t0, window, b)
    return np.asarray(cycle.waiting / (cycle.sending + cycle.waiting))


class _Cycle(NamedTuple):
    """The time between two losses: segments sent, seconds sending and in time-outs."""

    sent: Floats
    sending: Floats
    waiting: Floats


def _cycle(
    p: npt.ArrayLike, rtt: npt.ArrayLike, t0: npt.ArrayLike, window: npt.ArrayLike, b: npt.ArrayLike
) -> _Cycle:
    p, rtt, t0 = inside("p", p), positive("rtt", rtt), positive("t0", t0)
    b, window = positive("b", b), positive("window", window)
    own = pftk_window(p, b)
    reached = np.minimum(own, window)
    share = pftk_timeout_share(p, reached)
    # (28): the mean length of a series of time-outs, each twice as long as the one before up to 64 t0
    series = 1.0 + p + 2.0 * p**2 + 4.0 * p**3 + 8.0 * p**4 + 16.0 * p**5 + 32.0 * p**6
    free = b / 2.0 * reached + 1.0
    bound = b / 8.0 * reached + (1.0 - p) / (p * reached) + 2.0
    return _Cycle(
        sent=np.asarray((1.0 - p) / p + reached + share / (1.0 - p)),
        sending=np.asarray(rtt * np.where(own >= window, bound, free)),
        waiting=np.asarray(share * t0 * series / (1.0 - p)),
    )


def aimd_window(p: npt.ArrayLike, increase: npt.ArrayLike, beta: npt.ArrayLike) -> Floats:
    """Compute AIMD's mean window, segments (RFC 9438 section 4.3).

    Parameters
    ----------
    p
        Losses per segment, evenly spaced.
    increase
        Segments added in a round trip.
    beta
        Part of the window kept on a loss, inside (0, 1).

    Returns
    -------
    array
        ``sqrt(increase (1 + beta) / (2 (1 - beta) p))``; 1 and 0.5 give Reno.
    """
    p, increase, beta = inside("p", p), positive("increase", increase), inside("beta", beta)
    return np.asarray(np.sqrt(increase * (1.0 + beta) / (2.0 * (1.0 - beta) * p)))


def cubic_window(
    p: npt.ArrayLike, rtt: npt.ArrayLike, c: npt.ArrayLike = CUBIC_C, beta: npt.ArrayLike = CUBIC_BETA
) -> Floats:
    """Compute the mean window of CUBIC's own growth, segments (RFC 9438 section 5).

    Parameters
    ----------
    p
        Losses per segment, evenly spaced.
    rtt
        Round-trip time, s.
    c
        Scale of the growth, segments/s^3.
    beta
        Part of the window kept on a loss, inside (0, 1).

    Returns
    -------
    array
        ``(c (3 + beta) / (4 (1 - beta)))^(1/4) (rtt / p)^(3/4)``.
    """
    p, rtt, c, beta = inside("p", p), positive("rtt", rtt), positive("c", c), inside("beta", beta)
    return np.asarray((c * (3.0 + beta) / (4.0 * (1.0 - beta))) ** 0.25 * (rtt / p) ** 0.75)


def cubic_response(
    p: npt.ArrayLike, rtt: npt.ArrayLike, c: npt.ArrayLike = CUBIC_C, beta: npt.ArrayLike = CUBIC_BETA
) -> Floats:
    """Compute CUBIC's mean window with its Reno-friendly region, segments (RFC 9438 section 5.1).

    Parameters
    ----------
    p, rtt, c, beta
        As for `cubic_window`.

    Returns
    -------
    array
        The larger of `cubic_window` and of `aimd_window` with the increase ``3 (1 - beta) / (1 + beta)`` of
        the Reno-friendly region, which is Reno's mean window.

    Notes
    -----
    The RFC's tables take Reno's window from RFC 3649, ``1.2 / sqrt(p)``; the exact constant is 1.2247. With
    losses at random instead of evenly spaced, the mean window is larger.
    """
    beta = inside("beta", beta)
    friendly = aimd_window(p, 3.0 * (1.0 - beta) / (1.0 + beta), beta)
    return np.asarray(np.maximum(cubic_window(p, rtt, c, beta), friendly))
