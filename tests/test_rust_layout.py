"""Every file of Rust tests is in its crate's one test program: cargo does not look for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROGRAMS = sorted(Path(__file__).parents[1].glob("crates/*/tests/all.rs"))


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.parts[-3] for program in PROGRAMS])
def test_every_file_is_compiled(program: Path) -> None:
    files = {file.stem for file in program.parent.glob("*.rs")} - {"all"}
    folders = {file.parent.name for file in program.parent.glob("*/mod.rs")}
    assert set(re.findall(r"^mod (\w+);$", program.read_text(), re.MULTILINE)) == files | folders


def test_every_crate_with_tests_has_a_program() -> None:
    crates = Path(__file__).parents[1].glob("crates/*/tests")
    assert [folder / "all.rs" for folder in sorted(crates)] == PROGRAMS
