"""The page about any reproduced study, made of sections, and the index over several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perhop.report import page
from perhop.report.answer_study import main_claims, of_study, on_record, questions, stand
from perhop.say.document import Cell
from perhop.say.document import Table as Table
from perhop.say.html import number
from perhop.units import counted


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, paragraphs, tables, drawings.

    `id` is unique on the page and none of `claims`, `numbers`, `findings`. Drawings that are `paired` stand
    side by side.
    """

    id: str
    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    drawings: Sequence[page.Drawing] = ()
    paired: bool = False


@dataclass(frozen=True)
class StudyPage:
    """The contents of the page about a study: an overview, claims, numbers, sections, findings by title.

    The document is as ``perhop reproduce --json`` prints it; its tables and row ids that have no label keep
    their own name. `about_numbers` helps to compare published and simulated ones. Warnings are about runs
    that do not meet what the study assumes, `left_out` names parts that a quick reproduction does not do.
    """

    title: str
    document: Mapping[str, Any]
    sections: Sequence[Section]
    intro: str
    about_numbers: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    overview: page.Drawing | None = None
    findings: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    left_out: Sequence[str] = ()


def render(study: StudyPage) -> str:
    """Return the page about a study as HTML. The same study gives the same page."""
    document, main = study.document, main_claims(study.document)
    context = {
        "title": study.title,
        "study": study,
        "tables": _tables(study),
        "document": document,
        "answer": of_study(document),
        "questions": questions(document),
        "claims": main,
        "verdicts": Counter(claim["verdict"] for claim in main),
        "per_row": per_row(document["claims"]),
        "replications": _replications(document),
    }
    return page.render("study.html.j2", context)


def render_index(studies: Sequence[tuple[str, Mapping[str, Any], Sequence[str]]], command: str) -> str:
    """Return the page that leads to the pages of several studies, each in a folder of its key.

    Of each there are the title, the document, and the parts that a quick reproduction left out; the command
    makes all of them again.
    """
    shown: list[dict[str, Any]] = [
        {
            "title": title,
            "document": document,
            "claims": main_claims(document),
            "verdicts": Counter(claim["verdict"] for claim in main_claims(document)),
            "left_out": left_out,
            "on_record": on_record(document),
            "questions": questions(document, f"{document['paper']}/report.html"),
        }
        for title, document, left_out in studies
    ]
    claims = [claim for one in shown for claim in one["claims"]]
    context = {
        "title": "Published studies, again",
        "stand": stand(claims, f" of {counted(len(shown), 'paper')}"),
        "studies": shown,
        "command": command,
    }
    return page.render("index.html.j2", context)


def per_row(claims: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Group the verdicts on single rows, ``K9/2.3``, under their claim."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for claim in claims:
        if "/" in claim["id"]:
            groups.setdefault(claim["id"].partition("/")[0], []).append(claim)
    return groups


def _replications(document: Mapping[str, Any]) -> int:
    """Return the largest number of replications in the document's rows and claims."""
    parts = (part["n"] for claim in document["claims"] for part in claim["parts"])
    return max((*(row["simulated"]["n"] for row in document["rows"]), *parts), default=0)


def _tables(study: StudyPage) -> list[Table]:
    """Return the document's tables, with the ratio to what is published and the distance to the last form."""
    groups: dict[str, list[list[Cell]]] = {}
    forms = forms_of(study.document)
    for row in study.document["rows"]:
        published, simulated = row["published"], row["simulated"]
        mean, n = simulated["mean"], simulated["n"]
        computed = [row["closed_form"][name] for name in forms]
        cells = [study.labels.get(row["id"], row["id"]), row["quantity"].replace("_", " "), row["unit"]]
        cells.append(None if published is None else f"{published:g}")
        cells += [None if value is None else number(value) for value in computed]
        cells += [_simulated(simulated), n, number(mean / published, 2) if published and n else None]
        if forms:
            both = computed[-1] is not None and mean is not None
            cells.append(number(abs(mean - computed[-1])) if both else None)
        groups.setdefault(row["table"], []).append(cells)
    columns = ["row", "quantity", "unit", "published", *(f"{name} form" for name in forms)]
    columns += ["simulated", "values", "simulated / published", *(["distance"] if forms else [])]
    again, labels = study.document["command"], study.labels
    return [Table(labels.get(name, name), columns, rows, 3, command=again) for name, rows in groups.items()]


def forms_of(document: Mapping[str, Any]) -> list[str]:
    """Return the closed forms that a row of a document has a value of."""
    rows = document["rows"]
    names = dict.fromkeys(name for row in rows for name in row["closed_form"])
    return [name for name in names if any(row["closed_form"].get(name) is not None for row in rows)]


def _simulated(value: Mapping[str, Any]) -> str:
    """Return a mean, with half the 95 % interval where there are three values or more."""
    mean = number(value["mean"], 3)
    if not value["ci95"] or value["n"] < 3:
        return mean
    low, high = value["ci95"]
    return f"{mean} ± {number((high - low) / 2, 3)}"
