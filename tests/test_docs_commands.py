"""Every page with commands has a test that runs them, or is listed here with the reason why not."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Cli
from test_docs import GIVEN, PAGES

TOP = Path(__file__).parents[1]
COMMAND = re.compile(r"^(?:perhop|make|dask|uv|cargo|\.venv/bin/\S+) \S", re.MULTILINE)
INLINE = re.compile(r"`(perhop [^`\n]+)`")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ELSEWHERE = {
    "docs/gallery/README.md": "test_gallery.py",
}
"""Pages whose commands another test runs."""

ALL = [
    TOP / "README.md",
    *sorted(TOP.glob("docs/**/*.md")),
    *sorted(TOP.glob("papers/*/README.md")),
    *sorted(TOP.glob("python/perhop/starters/*/README.md")),
    *sorted(TOP.glob("python/perhop/starters/*/lesson.md")),
]

STUDY = "runs of minutes; tests/test_papers_*.py runs the study itself, and make test-long all of it"
NOT_RUN = {
    "docs/acks.md": "a campaign of a minute and a half; test_acks_page.py makes five of its runs",
    "docs/artefacts.md": "names stand for a study of one's own; test_pack.py packs one and runs it",
    "docs/benchmarks.md": "measures the machine for minutes, and needs cargo",
    "docs/clusters.md": "needs several machines; test_campaign_many.py uses a cluster on this one",
    "docs/decisions/0009-warm-up.md": "records what was run when it was decided",
    "docs/deploy.md": "changes the rules of the host; test_deploy*.py hold what is printed and what it does",
    "docs/elements/dualpi2.md": "a campaign of a minute; test_l4s_page.py makes some of its runs",
    "docs/emulate.md": "needs namespaces, and takes real time; test_live.py has such runs",
    "docs/tcp-laws.md": "a sweep of many runs; make test-long repeats it",
    "docs/verdicts.md": "runs of a study on record; test_papers_again.py has the same on a small one",
    "docs/performance.md": "measures the machine for minutes, and needs cargo and a clone of htsim",
    "docs/scripts.md": "needs cargo; make test runs the scripts",
    "docs/serve.md": "serves until it is stopped; test_serve_cli.py starts and stops it",
    "papers/feroz/README.md": STUDY,
    "papers/kalampoukas/README.md": STUDY,
    "papers/laatu/README.md": STUDY,
    "papers/papagiannaki/README.md": STUDY,
    "papers/rfc7928/README.md": STUDY,
    "papers/seddigh/README.md": STUDY,
    "papers/today/README.md": STUDY,
    "papers/ware2019/README.md": STUDY,
}
"""Pages whose commands no test runs as they are written."""


def _blocks(text: str) -> Iterator[str]:
    """Every block of a page that a shell may run or print; prose between two others is none."""
    for language, block in FENCED.findall(text):
        if language in ("", "sh", "bash", "shell", "console"):
            yield block


def test_every_page_with_commands_is_run_or_says_why_not() -> None:
    pages = {
        str(page.relative_to(TOP))
        for page in [TOP / "README.md", *TOP.glob("docs/**/*.md"), *TOP.glob("papers/*/README.md")]
        if any(COMMAND.search(block) for block in _blocks(page.read_text(encoding="utf-8")))
    }
    assert pages >= {"README.md", "docs/gallery/README.md"}
    assert pages - {*PAGES, *GIVEN, *ELSEWHERE} == set(NOT_RUN)
    assert [name for name in ELSEWHERE.values() if not (TOP / "tests" / name).exists()] == []


def _commands(text: str) -> Iterator[str]:
    """Every command of perhop on a page, without what the shell does with it."""
    lines = [line for block in _blocks(text) for line in block.replace("\\\n", " ").splitlines()]
    for line in [*(line.strip().removeprefix("$ ") for line in lines), *INLINE.findall(text)]:
        if line.removeprefix(".venv/bin/").startswith("perhop "):
            yield line


def _words(line: str) -> list[str]:
    shell = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    shell.whitespace_split, shell.commenters = True, "#"
    words = []
    for word in shell:
        if (word != "." and set(word) <= set("|&;<>.")) or word.startswith("2>"):
            break
        words.append(word)
    return words[1:]


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(TOP)))
def test_every_command_on_a_page_is_one_that_perhop_has(cli: Cli, page: Path) -> None:
    for line in _commands(page.read_text(encoding="utf-8")):
        # unknown commands and options are told before the help is printed
        done = cli(*_words(line), "--help")
        assert (done.code, done.err) == (0, ""), line
