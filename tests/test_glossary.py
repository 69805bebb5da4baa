"""Every word of the public interface has an entry in docs/glossary.md; no entry is about a word that is gone.

Required are the tables of scenario and campaign files and the values of `kind` (from their schemas), the
names that `perhop` exports, every command, every table of results, and the words in names of columns
that have no entry as a whole, but for units, statistics and ordinary words.

No name in the code is one that decision 0087 has replaced by a word of the field.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import perhop
from perhop import _core
from perhop.cli.parser import COMMANDS, build_app
from perhop.run.tables import SCHEMA

TOP = Path(__file__).parents[1]
PAGE = TOP / "docs/glossary.md"
UNITS = {"s", "bit", "bytes", "packets"}
STATISTICS = {"mean", "min", "max", "p50", "p95", "p99", "p999"}
ORDINARY = {
    "color",
    "data",
    "filter",
    "from",
    "in",
    "initial",
    "kind",
    "name",
    "number",
    "other",
    "out",
    "packet",
    "ratio",
    "sent",
} | {
    *("start", "time", "to", "value"),
}
"""Words in names of columns that mean there what they mean anywhere."""

REPLACED = {
    *("Apart", "Asked", "Desk", "Fate", "Fates", "Few", "Heard", "Lane", "Said", "Seat", "Seats"),
    *("Special", "Tap", "Told", "Under", "Watch"),
    *("desk", "fate", "fates", "heard", "lane", "said", "seat", "seats", "tell", "told"),
}
"""Names that decision 0087 has replaced, but those that the field has for something else, as `Probe`."""

REPLACED_IN_RUST = REPLACED | {"asked", "beside", "room"}

Schema = dict[str, Any]


def entries() -> Iterator[tuple[str, list[str], str, str]]:
    """Yield section, terms, sentence and source of each row of the page."""
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        for row in re.findall(r"^\| (.*) \|$", section, re.MULTILINE)[1:]:
            term, sentence, source = row.split(" | ")
            yield section.splitlines()[0], term.split(", "), sentence, source


def code(terms: list[str]) -> set[str]:
    return {word for term in terms for word in re.findall(r"`(.+?)`", term)}


def inside(schema: Schema) -> Iterator[Schema]:
    """Yield every structure of a schema."""
    yield schema
    for key in ("$defs", "properties"):
        for one in schema.get(key, {}).values():
            yield from inside(one)
    for key in ("oneOf", "anyOf"):
        for one in schema.get(key, []):
            yield from inside(one)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from inside(schema[key])


def is_table(rules: Schema, definitions: Schema) -> bool:
    """Return whether a setting may be a table of TOML, or a list of tables."""
    if "$ref" in rules:
        return is_table(definitions[rules["$ref"].rsplit("/", 1)[1]], definitions)
    if "items" in rules:
        return is_table(rules["items"], definitions)
    return rules.get("type") == "object" or any(
        is_table(one, definitions) for key in ("oneOf", "anyOf") for one in rules.get(key, [])
    )


def words_of_files(schema: Schema) -> set[str]:
    """Return the tables that a file may have, and every value of `kind` that chooses one."""
    settings = [one.get("properties", {}) for one in inside(schema)]
    tables = {key for one in settings for key, rules in one.items() if is_table(rules, schema["$defs"])}
    kinds = {one["kind"]["const"] for one in settings if "const" in one.get("kind", {})}
    return tables | kinds


def words_of_columns(names: list[str]) -> set[str]:
    return {word for name in names for word in name.split("_")} - UNITS - STATISTICS


def commands() -> set[str]:
    groups = {
        f"perhop {group.name} {one.name}"
        for group in build_app().registered_groups
        for one in group.typer_instance.registered_commands  # type: ignore[union-attr]
    }
    return groups | {f"perhop {name}" for name in COMMANDS}


def columns() -> list[str]:
    return [column.name for table in SCHEMA.values() for column in table.columns]


def required() -> set[str]:
    files = words_of_files(json.loads(_core.schema())) | words_of_files(json.loads(_core.campaign_schema()))
    exported = {name for name in perhop.__all__ if not name.startswith("__")}
    return files | exported | commands() | {*SCHEMA}


def test_every_word_of_the_interface_has_an_entry() -> None:
    named = {word for _, terms, _, _ in entries() for word in code(terms)}
    made_of = words_of_columns([name for name in columns() if name not in named])
    assert (required() | made_of - ORDINARY) - named == set()
    assert made_of & ORDINARY == ORDINARY, "a word that no column has any more"


def test_what_is_new_is_required() -> None:
    properties: Schema = {"kind": {"const": "codel"}, "curve": {"type": "object"}}
    new: Schema = {"oneOf": [{"type": "object", "properties": properties}]}
    schema: Schema = {"$defs": {"Queue": new}, "properties": {"lane": {"$ref": "#/$defs/Queue"}}}
    assert words_of_files(schema) == {"codel", "curve", "lane"}
    assert words_of_columns(["stalls_mean_s"]) == {"stalls"}


def test_each_term_stands_once_in_order_with_one_sentence_and_a_source() -> None:
    rows = list(entries())
    counted = Counter(term for _, terms, _, _ in rows for term in terms)
    assert [term for term, times in counted.items() if times > 1] == []
    for section in dict.fromkeys(section for section, *_ in rows):
        first = [terms[0].replace("`", "").lower() for name, terms, *_ in rows if name == section]
        assert first == sorted(first), section
    for _, terms, sentence, source in rows:
        assert re.fullmatch(r"[A-Z][^.]*(\.\S[^.]*)*\.", sentence.replace("`", "")), (terms, sentence)
        assert re.search(r"RFC \d+|\b(19|20)\d\d\b|\]\(|`perhop --help`", source), (terms, source)


def test_no_entry_is_about_a_word_that_is_gone() -> None:
    everywhere = json.dumps([json.loads(_core.schema()), json.loads(_core.campaign_schema())])
    spoken = (
        required()
        | words_of_columns(columns())
        | {*columns()}
        | {"perhop.tables"}
        | set(re.findall(r'"([\w-]+)"', everywhere))
    )
    reasons = " ".join(column.doc for table in SCHEMA.values() for column in table.columns)
    spoken |= set(re.findall(r"`(.+?)`", reasons)) | {
        "tables",
        "pass",
        "shape",
        "drop",
        "BE",
        "EF",
        "AF11",
        "AF43",
    }
    assert {word for _, terms, _, _ in entries() for word in code(terms)} - spoken == set()


def names_in_rust(text: str) -> set[str]:
    """Return the identifiers of code, without comments and literals."""
    aside = r"""//[^\n]*|/\*.*?\*/|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^\\'])'"""
    return set(re.findall(r"\b[A-Za-z_]\w*", re.sub(aside, " ", text, flags=re.DOTALL)))


