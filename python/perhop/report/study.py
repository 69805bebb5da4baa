"""The page about any reproduced study, made of sections, and the index over several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perhop.report import page
from perhop.report.answer_study import main_claims, of_study, questions, stand
from perhop.units import counted


@dataclass(frozen=True)
class Table:
    """A table of text.

    Parameters
    ----------
    title
        Its heading.
    columns
        Headings of the columns.
    rows
        From top to bottom.
    left
        That many first columns are set to the left, the others to the right.
    text
        A sentence below the title.
    command
        What makes the numbers again.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    text: str = ""
    command: str = ""


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
    """What the page about a study is made of.

    Parameters
    ----------
    title
        Of the page.
    document
        Rows and claims, as ``perhop reproduce --json`` prints them.
    sections
        In order; they follow the claims and the numbers.
    intro
        What was studied, in a few sentences.
    about_numbers
        What a reader must know to compare published and simulated numbers.
    tables
        Title of each of the document's tables; a table that is not named keeps its own name.
    labels
        What each row id stands for; an id that is not named stands for itself.
    digits
        Decimals for each quantity; three where it is not named.
    overview
        A drawing above everything else.
    findings
        Title and text each.
    warnings
        Runs that do not meet what the study assumes.
    left_out
        What a quick reproduction does not do.
    """

    title: str
    document: Mapping[str, Any]
    sections: Sequence[Section]
    intro: str
    about_numbers: str = ""
    tables: Mapping[str, str] | None = None
    labels: Mapping[str, str] | None = None
    digits: Mapping[str, int] | None = None
    overview: page.Drawing | None = None
    findings: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    left_out: Sequence[str] = ()


def render(study: StudyPage) -> str:
    """Return the page about a study as HTML. The same study gives the same page."""
    rows = study.document["rows"]
    return page.render(
        "study.html.j2",
        {
            "title": study.title,
            "study": study,
            "tables": _tables(rows, study.tables or {}, study.labels or {}, study.digits or {}),
            **judged(study.document),
        },
    )


def judged(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the templates say of a document's claims, and the document."""
    main = main_claims(document)
    return {
        "document": document,
        "answer": of_study(document),
        "questions": questions(document),
        "claims": main,
        "verdicts": Counter(claim["verdict"] for claim in main),
        "per_row": per_row(document["claims"]),
        "replications": _replications(document),
    }


def render_index(studies: Sequence[tuple[str, Mapping[str, Any], Sequence[str]]], command: str) -> str:
    """Return the page that leads to the pages of several studies, each in a folder of its key.

    Parameters
    ----------
    studies
        Title, document, and what a quick reproduction left out.
    command
        What makes all of them again.
    """
    shown: list[dict[str, Any]] = [
        {
            "title": title,
            "document": document,
            "claims": main_claims(document),
            "verdicts": Counter(claim["verdict"] for claim in main_claims(document)),
            "left_out": left_out,
            "questions": questions(document, f"{document['paper']}/report.html"),
        }
        for title, document, left_out in studies
    ]
    return page.render(
        "index.html.j2",
        {
            "title": "Published studies, again",
            "stand": stand(
                [claim for one in shown for claim in one["claims"]], f" of {counted(len(shown), 'paper')}"
            ),
            "studies": shown,
            "command": command,
        },
    )


def per_row(claims: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Group the verdicts on single rows, ``K9/2.3``, under their claim."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for claim in claims:
        if "/" in claim["id"]:
            groups.setdefault(claim["id"].partition("/")[0], []).append(claim)
    return groups


def _replications(document: Mapping[str, Any]) -> int:
    """Return the most runs that a number of the document is of: claims may have more than tables."""
    parts = (part["n"] for claim in document["claims"] for part in claim["parts"])
    return max((*(row["simulated"]["n"] for row in document["rows"]), *parts), default=0)


def _tables(
    rows: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
    labels: Mapping[str, str],
    digits: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Group the rows by table, in the order of the document, with the ratio of simulated to published."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        published, mean = row["published"], row["simulated"]["mean"]
        groups.setdefault(row["table"], []).append(
            {
                **row,
                "label": labels.get(row["id"], row["id"]),
                "name": row["quantity"].replace("_", " "),
                "digits": digits.get(row["quantity"], 3),
                "ratio": mean / published if published else None,
            }
        )
    return [{"name": titles.get(name, name), "rows": inside} for name, inside in groups.items()]
