"""What the printed spread of Tables 2 to 5 says by itself, beside the spread of simulated runs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from perhop.papers.laatu.measure import COMPONENTS, REPETITIONS
from perhop.papers.laatu.predicates import Measurements
from perhop.papers.laatu.setup import CIR_KBPS, FLOWS

Published = Mapping[str, Mapping[str, float]]


def welch(means: tuple[float, float], sdevs: tuple[float, float], n: int) -> tuple[float, float]:
    """Compare two means of n values each by their standard deviations: t and the two-sided probability.

    References
    ----------
    .. [1] B. L. Welch, "The generalization of Student's problem when several different population variances
       are involved", Biometrika 34, 1947.
    """
    from scipy.special import stdtr

    a, b = (sdev**2 / n for sdev in sdevs)
    t = (means[0] - means[1]) / math.sqrt(a + b)
    degrees = (a + b) ** 2 / ((a**2 + b**2) / (n - 1))
    return t, 2.0 * float(stdtr(degrees, -abs(t)))


def variance_ratio(sdev: float, n: int, against: float, m: int) -> tuple[float, float]:
    """Compare the standard deviations of n and of m values: the ratio of variances, and its probability."""
    from scipy.special import fdtrc

    ratio = (sdev / against) ** 2
    return ratio, float(fdtrc(n - 1, m - 1, ratio))


def significance_finding(published: Published) -> tuple[str, str]:
    """Say which of the paper's differences in fairness its own five runs can tell from none."""
    words = []
    for component in COMPONENTS:
        name = f"{component}_fairness"
        means, sdevs = (
            (published["per-flow"][key], published["aggregate"][key]) for key in (name, f"{name}_sdev")
        )
        t, probability = welch(means, sdevs, REPETITIONS)
        words.append(
            f"{component} {means[0]:g} against {means[1]:g} (Welch's t = {t:.1f}, p = {probability:.2f})"
        )
    text = (
        f"Tables 3 and 5 have means and standard deviations over {REPETITIONS} runs: {'; '.join(words)}. A "
        "probability above 0.05 means that the paper's own runs do not tell the difference from none."
    )
    return "Which differences in fairness the paper's own runs show", text


def ceiling_finding(published: Published, m: Measurements) -> list[tuple[str, str]]:
    """Say how little the largest printed flow exceeds the mean, and how much simulated ones do."""
    printed, flows = published["aggregate"], REPETITIONS * FLOWS
    mean, sdev = printed["per_flow_throughput"], printed["per_flow_throughput_sdev"]
    largest = printed["per_flow_throughput_max"]
    runs = m.runs["aggregate"]
    tests = [
        np.concatenate([run.throughput for run in runs[first : first + REPETITIONS]])
        for first in range(0, len(runs) - REPETITIONS + 1, REPETITIONS)
    ]
    above = [
        float((one.max() - one.mean()) / np.std(one, ddof=1)) for one in tests if np.std(one, ddof=1) > 0
    ]
    if not above:
        return []
    text = (
        f"With one meter for the customer, the largest of Table 4's {flows} flows has {largest:g} kbit/s: "
        f"{(largest - mean) / sdev:.2f} standard deviations above the mean, and below the fair share of "
        f"{CIR_KBPS / FLOWS:g}. With one meter a flow can take what another leaves. In our {len(above)} "
        f"tests of {REPETITIONS} runs the largest flow is {min(above):.2f} to {max(above):.2f} of them above "
        f"the mean, and has up to {max(float(one.max()) for one in tests):.0f} kbit/s. Something capped "
        "each flow of the testbed that is not in the model, or the AF class itself was smaller in that test."
    )
    return [(f"A ceiling of {largest:.0f} kbit/s in the aggregate test", text)]


def common_mode_finding(published: Published, m: Measurements) -> list[tuple[str, str]]:
    """Say how much the printed sums vary from run to run, against simulated ones."""
    sdev = published["per-flow"]["aggregate_throughput_sdev"]
    ours = m.values["per-flow"]["aggregate_throughput"]
    against = float(np.std(ours, ddof=1)) if len(ours) > 1 else 0.0
    if against == 0.0:
        return []
    ratio, probability = variance_ratio(sdev, REPETITIONS, against, len(ours))
    alone = math.sqrt(FLOWS) * published["per-flow"]["per_flow_throughput_sdev"]
    text = (
        f"With per-flow marking the sum of the flows varies by {sdev:g} kbit/s from run to run in Table 2 "
        f"({REPETITIONS} runs); simulated runs vary by {against:.1f} ({len(ours)} runs), a ratio of "
        f"variances of {ratio:.0f}, p = {probability:.1g}. Four independent flows of that spread would "
        f"give {alone:.1f}. So something moved all flows of a run together. The paper does not say that "
        "runs of the two tests took turns: their difference may be this factor, which no simulation "
        "contradicts."
    )
    return [(f"A common mode of {sdev:g} kbit/s between runs", text)]
