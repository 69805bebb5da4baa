"""The list of files that name an element, in `docs/adding-an-element.md`, is the list of those that do."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PAGE = TOP / "docs" / "adding-an-element.md"
HOUSE = TOP / "docs" / "architecture.md"

# an element of each kind, and what it is called in code
ELEMENTS = {
    "a queue (GRED)": r"\bGred(Params)?\b|\bgred(_|\b)",
    # what knows the setting by name, or takes a queue whole that it is part of
    "a setting (averaging)": r"\bAveraging\b|\baveraging[:(]|\bGred(Params)?\b|&(Q|model::Q|class\.q)ueue\b",
    "a scheduler (DRR)": r"\bDrr\b|\bdrr\b",
    "a meter (trTCM)": r"\bTrTcm(Params)?\b|\btrtcm\b|tr-tcm",
    "a congestion control (CUBIC)": r"\bCubic\b|\bcubic\b",
    "an ACK policy (delayed)": r"\bDelayed\b|\bdelayed\b",
}


def code() -> dict[str, str]:
    """Return the product's code by path, without comments, tests, and what reads words of ns-2 or tc."""
    files = [*TOP.glob("crates/*/src/**/*.rs"), *TOP.glob("python/perhop/**/*.py")]
    places = {str(file.relative_to(TOP)): file for file in files}
    kept = {
        name: file
        for name, file in places.items()
        if not re.search("testkit|papers/|import_(ns2|tc)/|/tests?[/.]", name)
    }
    return {name: re.sub(r"(//|#).*", "", file.read_text(encoding="utf-8")) for name, file in kept.items()}


@pytest.mark.parametrize("element", ELEMENTS)
def test_the_page_names_the_files_that_name_an_element(element: str) -> None:
    named = {name for name, text in code().items() if re.search(ELEMENTS[element], text)}
    (row,) = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {element} ")
    ]
    assert set(re.findall(r"`([^`]+)`", row)) == {name.removeprefix("crates/perhop-") for name in named}


@pytest.mark.parametrize(("element", "most"), [("a queue (GRED)", 9), ("a setting (averaging)", 14)])
def test_few_files_name_an_element(element: str, most: int) -> None:
    assert sum(bool(re.search(ELEMENTS[element], text)) for text in code().values()) <= most


def test_the_page_says_which_crate_uses_which() -> None:
    page = HOUSE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(perhop-\w+)` \|.*\| ([^|]*)\|$", page, re.MULTILINE)
    said = {name: set(re.findall(r"\w+", uses)) for name, uses in rows}
    manifests = [tomllib.loads(file.read_text(encoding="utf-8")) for file in TOP.glob("crates/*/Cargo.toml")]
    uses = {one["package"]["name"]: one.get("dependencies", {}) for one in manifests}
    ours = {crate: {name for name in names if name.startswith("perhop-")} for crate, names in uses.items()}
    assert {name: {f"perhop-{one}" for one in uses} for name, uses in said.items()} == ours
