"""Per-flow against aggregate marking of TCP flows: the study of Laatu, Harju and Loula.

`make_plan` lists the runs, `read` keeps of each what the flows got, `reduce` turns that into the document of
`perhop reproduce laatu`. `calibrate` fits what the paper leaves open.
"""

from perhop.papers.laatu.document import Reproduction, reduce
from perhop.papers.laatu.measure import Run, jain, read
from perhop.papers.laatu.plan import Case, Plan, make_plan
from perhop.papers.laatu.setup import Setup
from perhop.papers.laatu.sweeps import Sweep, SweepResult

__all__ = [
    "Case",
    "Plan",
    "Reproduction",
    "Run",
    "Setup",
    "Sweep",
    "SweepResult",
    "jain",
    "make_plan",
    "read",
    "reduce",
]