def names_in_python(text: str) -> set[str]:
    """Return the names of classes and functions."""
    defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, defined)}


def test_no_name_is_one_that_was_replaced() -> None:
    found = set()
    for folder, ending, names, replaced in (
        ("crates", "rs", names_in_rust, REPLACED_IN_RUST),
        ("python", "py", names_in_python, REPLACED),
    ):
        files = sorted((TOP / folder).rglob(f"*.{ending}"))
        assert len(files) > 200
        for file in files:
            place = file.relative_to(TOP).as_posix()
            found |= {(place, name) for name in names(file.read_text(encoding="utf-8")) & replaced}
    assert found == set()


def test_a_name_is_seen_where_it_is_one() -> None:
    text = """
// Told
fn told<'a>(x: &'a str) -> char { format!(r#"room "said" {x}"#, "\\"heard"); let seat = '"'; '\\'' }
/* Desk */ struct Fate(Toldest);
"""
    assert names_in_rust(text) & REPLACED_IN_RUST == {"told", "seat", "Fate"}
    assert names_in_python("class Seat:\n    def told(self): said = heard") & REPLACED == {"Seat", "told"}


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8")))))
def test_a_source_leads_to_a_heading_that_is_there(link: str) -> None:
    path, _, anchor = link.partition("#")
    text = (PAGE.parent / path).read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }
    assert not anchor or anchor in headings, link
