"""Two-way TCP over an asymmetric link: the study of Kalampoukas, Varma and Ramakrishnan (1997).

`make_plan` lists the runs, the engine's `run_batch` does them, `reduce` turns the results into the document
of `perhop reproduce kalampoukas`. `sweeps` go beyond the paper.
"""

from perhop.papers.kalampoukas.document import Reproduction, reduce
from perhop.papers.kalampoukas.measure import BrokenRun, Curve
from perhop.papers.kalampoukas.plan import Figure, Job, Plan, make_plan

__all__ = ["BrokenRun", "Curve", "Figure", "Job", "Plan", "Reproduction", "make_plan", "reduce"]
