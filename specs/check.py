"""Hold the code to the clauses it claims to meet, and write docs/clauses.md.

    python3 specs/check.py               check, and write the page
    python3 specs/check.py --check       change nothing; fail where something is wrong or the page is old
    python3 specs/check.py --complete    also fail on a clause without code and test, or an exception

`specs/clauses/` states what each source demands and what the list comes from, `specs/exceptions/` what does
not hold and why. A line `//= ID` stands above the code that meets a clause, `//= test ID` above the test that
proves it; in Python and scripts (`.pkt`) it begins with `#=`. The page names the item below or, above a
statement, the one around it.
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
PAGE = "docs/clauses.md"
SOURCES = ("crates/**/*.rs", "crates/*/tests/scripts/**/*.pkt", "tests/**/*.py")
LEVELS = ("must", "should", "may", "rule")
ORIGINS = ("text", "accounts", "knowledge")
KINDS = {"not-applicable": "Not applicable", "departs": "Departs", "not-taken": "Permission not taken"}
MARK = re.compile(r"\s*(?://|#)=\s*(.*?)\s*")
BETWEEN = re.compile(r"\s*(//|#|@|$)")
ITEMS = {
    ".rs": re.compile(
        r"\s*(?:pub(?:\(.*?\))?\s+)?(?:(?:const|async|unsafe)\s+)*(?:impl\b(?:<.*?>)?\s+(?:\S+\s+for\s+)?"
        r"|(?:fn|struct|enum|trait|mod|type|static|const|macro_rules!)\s+)(\w+)|(\w+!)\s*[({]\s*(\w+)"
    ),
    ".py": re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)"),
}
HEAD = """# Clauses

What our sources demand, in our own words, and where it is met and proved: a *must*, *should* or *may*
of the source, or a *rule*, which is a definition or a step of an algorithm. Made by `python3 specs/check.py`.

*From* says what a list was compared with: the *text* of the source; *accounts* of it, which are passages
quoted elsewhere, descriptions and programs that follow it; or nothing, where it is from *knowledge* alone.

