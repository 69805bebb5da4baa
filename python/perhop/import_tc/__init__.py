"""Scenarios from the queues of a Linux device: commands of `tc`, or what `tc` shows. Nothing is executed.

``write.imported`` is the way in: parts as they are read, the port that they make, scenario.
"""

from perhop.import_tc.write import imported

__all__ = ["imported"]
