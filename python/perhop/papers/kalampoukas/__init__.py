"""Two-way TCP over an asymmetric link: the study of Kalampoukas, Varma and Ramakrishnan (1997).

`make_plan` lists the runs, `perhop.run.run_jobs` does them, `reduce` turns the results into the document
of `perhop reproduce kalampoukas`. `make_sweeps` and `reduce_sweep` do the same for the maps and curves beyond
the paper.
"""

from perhop.papers.kalampoukas.document import Reproduction, reduce
from perhop.papers.kalampoukas.measure import Curve
from perhop.papers.kalampoukas.plan import Figure, Plan, make_plan
from perhop.papers.kalampoukas.sweeps import Axis, Sweep, SweepResult, make_sweeps, reduce_sweep
from perhop.papers.study import BrokenRun
from perhop.run import Job

__all__ = [
    "Axis",
    "BrokenRun",
    "Curve",
    "Figure",
    "Job",
    "Plan",
    "Reproduction",
    "Sweep",
    "SweepResult",
    "make_plan",
    "make_sweeps",
    "reduce",
    "reduce_sweep",
]
