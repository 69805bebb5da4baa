"""Claims about a small campaign: its files, claims checked against it, and made numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from perhop.judge.campaign import CheckedClaims, checked
from perhop.judge.grammar import Claims
from perhop.judge.quantity import Subject
from test_models_estimate import LINE, PLAIN

CAMPAIGN = """scenario = "line.toml"
replications = 2
[[factor]]
name = "rate"
path = "link.a-r.rate"
levels = ["1Mbit/s", "2Mbit/s", "3Mbit/s"]
[[factor]]
name = "delay"
path = "link.r-b.delay"
levels = ["5ms", "10ms"]
[[response]]
name = "goodput"
measure = "sum(flows.goodput_bit_s)"
[[response]]
name = "each"
measure = "mean(flows.goodput_bit_s) by class"
"""
HEAD = """campaign = "sweep.toml"
[[claim]]
id = "X"
statement = "Something arrives."
"""
PLACE = 'response = "goodput"\nat = { rate = "1Mbit/s", delay = "5ms" }\n'
PRINTED = """campaign = "sweep.toml"
[[published]]
file = "printed.csv"
response = "goodput"
column = "mbit_s"
unit = 1e6
[[claim]]
id = "X"
statement = "It is as printed."
"""


def laid(folder: Path) -> Path:
    """Write the campaign, its scenario and a printed table into a folder."""
    (folder / "line.toml").write_text(LINE.format(**PLAIN | {"duration": 2, "warmup": 1}))
    (folder / "sweep.toml").write_text(CAMPAIGN)
    (folder / "printed.csv").write_text("rate,delay,mbit_s\n1Mbit/s,5ms,0.9\n2Mbit/s,5ms,\n3Mbit/s,5ms,2\n")
    return folder


def check(folder: Path, text: str) -> CheckedClaims:
    path = folder / "claims.toml"
    path.write_text(text)
    return checked(path)


def claims_in(folder: Path, text: str) -> tuple[Claims, Subject]:
    claims, campaign, subject, *_ = check(folder, text)
    assert campaign is not None
    assert subject is not None
    return claims, subject


def scalars(value: Callable[[int, int], float], n: int = 10) -> pl.DataFrame:
    """Ten replications of every treatment, whose rate and delay have these places, 0.05 above a value."""
    rows = [
        {
            "key": "",
            "treatment": f"{rate} {delay}",
            "rate": f"{rate + 1}Mbit/s",
            "delay": ("5ms", "10ms")[delay],
            "replication": k,
            "response": "goodput",
            "value": value(rate, delay) + 0.1 * (k % 2),
        }
        for rate in range(3)
        for delay in range(2)
        for k in range(n)
    ]
    return pl.DataFrame(rows)
