"""Closed form for TCP behind a token bucket that drops packets beyond its profile.

The derivation is ours and follows the argument of [1]_: the window is a sawtooth, and a loss comes when the
bucket is empty. While the connection sends faster than tokens come, the bucket gives what is beyond; with a
window that grows by a segment every `b` round trips, a bucket of B packets lets it grow ``sqrt(2 B / b)``
segments above the rate of the tokens. Below it the bucket fills again, unless it is so deep that it cannot:
then the tokens bound the mean, and the connection gets all of them.

References
----------
.. [1] S. Sahu, P. Nain, C. Diot, V. Firoiu, D. Towsley, "On Achievable Service Differentiation with Token
   Bucket Marking for TCP", ACM SIGMETRICS 2000.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from perhop.models.arrays import Floats, positive


def policed(tokens: npt.ArrayLike, depth: npt.ArrayLike, rtt: npt.ArrayLike, b: npt.ArrayLike = 1) -> Floats:
    """Compute the rate of a connection behind a token bucket that drops, packets/s.

    Parameters
    ----------
    tokens
        Rate of the tokens, packets/s.
    depth
        Depth of the bucket, packets.
    rtt
        Round-trip time, s; nothing waits in queues.
    b
        Segments per ACK.

    Returns
    -------
    array
        ``min(tokens, 3/4 (tokens + sqrt(2 depth / b) / rtt))``.

    Raises
    ------
    ValueError
        An argument is not positive.

    Notes
    -----
    The window grows by a segment every `b` round trips and is halved once for all losses of a window.
    """
    rate, packets = positive("tokens", tokens), positive("depth", depth)
    time, acked = positive("rtt", rtt), positive("b", b)
    return np.asarray(np.minimum(rate, 0.75 * (rate + np.sqrt(2.0 * packets / acked) / time)))
