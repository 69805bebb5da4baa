"""The site has every page of the table of contents, its links lead somewhere, and it fetches nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from scripts import script

TOP = Path(__file__).parents[1]
BUILD = TOP / "docs" / "site" / "build.py"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FETCHED = re.compile(
    r"<(?:script|img|iframe)[^>]*\bsrc=\"?(https?:[^\" >]*)|<link[^>]*stylesheet[^>]*(https?:[^\" >]*)"
)


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return script(BUILD)


def test_the_table_of_contents_is_that_of_the_summary(build: ModuleType, tmp_path: Path) -> None:
    stage = build.Stage(tmp_path)
    sections = build.contents(stage)
    pages = [page for section in sections[1:] for _, entries in section.items() for page in entries]
    listed = re.findall(r"^- ", (TOP / "docs/SUMMARY.md").read_text(), re.MULTILINE)
    decisions = (tmp_path / "docs/decisions/index.md").read_text().splitlines()
    assert stage.wrong == []
    assert len(pages) + len(decisions[2:]) > len(listed)
    assert all((tmp_path / path).exists() for page in pages for path in page.values())


def test_no_section_is_long_and_records_come_last(build: ModuleType, tmp_path: Path) -> None:
    stage = build.Stage(tmp_path)
    sections = build.contents(stage)
    assert max(len(pages) for section in sections[1:] for pages in section.values()) <= build.MOST_PAGES
    assert sections[-1]["Archive"][-1] == {"Decisions": "docs/decisions/index.md"}
    linked = re.findall(r"\]\((.+?)\)", (tmp_path / "docs/decisions/index.md").read_text())
    assert sorted(linked) == sorted(page.name for page in (TOP / "docs/decisions").glob("*.md"))
    boosts = {
        name: re.findall(r"^---\nsearch:\n  boost: (.+)\n---", (tmp_path / name).read_text())
        for name in (
            "README.md",
            "docs/elements/red.md",
            "docs/decisions/0065-prr.md",
            "papers/feroz/README.md",
        )
    }
    assert list(boosts.values()) == [["5"], ["5"], ["0.01"], []]


def test_a_link_to_a_source_leads_to_a_page_that_shows_it(build: ModuleType, tmp_path: Path) -> None:
    stage = build.Stage(tmp_path)
    stage.add(TOP / "docs" / "clauses.md")
    shown = tmp_path / "crates/perhop-tcp/src/cc/cubic.rs.md"
    assert "](../crates/perhop-tcp/src/cc/cubic.rs.md)" in (tmp_path / "docs/clauses.md").read_text()
    assert (TOP / "crates/perhop-tcp/src/cc/cubic.rs").read_text().rstrip() in shown.read_text()


def test_a_link_that_leads_nowhere_is_named(build: ModuleType, tmp_path: Path) -> None:
    page = TOP / "docs" / "guide.md"
    stage = build.Stage(tmp_path)
    stage.link(page, build.LINK.search("[a](not-there.md#x)"))
    assert stage.wrong == ["docs/guide.md: not-there.md leads nowhere"]


FAULTS = {
    "a heading": ("[a](#not-there)", "rate"),
    "a page": ("[a](not-there.md)", "rate"),
    "a parameter": ("", "not_there"),
}


@pytest.mark.parametrize(
    "fault",
    ["a heading", *(pytest.param(one, marks=pytest.mark.long) for one in (None, "a page", "a parameter"))],
)
def test_a_fault_fails_the_build(
    build: ModuleType, fault: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text, parameter = FAULTS.get(fault or "", ("", "rate"))
    stage = build.Stage(tmp_path / "src")
    (stage.source / "site").mkdir(parents=True)
    (stage.source / "README.md").write_text(f"# A page\n\n{text}\n\n::: made\n")
    docstring = f"Say it.\n\n    Parameters\n    ----------\n    {parameter}\n        What it is.\n    "
    (tmp_path / "made.py").write_text(f'"""Made."""\n\n\ndef f(rate: int) -> None:\n    """{docstring}"""\n')
    done = build.finish(stage, [{"A": "README.md"}], tmp_path, tmp_path / "out")
    assert (done == 0) == (fault is None)
    assert ("not" in capfd.readouterr().err) == (fault is not None)
    assert (tmp_path / "out" / "index.html").exists() == (fault is None)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run([sys.executable, BUILD, "-o", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.long
def test_the_site_is_whole_and_fetches_nothing(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 150
    text = {page: page.read_text() for page in pages}
    assert [match[0] for page in pages for match in FETCHED.finditer(text[page])] == []
    assert "url(http" not in "".join(style.read_text() for style in site.rglob("*.css"))
    reference = text[site / "docs/api/stats.html"]
    assert 'id="perhop.stats.intervals.mean_interval"' in reference


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
def test_the_search_works_in_a_folder_of_files(site: Path) -> None:
    assert CHROMIUM is not None
    page = f"file://{site}/index.html?q=drop-tail"
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=20000",
            "--dump-dom",
            page,
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "docs/elements/fifo.html" in done.stdout
