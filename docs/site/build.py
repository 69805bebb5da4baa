"""Build the site: README, every page of SUMMARY.md, and every file of the checkout that they link to.

    .venv/bin/python docs/site/build.py [-o out/site]

Everything keeps its place in the checkout, so that the links that work on a forge work here too: a page
becomes a page, a picture stays one, any other file (a scenario, a source) becomes a page that shows it, a
folder one that lists it. The table of contents is SUMMARY.md's. `<!-- api: MODULE -->` is replaced by the
reference of that module. A link that leads nowhere, a heading that is not there, a docstring that names what
is not there: each is a warning, and fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
SUMMARY = TOP / "docs" / "SUMMARY.md"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
ITEM = re.compile(r"\[([^\]]+(?:\][^\](]*)?)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```\n|^~~~.*?^~~~\n)", re.MULTILINE | re.DOTALL)
AS_THEY_ARE = {".svg", ".png", ".jpg", ".csv", ".json", ".pcap"}
MOST_PAGES = 10
"""Most pages of a section in the table of contents; of a longer one a page lists them."""
FIRST = re.compile(
    r"README\.md|docs/(?:elements/)?[^/]+\.md|python/perhop/starters/[^/]+/(?:lesson|tutorial)\.md"
)
LAST = re.compile(r"docs/(?:decisions/.*|clauses|verdicts-table|SUMMARY)\.md|oracles/.*|CHANGELOG\.md")
"""Pages that the search puts first, and records that it puts last."""
LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml", ".sh": "bash", ".c": "c", ".yml": "yaml"}


class Stage:
    """What mkdocs reads: the pages, and the files that they link to."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.done: set[Path] = set()
        self.wrong: list[str] = []

    def add(self, path: Path) -> None:
        """Put a file of the checkout, and all that it links to, where mkdocs finds it."""
        if path in self.done:
            return
        self.done.add(path)
        place = self.source / self.place(path).relative_to(TOP)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place.write_text(self.page(path), encoding="utf-8")
        elif path.is_dir():
            place.write_text(self.listing(path), encoding="utf-8")
        elif path.suffix in AS_THEY_ARE:
            shutil.copyfile(path, place)
        else:
            place.write_text(shown(path), encoding="utf-8")

    def place(self, path: Path) -> Path:
        """Give where a file goes: the path in the checkout of what shows it."""
        if path.is_dir():
            return path / "index.md"
        if path.suffix == ".md" or path.suffix in AS_THEY_ARE:
            return path
        return path.with_name(f"{path.name}.md")

    def page(self, path: Path) -> str:
        """Give the text of a page with links to where things are on the site."""
        parts = CODE.split(path.read_text(encoding="utf-8"))
        text = "".join(
            part if n % 2 else LINK.sub(lambda match: self.link(path, match), part)
            for n, part in enumerate(parts)
        )
        return boosted(path) + re.sub(r"<!-- api: (\S+) -->", r"::: \1", text)

    def link(self, page: Path, match: re.Match[str]) -> str:
        """Give a link of a page as it is on the site, and add what it leads to."""
        target, _, heading = match[2].partition("#")
        if not target or ":" in target:
            return match[0]
        path = Path(os.path.normpath(page.parent / target))
        if not path.exists() or not path.is_relative_to(TOP):
            self.wrong.append(f"{page.relative_to(TOP)}: {target} leads nowhere")
            return match[0]
        self.add(path)
        goal = os.path.relpath(self.place(path), page.parent)
        line = re.fullmatch(r"L(\d+)(?:-L\d+)?", heading)
        anchor = f"#line-{line[1]}" if line else f"#{heading}" if heading else ""
        return f"{match[1]}{goal}{anchor}{match[3]}"

    def listing(self, folder: Path) -> str:
        """Give a page that lists the files of a folder."""
        names = subprocess.run(
            ["git", "ls-files", "--", "."], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        here = self.place(folder)
        lines = [f"# {folder.relative_to(TOP)}", ""]
        for path in sorted(folder / name for name in names):
            self.add(path)
            lines.append(f"- [{path.relative_to(folder)}]({os.path.relpath(self.place(path), here.parent)})")
        return "\n".join(lines) + "\n"


def boosted(path: Path) -> str:
    """Give the head of a page, which says how high the search puts it; empty where that is as others."""
    name = str(path.relative_to(TOP))
    boost = 0.01 if LAST.fullmatch(name) else 5 if FIRST.fullmatch(name) else None
    return f"---\nsearch:\n  boost: {boost}\n---\n\n" if boost else ""


def shown(path: Path) -> str:
    """Give a page that shows a file."""
    text = path.read_text(encoding="utf-8")
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    language = LANGUAGES.get(path.suffix, "text")
    head = f"---\ntitle: {path.name}\nsearch:\n  exclude: true\n---\n\n# {path.relative_to(TOP)}\n\n"
    return f'{head}{fence} {{ .{language} linenums="1" anchor_linenums="true" }}\n{text.rstrip()}\n{fence}\n'


def contents(stage: Stage) -> list[object]:
    """Give the table of contents: the sections of SUMMARY.md and their pages, README.md first.

    A section of more than ten pages is one page, which lists them, at the end of the section before.
    """
    start = TOP / "README.md"
    stage.add(start)
    sections: list[object] = [{"perhop": "README.md"}]
    for line in SUMMARY.read_text(encoding="utf-8").splitlines():
        if name := re.fullmatch(r"\*\*(.+)\*\*", line):
            sections.append({name[1]: []})
        elif line.startswith("- "):
            pages = next(iter(sections[-1].values()))  # type: ignore[attr-defined]
            for title, target in ITEM.findall(line):
                path = (SUMMARY.parent / target).resolve()
                stage.add(path)
                pages.append({title.replace("`", ""): str(path.relative_to(TOP))})
    for place, section in reversed([*enumerate(sections)][1:]):
        ((name, pages),) = section.items()  # type: ignore[attr-defined]
        if len(pages) > MOST_PAGES:
            del sections[place]
            (before,) = sections[place - 1].values()  # type: ignore[attr-defined]
            before.append({name: listed(stage, name, pages)})
    return sections


def listed(stage: Stage, name: str, pages: list[dict[str, str]]) -> str:
    """Put a page into the stage that lists the pages of a section; return its path."""
    folder = Path(next(iter(pages[0].values()))).parent
    lines = [f"- [{title}]({Path(path).name})" for page in pages for title, path in page.items()]
    (stage.source / folder / "index.md").write_text(
        f"# {name}\n\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    return str(folder / "index.md")


def build(output: Path) -> int:
    """Build the site into a folder, in place of what is there; return mkdocs's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder) / "src")
        table = contents(stage)
        if stage.wrong:
            print("\n".join(stage.wrong), file=sys.stderr)
            return 1
        return finish(stage, table, TOP / "python", output)


def finish(stage: Stage, table: list[object], package: Path, output: Path) -> int:
    """Build what is staged, with the docstrings below `package`; return mkdocs's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("iframe-worker.js", "extra.css"):
            (stage.source / "site").mkdir(exist_ok=True)
            shutil.copyfile(HERE / name, stage.source / "site" / name)
        settings = (HERE / "mkdocs.yml").read_text(encoding="utf-8")
        settings = settings.replace("PYTHON", json.dumps(str(package)))
        file = Path(folder) / "mkdocs.yml"
        settings = settings.replace("docs_dir: src", f"docs_dir: {json.dumps(str(stage.source))}")
        file.write_text(f"{settings}\nnav: {json.dumps(table)}\n", encoding="utf-8")
        # not --quiet: it hides the warnings from --strict, too
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(file)]
        aside = Path(folder) / "site"
        done = subprocess.run(
            [*command, "-d", str(aside)],
            env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        told = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
        if done.returncode != 0:
            print("\n".join(told), file=sys.stderr)
        if done.returncode == 0:
            shutil.rmtree(output, ignore_errors=True)
            output.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(aside, output)
            print(output / "index.html")
        return done.returncode


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--out", type=Path, default=TOP / "out" / "site")
    sys.exit(build(parser.parse_args().out.resolve()))
