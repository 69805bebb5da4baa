"""What the paper prints: Tables 2 to 5."""

from __future__ import annotations

from perhop.papers.error import PackError
from perhop.papers.pack import Pack

METRICS = {
    "cir_utilization": ("cir_utilization", "1"),
    "excess_utilization": ("excess_utilization", "1"),
    "per_flow_goodput": ("per_flow_goodput_kbps", "kbit/s"),
    "per_flow_throughput": ("per_flow_throughput_kbps", "kbit/s"),
    "aggregate_throughput": ("aggregate_throughput_kbps", "kbit/s"),
}
"""Quantities of Tables 2 and 4: their name in the published file, their unit."""

COMPONENTS = ("committed", "excess", "total")
"""What Tables 3 and 5 give the fairness of."""


def published_values(pack: Pack) -> dict[str, dict[str, float]]:
    """Give the printed values by marking and quantity.

    Raises
    ------
    PackError
        A table is missing, a cell holds neither a quantity nor a number, or a marking lacks a row.
    """
    quantities = {column: name for name, (column, _) in METRICS.items()}
    found: dict[str, dict[str, float]] = {}
    for row in pack.table("throughput"):
        if row["metric"] not in quantities:
            raise row.error("metric", " or ".join(quantities))
        values = found.setdefault(row["marking"], {})
        quantity = quantities[row["metric"]]
        values[quantity] = row.number("mean")
        values |= {f"{quantity}_{statistic}": row.number(statistic) for statistic in ("sdev", "min", "max")}
    for row in pack.table("fairness"):
        if row["component"] not in COMPONENTS:
            raise row.error("component", " or ".join(COMPONENTS))
        values = found.setdefault(row["marking"], {})
        values[f"{row['component']}_fairness"] = row.number("mean")
        values[f"{row['component']}_fairness_sdev"] = row.number("sdev")
    for marking, values in found.items():
        for wanted in (*METRICS, *(f"{component}_fairness" for component in COMPONENTS)):
            if wanted not in values:
                raise PackError(f"{pack.folder / 'published'}: {marking}: no row for {wanted}")
    return found
