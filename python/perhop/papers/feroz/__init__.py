"""A TCP-friendly traffic marker: the study of Feroz, Kalyanaraman and Rao (2000).

`make_plan` lists the runs, `numbers` keeps of each what is needed, `reduce` turns that into the document of
`perhop reproduce feroz`. `calibrate` searches what the paper leaves open.
"""

from perhop.papers.feroz.document import Reproduction, reduce
from perhop.papers.feroz.measure import Measurements, Numbers, SweepResult, numbers
from perhop.papers.feroz.plan import Case, Plan, make_plan

__all__ = [
    "Case",
    "Measurements",
    "Numbers",
    "Plan",
    "Reproduction",
    "SweepResult",
    "make_plan",
    "numbers",
    "reduce",
]
