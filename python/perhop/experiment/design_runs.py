"""The runs of a design: their keys, seeds and order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from perhop.experiment.design import Design
    from perhop.scenario import Scenario


def runs(design: Design, scenario: Scenario, replications: range) -> pl.DataFrame:
    """Return the runs of a design, one row each; see `perhop.experiment.design.Design.runs`."""
    seed = scenario.seed
    hashes = [scenario.override(*one.overrides).key() for one in design.treatments]
    columns = defaultdict[str, list[object]](list)
    for replication in replications:
        for position, index in enumerate(_shuffled(design, replication)):
            one = design.treatments[index]
            own = design.seed(one, replication, seed)
            key = hashes[index]._replace(seed=own, replication=replication)
            columns["key"].append(key.hex())
            columns["treatment"].append(one.name)
            for name, level in zip(design.names, one.levels, strict=True):
                columns[name].append(level)
            columns["replication"].append(replication)
            columns["seed"].append(own)
            drawn = (f"run.seed={own}", f"run.replication={replication}")
            columns["overrides"].append([*one.overrides, *drawn])
            columns["order"].append(replication * len(design.treatments) + position)
    types: dict[str, pl.DataType] = {
        "replication": pl.Int64(),
        "seed": pl.UInt64(),
        "overrides": pl.List(pl.String),
        "order": pl.Int64(),
    }
    names = ("key", "treatment", *design.names, "replication", "seed", "overrides", "order")
    return pl.DataFrame(
        {name: pl.Series(name, columns[name], types.get(name, pl.String())) for name in names}
    )


def _shuffled(design: Design, replication: int) -> Iterator[int]:
    """Yield the treatments of a replication in their order of running."""
    # the words of PCG64 are promised to stay; what Generator makes of them is not
    words = np.random.PCG64([design.order_seed, replication]).random_raw(len(design.treatments))
    return iter(np.argsort(words, kind="stable").tolist())
