"""The runs of a design: their keys, seeds and order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from perhop.experiment.factors import Treatments
    from perhop.scenario.scenario import Scenario


class Run(NamedTuple):
    """A run of a design; the treatment by its place."""

    key: str
    treatment: int
    replication: int
    seed: int
    order: int
    overrides: tuple[str, ...]


def each(design: Treatments, scenario: Scenario, replications: range) -> Iterator[Run]:
    """Yield the runs of a design in the order in which they are to be done."""
    hashes = [scenario.override(*one.overrides).key() for one in design.treatments]
    for replication in replications:
        of_replication = f"run.replication={replication}"
        for position, index in enumerate(_shuffled(design, replication)):
            one = design.treatments[index]
            seed = design.seed(one, replication, scenario.seed)
            key = hashes[index]._replace(seed=seed, replication=replication).hex()
            order = replication * len(design.treatments) + position
            overrides = (*one.overrides, f"run.seed={seed}", of_replication)
            yield Run(key, index, replication, seed, order, overrides)


def _shuffled(design: Treatments, replication: int) -> Iterator[int]:
    """Yield the treatments of a replication in their order of running."""
    # the words of PCG64 are promised to stay; what Generator makes of them is not
    words = np.random.PCG64([design.order_seed, replication]).random_raw(len(design.treatments))
    return iter(np.argsort(words, kind="stable").tolist())
