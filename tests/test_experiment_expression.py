"""The parser of responses on every expression and on every text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perhop.experiment.expression import (
    STATISTICS,
    Comparison,
    Junction,
    Measure,
    Name,
    Negative,
    Not,
    Number,
    Operation,
    Statistic,
    columns,
)
from perhop.experiment.parser import COMPARISONS, KEYWORDS, parse
from perhop.experiment.response import Response, ResponseError

WORDS = [
    *STATISTICS,
    *KEYWORDS,
    "flows",
    "links",
    ".goodput_bit_s",
    "completed_s",
    "class",
    "name",
    '"ef"',
    "'x",
    "1e6",
    "0.5",
]
SIGNS = [*COMPARISONS, "+", "-", "*", "/", "(", ")", ",", ".", " ", "\n", "é", "\0", "€"]

numbers = st.builds(Number, st.floats(0, 1e300))
names = (
    st.from_regex(r"[a-z_][a-z_0-9]{0,8}", fullmatch=True).filter(lambda text: text not in KEYWORDS).map(Name)
)
texts = st.text(
    st.characters(exclude_characters='"\n', exclude_categories=["Cs"]), max_size=8
) | st.sampled_from(['a "quoted" word', "it's", ""])
constants = st.floats(allow_nan=False, allow_infinity=False) | texts
comparisons = st.builds(
    lambda column, sign, constant: Comparison(column, sign, (constant,)),
    names,
    st.sampled_from(COMPARISONS),
    constants,
) | st.builds(
    lambda column, several: Comparison(column, "in", tuple(several)),
    names,
    st.lists(constants, min_size=1, max_size=3),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.builds(Not, inner) | st.builds(Junction, inner, st.sampled_from(["and", "or"]), inner),
    max_leaves=4,
)
operands = st.recursive(
    names | numbers,
    lambda inner: st.builds(Negative, inner) | st.builds(Operation, inner, st.sampled_from("+-*/"), inner),
    max_leaves=3,
).filter(lambda operand: any(columns(operand)))
statistics = st.builds(
    Statistic, names, names, operands, st.none() | numbers, st.none() | conditions
) | st.builds(
    Statistic, st.just(Name("count")), names, st.none(), st.none() | numbers, st.none() | conditions
)
expressions = st.recursive(
    numbers | statistics,
    lambda inner: st.builds(Negative, inner) | st.builds(Operation, inner, st.sampled_from("+-*/"), inner),
    max_leaves=4,
)
measures = st.builds(Measure, expressions, st.lists(names, max_size=2).map(tuple))


@given(measures)
def test_what_is_printed_reads_as_the_same(measure: Measure):
    assert parse(str(measure)) == measure


@given(
    st.text()
    | st.lists(st.sampled_from([*WORDS, *SIGNS])).map(" ".join)
    | st.lists(st.sampled_from(WORDS + SIGNS)).map("".join)
)
@example("(" * 1000)
@example("(" * 198)
@example("count(flows where " + "(" * 180)
@example("-" * 1000 + "1")
@example("1" + "-1" * 1000)
@example("count(flows where " + "not " * 500)
def test_no_text_breaks_the_parser(text: str):
    try:
        measure = Response.parse("x", text).measure
    except ResponseError as error:
        refused = error
    else:
        assert parse(str(measure)) == measure
        return
    [fault], [diagnostic] = refused.faults, refused.diagnostics
    assert 0 <= fault.span[0] <= fault.span[1] <= len(text)
    assert diagnostic["line"] == text.count("\n", 0, fault.span[0]) + 1


@given(measures)
def test_what_is_refused_has_a_place_in_the_text(measure: Measure):
    response = Response.parse("x", str(measure))
    for fault in response.faults({"flows": {"label": frozenset("a")}}):
        assert 0 <= fault.span[0] < fault.span[1] <= len(response.text)
    assert response.unit is None or isinstance(response.unit, str)


def test_not_binds_closer_than_and_and_closer_than_or():
    text = "count(flows where not a = 1 and b = 2 or c = 3)"
    where = parse(text).of.where  # type: ignore[union-attr]
    assert where == Junction(
        Junction(Not(Comparison(Name("a"), "=", (1.0,))), "and", Comparison(Name("b"), "=", (2.0,))),
        "or",
        Comparison(Name("c"), "=", (3.0,)),
    )


@pytest.mark.parametrize(
    "text",
    [
        *("1 - (2 - 3)", "1 / (2 * 3)", "-(1 + 2)", "(1 + 2) * 3", "1 - 2 - 3", "--1"),
        "mean((flows.completed_s - flows.start_s) / 2)",
    ],
)
def test_parentheses_are_those_that_matter(text: str):
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    "condition",
    ["a = 1 and (b = 2 and c = 3)", "(a = 1 or b = 2) and c = 3", "not (a = 1 or b = 2)", "not not a = 1"],
)
def test_parentheses_of_conditions_are_those_that_matter(condition: str):
    assert str(parse(f"count(t where {condition})")) == f"count(t where {condition})"