| Source | From | Clauses | Met and proved | Exceptions | Open |
|---|---|---|---|---|---|"""
COLUMNS = "| Clause | Section | Level | Demand | Code, or why not | Test |\n|---|---|---|---|---|---|"


@dataclass
class Clause:
    """What a source demands, and every place that claims to meet, prove or except it."""

    id: str
    section: str
    level: str
    demand: str
    place: str
    exception: str = ""
    code: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)

    def lacks(self) -> list[str]:
        """Name what is missing: nothing where an exception says why."""
        return [] if self.exception else [name for name in ("code", "test") if not getattr(self, name)]


@dataclass
class Head:
    """A source, and what the list of its clauses was compared with."""

    title: str
    link: str
    origin: str


class Checker:
    """Reads the clauses below a folder and whatever refers to them, and collects what is wrong."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.errors: list[str] = []
        self.clauses: dict[str, Clause] = {}
        self.heads: dict[str, Head] = {}
        for path in sorted(top.glob("specs/clauses/*.toml")):
            self._read_clauses(path.relative_to(top))
        for path in sorted(top.glob("specs/exceptions/*.toml")):
            self._read_exceptions(path.relative_to(top))
        for path in sorted({path for pattern in SOURCES for path in top.glob(pattern)}):
            self._read_references(path.relative_to(top))
        for clause in self.clauses.values():
            if clause.exception and clause.code and clause.test:
                self._wrong(clause.place, clause.id, "has an exception, and code and a test as well")

    def _wrong(self, place: str, name: str, what: str) -> None:
        self.errors.append(f"{place}: {name}: {what}")

    def _read_clauses(self, path: Path) -> None:
        for place, entry in self._entries(path, "clause", {"id", "section", "level", "demand"}):
            clause = Clause(**entry, place=place)
            start = f"{path.stem}-{clause.section}-"
            if not re.fullmatch(re.escape(start) + "[a-z0-9.-]+", clause.id):
                self._wrong(place, clause.id, f"is not {start} and a short name")
            if clause.level not in LEVELS:
                self._wrong(place, clause.id, f"level {clause.level!r} is none of {', '.join(LEVELS)}")
            if (first := self.clauses.setdefault(clause.id, clause)) is not clause:
                self._wrong(place, clause.id, f"is also at {first.place}")

    def _read_exceptions(self, path: Path) -> None:
        for place, entry in self._entries(path, "exception", {"id", "kind", "reason"}):
            if (clause := self._find(entry["id"], place)) is None:
                continue
            if (kind := entry["kind"]) not in KINDS:
                self._wrong(place, clause.id, f"kind {kind!r} is none of {', '.join(KINDS)}")
            elif kind == "not-taken" and clause.level != "may":
                self._wrong(place, clause.id, f"is no permission but a {clause.level}")
            if clause.exception:
                self._wrong(place, clause.id, "has an exception already")
            clause.exception = f"*{KINDS.get(kind)}.* {entry['reason']}"

    def _entries(self, path: Path, kind: str, keys: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield file and line of each entry, and the entry, if it has these keys and no others."""
        text = (self.top / path).read_text(encoding="utf-8")
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            self._wrong(str(path), "not TOML", str(error))
            return
        if kind == "clause":
            head = Head(table.get("title", path.stem), table.get("link", ""), table.get("from", ""))
            self.heads[path.stem] = head
            if head.origin not in ORIGINS:
                self._wrong(str(path), "from", f"{head.origin!r} is none of {', '.join(ORIGINS)}")
        starts = (number for number, line in enumerate(text.splitlines(), 1) if line.strip() == f"[[{kind}]]")
        for start, entry in zip(starts, table.get(kind, []), strict=False):
            place = f"{path}:{start}"
            wrong = {key for key in keys if not isinstance(entry.get(key), str) or not entry[key].strip()}
            for key in sorted(wrong | (entry.keys() - keys)):
                self._wrong(place, str(entry.get("id", kind)), f"{key} is missing, empty or unknown")
            if entry.keys() == keys and not wrong:
                yield place, entry

    def _read_references(self, path: Path) -> None:
        lines = (self.top / path).read_text(encoding="utf-8").splitlines()
        for index, line in enumerate(lines):
            if (mark := MARK.fullmatch(line)) is None:
                continue
            place, (*role, name) = f"{path}:{index + 1}", mark[1].split() or [""]
            if role not in ([], ["test"]):
                self._wrong(place, mark[1], "is neither ID nor test ID")
            elif not role and "tests" in path.parts:
                self._wrong(place, name, f"a file of tests says: test {name}")
            elif (clause := self._find(name, place)) is not None:
                link = f"[`{_item(path, lines, index)}`](../{path})"
                found = clause.test if role else clause.code
                found += [] if link in found else [link]

    def _find(self, name: str, place: str) -> Clause | None:
        if name not in self.clauses:
            section = "-".join(name.split("-")[:2])
            candidates = [one for one in self.clauses if one.startswith(f"{section}-")] or self.clauses
            near = difflib.get_close_matches(name, candidates, 1, 0.4)
            self._wrong(place, name, "no such clause" + "".join(f"; did you mean {one}?" for one in near))
        return self.clauses.get(name)

    def page(self) -> str:
        """Write a table of counts, then a table of clauses for each source."""
        counts, tables = [], []
        for stem, head in self.heads.items():
            clauses = [clause for clause in self.clauses.values() if clause.id.startswith(f"{stem}-")]
            states: list[object] = [
                "exception" if clause.exception else clause.lacks() == [] for clause in clauses
            ]
            numbers = map(states.count, (True, "exception", False))
            counts.append(_row(head.title, head.origin, len(states), *numbers))
            tables += [f"\n## {head.title}\n" + (f"\n<{head.link}>\n" if head.link else ""), COLUMNS]
            for c in clauses:
                places = ("<br>".join(filter(None, each)) for each in ([*c.code, c.exception], c.test))
                tables.append(_row(f"`{c.id}`", c.section, c.level, c.demand, *places))
        return "\n".join([HEAD, *counts, *tables]) + "\n"


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", r"\|") for cell in cells) + " |"


def _item(path: Path, lines: list[str], index: int) -> str:
    """Name the item below a line or, if a statement is there, the item around it."""
    if path.suffix not in ITEMS:
        return path.stem
    below = [line for line in lines[index + 1 :] if not BETWEEN.match(line)]
    indent = len(lines[index]) - len(lines[index].lstrip())
    around = [line for line in reversed(lines[:index]) if len(line) - len(line.lstrip()) < indent]
    found = next(filter(None, map(ITEMS[path.suffix].match, [*below[:1], *around])), None)
    return " ".join(filter(None, found.groups())) if found else path.stem


def main(arguments: list[str], top: Path = TOP) -> int:
    """Check, and write the page unless told not to; return 1 if something is wrong, 2 for wrong use."""
    if not {*arguments} <= {"--check", "--complete"}:
        print(__doc__, file=sys.stderr)
        return 2
    checker = Checker(top)
    errors, page, path = checker.errors, checker.page(), top / PAGE
    lacking = [clause for clause in checker.clauses.values() if clause.lacks()]
    for c in lacking if "--complete" in arguments else []:
        errors.append(f"{c.place}: {c.id}: no {' and no '.join(c.lacks())}, and no exception")
    if "--check" not in arguments and not errors:
        path.write_text(page, encoding="utf-8")
    elif not errors and (not path.exists() or path.read_text(encoding="utf-8") != page):
        errors.append(f"{PAGE}: out of date: run python3 specs/check.py")
    print("\n".join(errors) or f"clauses: {len(checker.clauses)}, of which {len(lacking)} open")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
