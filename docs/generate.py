"""Keep the documentation true: tables from the schema, links that lead somewhere, examples that are valid.

    .venv/bin/python docs/generate.py            rewrite the tables
    .venv/bin/python docs/generate.py --check    change nothing; fail where something is wrong

A table stands between `<!-- schema: NAME -->` and `<!-- /schema -->`. NAME is a structure of the schema
(`Tcp`), a variant of it (`Queue[fifo]`) or some of its settings (`Link.loss,drop`; with `!` one that must
be given where the page speaks of it). The values of the profiles stand between `<!-- profiles: all -->` and
`<!-- /profiles -->`, the reasons of one of them between `<!-- reasons: NAME -->` and `<!-- /reasons -->`.
The tables of a run stand between `<!-- tables: all -->` and `<!-- /tables -->`, the columns of one of them
between `<!-- columns: NAME -->` and `<!-- /columns -->`, those that responses have beside them between
`<!-- derived: all -->` and `<!-- /derived -->`.
What is on record of a study (docs/recorded_tables.py) stands between `<!-- record: STUDY -->` and
`<!-- /record -->`, and so with `verdicts`, `matrix`, `host`; its numbers between
`<!-- numbers: STUDY/TABLE,TABLE -->` and `<!-- /numbers -->`, its own means and verdicts by level likewise
(`means: STUDY/TABLE`, `levels: STUDY/LETTERS`, `clocks: STUDY/TABLE`), those of its arms, real packets
among them, between `<!-- arms: STUDY/QUANTITY,QUANTITY -->` and `<!-- /arms -->`. How many of its readings
each claim is judged under stands between `<!-- readings: STUDY -->` and `<!-- /readings -->`.
An example is a block of TOML: a whole scenario if it has `[run]`, a campaign if it names a scenario, one of
those that `perhop init` writes; otherwise what takes the place of the ports in that scenario.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import laws_queue
import recorded_tables
from recorded_tables import Rows

import perhop
from perhop import _core
from perhop.cli.__main__ import run as perhop_command
from perhop.experiment import derived, shape
from perhop.experiment.definition import read as read_campaign
from perhop.experiment.fault import FileError
from perhop.experiment.kinds import is_campaign, is_claims
from perhop.judge.grammar import read as read_claims
from perhop.lesson import form as lessons
from perhop.papers.form import ReadingsFile, StudyError
from perhop.run.tables import SCHEMA as SCHEMA_OF_TABLES
from perhop.scenario.files import Files

TOP = Path(__file__).resolve().parents[1]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *TOP.glob("papers/*/README.md")])
PROFILES = TOP / "crates" / "perhop-scenario" / "src" / "written" / "profiles"
STACKS = ("default", "rfc", "bsd", "ns2", "ns235", "linux")
SCHEMA: dict[str, Any] = json.loads(_core.schema())
CAMPAIGN: dict[str, Any] = json.loads(_core.campaign_schema())
STRUCTURES: dict[str, Any] = SCHEMA["$defs"] | CAMPAIGN["$defs"] | {"Campaign": CAMPAIGN}
WORDS = {
    "time-with-unit": "time",
    "phase-with-unit": "time, or `random`",
    "size-with-unit": "size",
    "rate-with-unit": "rate",
    "link-rate": "rate, or `trace:` and a file",
    "file-name": "file",
    "limit-with-unit": "packets or size",
    "node-name": "name",
    "label": "name",
    "end": "node",
    "mark": "mark",
    "marker-action": "mark, or `pass`, `drop`, `shape`",
    "selector": "`any`, `data`, `pure-ack`, or a mark",
}


def main(arguments: list[str]) -> int:
    """Rewrite the tables, or say what is wrong and return 1."""
    wrong: list[str] = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        made = re.sub(r"(<!-- (\w+): (\S+) -->\n).*?(<!-- /\2 -->)", _table, text, flags=re.DOTALL)
        if made != text and "--check" in arguments:
            wrong.append(f"{page.relative_to(TOP)}: a table is out of date: run docs/generate.py")
        elif made != text:
            page.write_text(made, encoding="utf-8")
    if "--check" in arguments:
        wrong += [error for page in PAGES for error in _dead_links(page)]
        wrong += _unlisted()
        wrong += _invalid_examples()
    print("\n".join(wrong) or "documentation: as it should be")
    return 1 if wrong else 0


def _table(match: re.Match[str]) -> str:
    makers: dict[str, Callable[[str], Rows | str]] = {
        "schema": _schema,
        "profiles": _profiles,
        "reasons": _reasons,
        "tables": _tables,
        "columns": _columns,
        "derived": _derived,
        "record": recorded_tables.record,
        "verdicts": recorded_tables.verdicts,
        "matrix": recorded_tables.matrix,
        "numbers": recorded_tables.numbers,
        "means": recorded_tables.means,
        "levels": recorded_tables.levels,
        "clocks": recorded_tables.clocks,
        "arms": recorded_tables.arms,
        "host": recorded_tables.host,
        "readings": recorded_tables.readings,
        "waits": laws_queue.waits,
        "fills": laws_queue.fills,
        "aside": laws_queue.aside,
    }
    if match[2] not in makers:
        return match[0]
    made = makers[match[2]](match[3])
    text = made if isinstance(made, str) else recorded_tables.as_table(made)
    return f"{match[1]}{text}\n{match[4]}"


def _schema(name: str) -> list[tuple[str, ...]]:
    structure, _, settings = name.partition(".")
    structure, _, variant = structure.partition("[")
    rules = STRUCTURES[structure]
    if variant:
        rules = next(one for one in rules["oneOf"] if one["properties"]["kind"]["const"] == variant[:-1])
    if "oneOf" in rules:
        words = map(_word, rules["oneOf"])
        meanings = (one["description"] for one in rules["oneOf"])
        rows = [(f"`{word}`", text) for word, text in zip(words, meanings, strict=True)]
        return [("Value" if "const" in rules["oneOf"][0] else "Kind", "Meaning"), *rows]
    return [("Setting", "Value", "Default", "Meaning"), *_settings(rules, settings)]


def _word(variant: dict[str, Any]) -> str:
    """Return how one of several values is written: a word, a kind, or an example of a form."""
    kind = variant.get("properties", {}).get("kind", variant)
    return str(kind["const"] if "const" in kind else variant["examples"][0])


def _profile(name: str) -> dict[str, Any]:
    given = tomllib.loads((PROFILES / f"{name}.toml").read_text(encoding="utf-8"))
    base = _profile(given["base"]) if "base" in given else {}
    return {**base, **{key: value for key, value in given.items() if key not in ("name", "base")}}


def _profiles(_: str) -> list[tuple[str, ...]]:
    stacks = [_profile(name) for name in STACKS]
    # mss and header depend on the network, not on the stack; the old stacks leave window out
    keys = [key for key in stacks[0] if all(key in stack for stack in stacks)]
    rows = [(f"`{key}`", *(f"`{_plain(stack[key])}`" for stack in stacks)) for key in keys]
    return [("Setting", *(f"`{name}`" for name in STACKS)), *rows]


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, str) else json.dumps(value)


def _reasons(name: str) -> list[tuple[str, ...]]:
    text = (PROFILES / f"{name}.toml").read_text(encoding="utf-8")
    lines = re.findall(r"^(\w+) = (.*?) +# (.*)$", text, flags=re.MULTILINE)
    rows = [(f"`{key}`", f"`{value.strip(chr(34))}`", reason) for key, value, reason in lines]
    return [("Setting", "Default", "From"), *rows]


def _tables(_: str) -> list[tuple[str, ...]]:
    rows = [
        (f"`{'trace.' if table.trace else ''}{table.name}.parquet`", table.doc, str(table.since))
        for table in SCHEMA_OF_TABLES.values()
    ]
    return [("File", "What is in it", "Format"), *rows]


def _derived(_: str) -> list[tuple[str, ...]]:
    rows = [(f"`{one.table}`", f"`{one.name}`", one.unit, one.doc) for one in derived.COLUMNS]
    return [("Table", "Column", "Unit", "Meaning"), *rows]


def _columns(name: str) -> list[tuple[str, ...]]:
    columns = SCHEMA_OF_TABLES[name].columns
    rows = [(f"`{one.name}`", one.unit, one.doc, str(one.since)) for one in columns]
    return [("Column", "Unit", "Meaning", "Format"), *rows]


def _settings(rules: dict[str, Any], only: str) -> list[tuple[str, ...]]:
    wanted = only.split(",") if only else list(rules["properties"])
    required = {*rules.get("required", []), *(key[:-1] for key in wanted if key.endswith("!"))}
    return [
        (
            f"`{key}`",
            _value(one),
            _default(one, key in required),
            one.get("description", "Chooses this kind."),
        )
        for key, one in rules["properties"].items()
        if key in wanted or f"{key}!" in wanted
    ]


def _resolved(rules: dict[str, Any]) -> dict[str, Any]:
    return STRUCTURES[rules["$ref"].rsplit("/", 1)[1]] if "$ref" in rules else rules


def _value(rules: dict[str, Any]) -> str:
    rules = _resolved(rules)
    if "const" in rules:
        return f'`"{rules["const"]}"`'
    if "oneOf" in rules:
        words = map(_word, rules["oneOf"])
        kind = "" if "const" in rules["oneOf"][0] else "table of kind "
        return kind + " or ".join(f'`"{word}"`' for word in words)
    if "anyOf" in rules:
        first, *others = rules["anyOf"]
        if first.get("type") == "boolean":
            return " or ".join(map(_value, rules["anyOf"]))
        if "additionalProperties" in others[-1] and others[-1]["description"] == "By name.":
            return "list of values, or a table of them by name"
        if others[-1]["type"] in ("number", "boolean"):
            return "text or a number"
        several = {"array": "a list of them", "object": "one for each direction"}
        return ", or ".join([_value(first), *(several[one["type"]] for one in others)])
    if rules["type"] == "array":
        several = "two" if rules.get("maxItems") == 2 else "list"
        return f"{several} of: {_value(rules['items'])}"
    if rules["type"] == "object":
        return "table"
    if "exclusiveMinimum" in rules and "maximum" in rules:
        return f"number above {rules['exclusiveMinimum']:g}, at most {rules['maximum']:g}"
    if "exclusiveMinimum" in rules and "exclusiveMaximum" in rules:
        return f"number between {rules['exclusiveMinimum']:g} and {rules['exclusiveMaximum']:g}"
    if "exclusiveMinimum" in rules:
        return f"number above {rules['exclusiveMinimum']:g}"
    if rules["type"] == "boolean":
        return "`true` or `false`"
    if "minimum" in rules and "maximum" in rules:
        return f"{rules['type']} from {rules['minimum']} to {rules['maximum']}"
    if "minimum" in rules:
        below = f" and below {rules['exclusiveMaximum']}" if "exclusiveMaximum" in rules else ""
        return f"{rules['type']}, at least {rules['minimum']}{below}"
    return WORDS.get(rules.get("format", ""), rules["type"])


def _default(rules: dict[str, Any], required: bool) -> str:
    if required:
        return "required"
    if "default" not in rules:
        return "none"
    inner = _resolved(rules)
    if inner.get("type") == "object":
        return "as below"
    return f"`{_toml(rules['default'])}`"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def _dead_links(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = (target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if ":" not in target)
    return [
        f"{page.relative_to(TOP)}: {target} leads nowhere"
        for target in targets
        if target and not (page.parent / target).exists()
    ]


def _unlisted() -> list[str]:
    summary = TOP / "docs" / "SUMMARY.md"
    targets = re.findall(r"\]\(([^)\s]+)\)", summary.read_text(encoding="utf-8"))
    listed = {summary, *((summary.parent / target).resolve() for target in targets)}
    pages = (page for page in PAGES if page.is_relative_to(TOP / "docs") and page not in listed)
    return [f"docs/SUMMARY.md does not list {page.relative_to(TOP)}" for page in pages]


def _invalid_examples() -> list[str]:
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.redirect_stdout(io.StringIO()):
            perhop_command(["init", folder])
        for page in PAGES:
            for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
                mistakes = _mistakes(block, page, Path(folder))
                wrong += [
                    f"{page.relative_to(TOP)}: an example is wrong:\n{one['rendered']}" for one in mistakes
                ]
    return wrong


def _mistakes(block: str, page: Path, folder: Path) -> list[Any]:
    """Return what is wrong with an example; `folder` has what `perhop init` writes, `page` its own files."""
    name = page.name
    if "[[question]]" in block or block.startswith("student ="):
        file = folder / ("lesson.toml" if "[[question]]" in block else "answers.toml")
        file.write_text(block, encoding="utf-8")
        pack = TOP / "python/perhop/starters/lesson-bufferbloat"
        shutil.copy(pack / "line.toml", folder)
        try:
            if file.stem == "lesson":
                lessons.load(folder)
            else:
                lessons.answers(file, lessons.load(pack))
        except FileError as error:
            return error.diagnostics
        return []
    if is_claims(block.encode()) or "[[reading]]" in block:
        file, source = folder / f"{name}.toml", block.encode()
        try:
            if is_claims(source):
                read_claims(file, source)
            else:
                shape.read(file, source, ReadingsFile, StudyError)
        except FileError as error:
            return error.diagnostics
        return []
    if is_campaign(block.encode()):
        file = folder / f"{name}.toml"
        file.write_text(block, encoding="utf-8")
        return read_campaign(file).mistakes
    base = (folder / "two-way.toml").read_text(encoding="utf-8")
    head, tail = base[: base.index("[[port]]")], base[base.index("[[flow]]") :]
    source = block if "[run]" in block else head + block + "\n" + tail
    return perhop.Scenario(source.encode(), name, files=Files(page.parent)).check()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
