"""Records of a study as data that needs no perhop to read: `recorded/` of its pack."""

from __future__ import annotations

import csv
import io
import os
import platform
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perhop import _core
from perhop.experiment import ledger
from perhop.experiment.campaign import plan as planned
from perhop.experiment.definition import Campaign
from perhop.experiment.ledger import MEASURES_VERSION
from perhop.judge.measured import Measurements
from perhop.papers.behind import judged
from perhop.papers.plan import Plan, Results
from perhop.papers.records import encode
from perhop.run.folder import always, write_file
from perhop.run.record import commit

FOLDER, RESULTS, RUNS = "recorded", "results.json", "runs.csv"

FIRST = ("of", "treatment", "replication", "seed", "event_digest")
"""First columns of a table of runs; those of the values follow."""


def write(plan: Plan, lines: Sequence[Mapping[str, Any]], document: Mapping[str, Any], store: Path) -> None:
    """Write the document of a full reproduction, and the lines of the runs behind its claims."""
    with ledger.read(store) as book:
        made = {key: (began, took) for key, _, began, took in book.made()}
    keys = {run.key for _, campaign in judged(plan) for run in planned(campaign)}
    began = [made[key][0] for key in keys]
    folder = plan.study.folder / FOLDER
    folder.mkdir(exist_ok=True)
    found = {
        **document,
        "perhop": _core.__version__,
        "measures_version": MEASURES_VERSION,
        "made": {
            **machine(),
            "runs": len(keys),
            "began": _day(min(began)),
            "ended": _day(max(began)),
            "run_seconds": round(sum(made[key][1] for key in keys)),
        },
    }
    write_file(folder / RESULTS, encode(found), always)
    write_file(folder / RUNS, as_csv(lines), always)


def lines_of(plan: Plan, results: Results, document: Mapping[str, Any], store: Path) -> list[dict[str, Any]]:
    """Return a line for each run behind the claims of a full reproduction, whose document has the runs."""
    with ledger.read(store) as book:
        digests = {key: digest for key, digest, *_ in book.made()}
    names = {entry["of"]: entry["treatments"] for entry in document["runs"]}
    lines = list[dict[str, Any]]()
    # campaigns beyond the paper come last, and are not on record
    for (of, campaign), measured in zip(judged(plan), results.campaigns, strict=False):
        for line, key in run_lines(campaign, measured):
            line["treatment"] = names[of][line["treatment"]]
            lines.append({"of": of, **line, "event_digest": digests[key]})
    return lines


def check_place(plan: Plan) -> None:
    """Check that a record can be written, before hours of runs; an `OSError` if not."""
    folder = plan.study.folder / FOLDER
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def run_lines(campaign: Campaign, measured: Measurements) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the runs of a campaign, each as a line and its key.

    A line has the treatment's place, the replication, the seed and every value by `value_name`.
    """
    by = {one.name: one.by for one in campaign.responses}
    values: dict[str, dict[str, float]] = {}
    for row in measured.scalars.iter_rows(named=True):
        name = value_name(row["response"], [row[column] for column in by.get(row["response"], ())])
        values.setdefault(row["key"], {})[name] = row["value"]
    for run in planned(campaign):
        first = {"treatment": run.treatment, "replication": run.replication, "seed": run.seed}
        yield {**first, **values[run.key]}, run.key


def value_name(response: str, groups: Sequence[str]) -> str:
    """Return the name of a response's value: `response`, or `response[group,group]`."""
    return f"{response}[{','.join(groups)}]" if groups else response


def as_csv(lines: Sequence[Mapping[str, Any]]) -> bytes:
    """Write lines as a table."""
    columns = dict.fromkeys((*FIRST, *(name for line in lines for name in line)))
    out = io.StringIO()
    table = csv.DictWriter(out, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(map(as_text, lines))
    return out.getvalue().encode()


def as_text(line: Mapping[str, Any]) -> dict[str, str]:
    """Return a line as a table has it, each value as short as it can be without loss."""
    return {name: _short(value) for name, value in line.items()}


def _short(value: Any) -> str:
    if value is None:
        return "nan"
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def machine() -> dict[str, Any]:
    """Return what runs perhop here and now: commit, date, system, processor and cores."""
    cpu = re.search(r"^model name\s*: (.*)$", _text("/proc/cpuinfo"), re.MULTILINE)
    return {
        "commit": commit(),
        "date": _day(datetime.now(UTC).timestamp()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "cpu": cpu and cpu[1],
        "cores": os.cpu_count(),
    }


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _day(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).date().isoformat()
