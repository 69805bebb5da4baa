"""The pages that somebody reads first keep the part of docs/style.md that a machine can see."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/guide.md",
    "docs/campaigns.md",
    "docs/recommend.md",
    "docs/style.md",
    "docs/lessons.md",
    *(str(page.relative_to(TOP)) for page in sorted(TOP.glob("python/perhop/starters/*/lesson.md"))),
)
TURNS = re.compile(r"\b(?:is|are|was|were) (?:told|said|had)\b|^What [a-z]+ [a-z]+ is\b", re.MULTILINE)
"""Verbs of saying without somebody who says, and clauses as subjects."""
LONGEST = 50
"""Words between two stops, colons and semicolons among them."""
CODE = re.compile(r"^```.*?^```|^\|.*?$|`[^`]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """Give a page without its blocks, tables, code and addresses."""
    return CODE.sub("X", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_turns_that_the_style_names(name: str) -> None:
    text = prose(TOP / name)
    rules = text if name != "docs/style.md" else text.replace("No *is told*, *is said*, *is had*.", "")
    assert [rules[max(0, at.start() - 40) : at.end() + 20] for at in TURNS.finditer(rules)] == []


@pytest.mark.parametrize("name", PAGES)
def test_no_sentence_is_endless(name: str) -> None:
    sentences = re.split(r"(?<=[.:;?!·])\s|\n\n|\n(?=- |\d+\. )", prose(TOP / name))
    assert [one for one in sentences if len(one.split()) > LONGEST] == []


def test_the_check_sees_such_turns() -> None:
    assert TURNS.search("the rest is told before")
    assert TURNS.search("What is alike is written once")
