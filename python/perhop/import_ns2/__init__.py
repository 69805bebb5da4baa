"""Scenarios from scripts of ns-2: a literal subset of OTcl is read, never executed.

``write.imported`` is the way in: parser, interpreter of constants, network, scenario.
"""

from perhop.import_ns2.write import Imported, imported

__all__ = ["Imported", "imported"]
