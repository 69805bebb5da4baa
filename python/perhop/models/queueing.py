"""Closed forms of one queue: waits of Poisson arrivals, shares of an overloaded link.

References
----------
.. [1] L. Kleinrock, "Queueing Systems", volume 1, 1975, equation (5.71): the mean wait of M/G/1.
.. [2] D. Bertsekas, R. Gallager, "Data Networks", second edition, 1992, section 6.5.2: max-min fairness.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perhop.models.arrays import Floats, inside


def md1_wait(load: npt.ArrayLike, service: npt.ArrayLike) -> Floats:
    """Compute the mean wait in an M/D/1 queue, s.

    Parameters
    ----------
    load
        Arrival rate times service time, above 0 and below 1.
    service
        Time to send a packet, s.

    Returns
    -------
    array
        ``load service / (2 (1 - load))`` [1]_.

    Raises
    ------
    ValueError
        A load outside (0, 1): the queue has no mean then.
    """
    rho = inside("load", load)
    return np.asarray(rho * np.asarray(service, dtype=np.float64) / (2.0 * (1.0 - rho)))


def weighted_shares(offered: Sequence[float], weights: Sequence[float], rate: float) -> list[float]:
    """Share a rate among classes by weight; unneeded shares go to the others [2]_.

    Parameters
    ----------
    offered
        What each class would send.
    weights
        Its weight, above zero.
    rate
        What there is to share, in the unit of `offered`.
    """
    given = [0.0] * len(offered)
    open_ = [place for place, load in enumerate(offered) if load > 0.0]
    left = rate
    while open_:
        level = left / sum(weights[place] for place in open_)
        content = [place for place in open_ if offered[place] <= weights[place] * level]
        if not content:
            for place in open_:
                given[place] = weights[place] * level
            break
        for place in content:
            given[place] = offered[place]
            left -= offered[place]
        open_ = [place for place in open_ if place not in content]
    return given


def priority_shares(offered: Sequence[float], rate: float) -> list[float]:
    """Share a rate among classes, the earlier one first."""
    given, left = [], rate
    for load in offered:
        given.append(min(load, left))
        left -= given[-1]
    return given
