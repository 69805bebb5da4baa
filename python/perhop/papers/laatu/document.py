"""The outcome of a reproduction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perhop.papers.laatu.predicates import SchemeValues
from perhop.papers.laatu.responses import Case
from perhop.papers.plan import Sweep
from perhop.papers.study import Outcome


@dataclass(frozen=True, kw_only=True)
class Reproduction(Outcome):
    """Outcome of the study; the sweeps with their cases by levels."""

    measured: SchemeValues
    sweeps: Sequence[tuple[Sweep, Mapping[tuple[str, ...], Case]]]
