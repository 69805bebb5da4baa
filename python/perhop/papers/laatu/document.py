"""What comes out of a reproduction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perhop.papers.laatu.findings import Finding
from perhop.papers.laatu.predicates import SchemeValues
from perhop.papers.laatu.responses import Case
from perhop.papers.plan import Sweep


@dataclass(frozen=True)
class Reproduction:
    """What comes out of a reproduction.

    Attributes
    ----------
    document
        Rows and claims, plain JSON values; equal runs give equal bytes.
    measured
        Every case at the fitted point.
    sweeps
        Each with its cases by levels.
    findings
        What the comparison says beyond the claims: a title and a text each.
    warnings
        Runs that do not meet what the study assumes, in words.
    left_out
        What a quick reproduction does not do.
    """

    document: dict[str, Any]
    measured: SchemeValues
    sweeps: Sequence[tuple[Sweep, Mapping[tuple[str, ...], Case]]]
    findings: Sequence[Finding]
    warnings: Sequence[str]
    left_out: Sequence[str]
