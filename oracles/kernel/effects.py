"""What single clauses of `linux`, and jitter, do in the simulator where the kernel's numbers hang on them.

perhop campaign run oracles/kernel/clauses.toml -o out/clauses       # jitter-sizes, processing-jitter too
cd oracles/kernel
python effects.py ../../out/{clauses,jitter-sizes,processing-jitter} > effects.csv
python effects.py                                # the tables of the README, the rig and the live arm beside
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from compare import HERE, SCALES, measured_by_cell, rig, shown


@dataclass(frozen=True)
class Effects:
    """A table: a response of some cells at levels of a campaign's factor, beside recorded arms."""

    of: str
    campaign: str
    part: str
    response: str
    levels: dict[str, str]
    """Heading of each level that is shown, after those of the arms."""
    cells: dict[str, str]
    arms: tuple[str, ...] = ("rig",)


TABLES = (
    Effects(
        "CUBIC, loss in the first 5 s, %",
        "clauses",
        "start",
        "loss",
        {"none": "simulator, `linux`", "receive_buffer": "without `receive_buffer`"},
        {
            "10M-20ms-1-1-cubic": "10 Mbit/s, 20 ms, 17 packets, one flow",
            "10M-20ms-2-1-cubic": "10 Mbit/s, 20 ms, 33 packets, one flow",
            "2M-100ms-1-1-cubic": "2 Mbit/s, 100 ms, 17 packets, one flow",
            "10M-50ms-1-5-cubic": "10 Mbit/s, 50 ms, 41 packets, five flows",
        },
    ),
    Effects(
        "2 Mbit/s, 40 ms, fifteen flows, time-outs",
        "clauses",
        "steady",
        "timeouts",
        {"none": "simulator, `linux`", "ack_delay_adapts": "without `ack_delay_adapts`"},
        {"2M-40ms-1-15-cubic": "CUBIC", "2M-40ms-1-15-reno": "Reno"},
    ),
    Effects(
        "2 Mbit/s, 40 ms, fifteen flows, loss in the first 5 s, %",
        "clauses",
        "start",
        "loss",
        {"none": "simulator, `linux`", "rtt_arithmetic": '`rtt_arithmetic = "exact"`'},
        {"2M-40ms-1-15-cubic": "CUBIC", "2M-40ms-1-15-reno": "Reno"},
    ),
    Effects(
        "queue, BDP; time-outs of 15 flows in 30 s",
        "jitter-sizes",
        "steady",
        "timeouts",
        {
            "simulator": "simulator",
            "0.04 ms": "jitter of 0.04 ms",
            "0.12 ms": "0.12 ms",
            "0.36 ms": "0.36 ms",
        },
        {
            f"10M-20ms-{queue}-15-{control}": f"{queue}, {name}"
            for queue in ("0.3", "1", "2")
            for control, name in (("cubic", "CUBIC"), ("reno", "Reno"))
        },
    ),
    *(
        Effects(
            of,
            "processing-jitter",
            "steady",
            response,
            {"none": "simulator", **{size: size for size in ("0.04 ms", "0.08 ms", "0.12 ms", "0.2 ms")}},
            {f"{cell}-cubic": "CUBIC", f"{cell}-reno": "Reno"},
            ("rig", "kernel"),
        )
        for of, response, cell in (
            ("20 Mbit/s, 10 ms, two flows, loss, %", "loss", "20M-10ms-1-2"),
            ("10 Mbit/s, 20 ms, 1 BDP, fifteen flows, time-outs", "timeouts", "10M-20ms-1-15"),
        )
    ),
)
"""Tables of the README, in its order."""


def tables() -> Iterator[str]:
    """Give the tables of what is recorded."""
    runs = pl.concat([rig(HERE / "rig.csv")[0], pl.read_csv(HERE / "tcp.csv")], how="diagonal_relaxed")
    effects = pl.read_csv(HERE / "effects.csv", schema_overrides={"level": pl.String})
    names = {"rig": "rig", "kernel": "live arm"}
    for one in TABLES:
        yield f"| {' | '.join([one.of, *(names[arm] for arm in one.arms), *one.levels.values()])} |"
        yield f"|{'---|' * (1 + len(one.arms) + len(one.levels))}"
        recorded = runs.filter(part=one.part)
        own = effects.filter(campaign=one.campaign, part=one.part)
        for cell, name in one.cells.items():
            found = [recorded.filter(clock=arm, cell=cell) for arm in one.arms]
            for level in one.levels:
                # what no level of the campaign is: the simulator as recorded
                there = own.filter(level=level, cell=cell)
                found.append(there if there.height else recorded.filter(clock=level, cell=cell))
            values = (each[one.response].to_numpy() * SCALES[one.response] for each in found)
            yield f"| {' | '.join([name, *map(shown, values)])} |"
        yield ""


def measured(store: Path) -> pl.DataFrame:
    """Return what a campaign's store measured, one row for each run."""
    from perhop.experiment.store import Store

    campaign = Store.open(store).campaign
    factor, *_ = campaign.design.names
    wide = measured_by_cell(store, factor).rename({factor: "level"})
    part = pl.lit("steady").alias("part") if "part" not in wide.columns else pl.col("part")
    keys = [pl.lit(campaign.name).alias("campaign"), "level", part, "cell", "replication"]
    return wide.select(*keys, "loss", "timeouts")


def main() -> None:
    """Print what stores measured as CSV, or the tables of what is recorded."""
    if len(sys.argv) > 1:
        sys.stdout.write(pl.concat(measured(Path(store)) for store in sys.argv[1:]).write_csv())
        return
    for line in tables():
        print(line)


if __name__ == "__main__":
    main()
