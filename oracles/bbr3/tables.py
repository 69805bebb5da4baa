"""BBR version 3 alone and beside CUBIC, version 1 next to it.

perhop campaign run oracles/bbr3/alone.toml -o out/bbr3-alone -j 2
perhop campaign run oracles/bbr3/beside.toml -o out/bbr3-beside -j 2
cd oracles/bbr3
python tables.py alone ../../out/bbr3-alone > alone.csv
python tables.py beside ../../out/bbr3-beside > beside.csv
python tables.py                                 # the tables of the README
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

HERE = Path(__file__).resolve().parent
FACTORS = {"alone": ["queue", "flows", "sender"], "beside": ["flows", "buffer", "sender"]}
"""By campaign: its factors, as the lines of its table are ordered."""
COLUMNS = {
    "share": ("share of BBR, %", 100),
    "goodput": ("goodput, Mbit/s", 1e-6),
    "loss": ("loss, %", 100),
    "wait": ("wait in the queue, ms", 1e3),
    "fairness": ("fairness", 1),
}
"""Each response: its heading, and what its values are multiplied by."""
HOSTS = {"bbr3": HERE / "fabric.csv", "bbr": HERE.parents[1] / "papers/ware2019/published/fabric.csv"}
"""Shares that real hosts had, by sender (README.md)."""
MOST_BDP = 8
"""Buffers up to which shares are compared as numbers."""
SENDERS = {"bbr3": "BBR, version 3", "bbr": "BBR, version 1", "cubic": "CUBIC"}


def measured(campaign: str, store: Path) -> pl.DataFrame:
    """Return what a store measured, one row for each run."""
    from perhop.experiment.store import Store

    keys = [*FACTORS[campaign], "replication"]
    scalars = Store.open(store).scalars()
    responses = [name for name in COLUMNS if name in scalars["response"].unique()]
    runs = scalars.pivot("response", index=keys, values="value").select(*keys, *responses)
    written = tomllib.loads((HERE / f"{campaign}.toml").read_text())["factor"]
    order = {factor["name"]: list(map(str, factor["levels"])) for factor in written} | {
        "sender": list(SENDERS)
    }
    places = [
        pl.col(name).cast(pl.String).replace_strict(order[name], range(len(order[name])))
        for name in FACTORS[campaign]
    ]
    return runs.sort(*places, "replication")


def shown(values: pl.Series) -> str:
    """Return a mean with half its 95 % interval."""
    from perhop.stats.intervals import mean_interval

    found = mean_interval(values.to_numpy())
    return f"{found.mean:.3g} ± {found.half_width:.2g}"


def hosts() -> dict[tuple[str, float, str], float]:
    """Return the shares of real hosts, by flows, buffer and sender."""
    rows = ((sender, row) for sender, file in HOSTS.items() for row in pl.read_csv(file).iter_rows())
    return {(flows, float(buffer), sender): share for sender, (flows, buffer, share) in rows}


def alone() -> Iterator[str]:
    """Give the lines of the table of one sender alone."""
    yield from table("alone", [], lambda own: [])


def beside() -> Iterator[str]:
    """Give the lines of the table beside CUBIC, and of how far both versions are from real hosts."""
    known = hosts()

    def share(own: pl.DataFrame) -> list[str]:
        found = known.get((own["flows"][0], float(own["buffer"][0]), own["sender"][0]))
        return ["–" if found is None else f"{100 * found:.1f}"]

    yield from table("beside", ["real hosts, %"], share)
    runs = pl.read_csv(HERE / "beside.csv")
    means = runs.group_by("flows", "buffer", "sender").agg(pl.col("share").mean())
    for sender, name in list(SENDERS.items())[:2]:
        apart = [
            abs(100 * (mean - known[flows, buffer, of]))
            for flows, buffer, of, mean in means.iter_rows()
            if of == sender and (flows, buffer, of) in known and buffer <= MOST_BDP
        ]
        shares = f"{len(apart)} shares of up to {MOST_BDP} BDP"
        yield ""
        yield (
            f"- {name}: {shares} are {sum(apart) / len(apart):.1f} points from those of real hosts, "
            f"on average, and {max(apart):.1f} at most."
        )


def table(campaign: str, headings: list[str], more: Callable[[pl.DataFrame], list[str]]) -> Iterator[str]:
    """Give the lines of a table: means with half their 95 % intervals, then further columns."""
    keys = FACTORS[campaign]
    runs = pl.read_csv(HERE / f"{campaign}.csv")
    responses = [name for name in COLUMNS if name in runs.columns]
    head = [*keys, *(COLUMNS[name][0] for name in responses), *headings]
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for values, own in runs.group_by(keys, maintain_order=True):
        *factors, sender = (f"{one:g}" if isinstance(one, float) else str(one) for one in values)
        cells = [
            "–" if name == "fairness" and factors[1] == "1" else shown(own[name] * COLUMNS[name][1])
            for name in responses
        ]
        yield f"| {' | '.join([*factors, SENDERS[sender], *cells, *more(own)])} |"


def main() -> None:
    """Print what a store measured as CSV, or the tables of what is recorded."""
    if len(sys.argv) > 1:
        sys.stdout.write(measured(sys.argv[1], Path(sys.argv[2])).write_csv())
        return
    print(*alone(), "", *beside(), sep="\n")


if __name__ == "__main__":
    main()
