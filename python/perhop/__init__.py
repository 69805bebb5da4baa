"""perhop, a DiffServ laboratory: scenario files, a packet-level simulator, judged reproductions of studies.

The public names below are imported when first used, so that ``import perhop`` costs nothing.

Examples
--------
>>> import perhop
>>> scenario = perhop.Scenario.load("two-way.toml")             # doctest: +SKIP
>>> result = scenario.override("run.seed=2").run()              # doctest: +SKIP
>>> result.flows.select("name", "goodput_bit_s")                # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perhop._core import RESULTS_VERSION as RESULTS_VERSION
    from perhop._core import ScenarioError as ScenarioError
    from perhop._core import __version__ as __version__
    from perhop.experiment.design import Design as Design
    from perhop.experiment.factors import Factor as Factor
    from perhop.experiment.factors import Level as Level
    from perhop.experiment.fractions import Range as Range
    from perhop.experiment.response import Response as Response
    from perhop.notebook.campaign import Campaign as Campaign
    from perhop.notebook.runs import Result as Result
    from perhop.notebook.runs import Scenario as Scenario
    from perhop.notebook.runs import StoredRun as StoredRun
    from perhop.run import tables as tables
    from perhop.run.record import DamagedRunError as DamagedRunError

_HOME = {
    "RESULTS_VERSION": "perhop._core",
    "Campaign": "perhop.notebook.campaign",
    "DamagedRunError": "perhop.run.record",
    "Design": "perhop.experiment.design",
    "Factor": "perhop.experiment.factors",
    "Level": "perhop.experiment.factors",
    "Range": "perhop.experiment.fractions",
    "Response": "perhop.experiment.response",
    "Result": "perhop.notebook.runs",
    "Scenario": "perhop.notebook.runs",
    "ScenarioError": "perhop._core",
    "StoredRun": "perhop.notebook.runs",
    "__version__": "perhop._core",
    "tables": "perhop.run.tables",
}

__all__ = [
    "RESULTS_VERSION",
    "Campaign",
    "DamagedRunError",
    "Design",
    "Factor",
    "Level",
    "Range",
    "Response",
    "Result",
    "Scenario",
    "ScenarioError",
    "StoredRun",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'perhop' has no attribute {name!r}")
    home = import_module(_HOME[name])
    return home if name == "tables" else getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
