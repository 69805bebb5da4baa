"""The language of responses: what it computes, what it refuses and where."""

import os
import subprocess
import sys

import polars as pl
import pytest

from perhop.experiment.response import Response, ResponseError

FLOWS = pl.DataFrame(
    {
        "name": ["a", "b", "c", "d"],
        "class": ["ef", "ef", "be", "be"],
        "goodput_bit_s": [1.0, 3.0, 2.0, 6.0],
        "completed_s": [None, 2.0, 4.0, None],
        "timeouts": pl.Series([0, 1, 2, 3], dtype=pl.UInt64),
        "path": ["r", None, "r", "s"],
    }
)
EMPTY = FLOWS.clear()


def measured(text: str, flows: pl.DataFrame = FLOWS) -> dict[tuple[str, ...], float | None]:
    return Response.parse("x", text).evaluate({"flows": flows})


@pytest.mark.parametrize(
    ("text", "value", "of_nothing"),
    [
        ("mean(flows.goodput_bit_s)", 3.0, None),
        ("sum(flows.goodput_bit_s)", 12.0, 0.0),
        ("min(flows.timeouts)", 0.0, None),
        ("max(flows.timeouts)", 3.0, None),
        ("std(flows.completed_s)", 2.0**0.5, None),
        ("cov(flows.completed_s)", 2.0**0.5 / 3.0, None),
        ("median(flows.goodput_bit_s)", 2.5, None),
        ("quantile(flows.goodput_bit_s, 0.25)", 1.75, None),
        ("count(flows)", 4.0, 0.0),
        ("count(flows.completed_s)", 2.0, 0.0),
        ("jain(flows.goodput_bit_s)", 144.0 / (4 * 50.0), None),
        ("count(flows where timeouts >= 1 and not class = 'ef')", 2.0, 0.0),
        ("count(flows where class = 'ef' or timeouts > 2)", 3.0, 0.0),
        ("count(flows where name in ('a', 'c', 'z'))", 2.0, 0.0),
        ("count(flows where completed_s < 3)", 1.0, 0.0),
        ("count(flows where not completed_s < 3)", 1.0, 0.0),
        ("count(flows) - count(flows.completed_s)", 2.0, 0.0),
        ("-sum(flows.timeouts) + 2 * (3 - 1) / 4", -5.0, 1.0),
        ("max(flows.timeouts) - 5", -2.0, None),
        ("1 / min(flows.timeouts)", None, None),
        ("jain(flows.timeouts where name = 'a')", None, None),
        ("std(flows.timeouts where name = 'a')", None, None),
        ("sum(flows.goodput_bit_s * flows.timeouts)", 0.0 + 3.0 + 4.0 + 18.0, 0.0),
        ("mean(completed_s - flows.timeouts)", (1.0 + 2.0) / 2, None),
        ("quantile(-(flows.goodput_bit_s / 1e3 + 1), 0.5)", -1.0025, None),
        ("count(flows.completed_s - 2 * flows.timeouts)", 2.0, 0.0),
        ("min(flows.timeouts - 2)", -2.0, None),
        ("sum(flows.goodput_bit_s / flows.timeouts)", 3.0 + 1.0 + 2.0, 0.0),
        ("count(1 / (1 / flows.timeouts) where timeouts < 2)", 1.0, 0.0),
        ("max(flows.goodput_bit_s * 1e300 * 1e300)", None, None),
    ],
)
def test_statistics(text: str, value: float | None, of_nothing: float | None):
    assert measured(text) == {(): pytest.approx(value, rel=1e-14) if value is not None else None}
    assert measured(text, EMPTY) == {(): of_nothing}


def test_groups_are_those_found_and_nulls_belong_to_none():
    assert measured("mean(flows.goodput_bit_s) by class") == {("be",): 4.0, ("ef",): 2.0}
    assert measured("count(flows) by path, class") == {("r", "be"): 1.0, ("r", "ef"): 1.0, ("s", "be"): 1.0}
    assert measured("max(flows.completed_s) by timeouts") == {
        ("0",): None,
        ("1",): 2.0,
        ("2",): 4.0,
        ("3",): None,
    }
    assert measured("mean(flows.goodput_bit_s) by class", EMPTY) == {}


def test_a_group_that_one_statistic_lacks():
    assert measured("count(flows where class = 'ef') / count(flows) by class") == {("be",): 0.0, ("ef",): 1.0}
    assert measured("mean(flows.timeouts where class = 'ef') - mean(flows.timeouts) by class") == {
        ("be",): None,
        ("ef",): 0.0,
    }


def test_a_group_whose_rows_the_condition_leaves_out_counts_0_and_has_no_mean():
    assert measured("count(flows where timeouts > 1) by class") == {("be",): 2.0, ("ef",): 0.0}
    assert measured("sum(flows.goodput_bit_s where timeouts > 1) by class") == {("be",): 8.0, ("ef",): 0.0}
    assert measured("count(flows where timeouts > 3) by timeouts") == dict.fromkeys(
        [("0",), ("1",), ("2",), ("3",)], 0.0
    )
    assert measured("count(flows where name = 'a') by path") == {("r",): 1.0, ("s",): 0.0}
    for mean in (
        "mean(flows.timeouts where timeouts > 1) by class",
        "sum(flows.timeouts where timeouts > 1) / count(flows where timeouts > 1) by class",
    ):
        assert measured(mean) == {("be",): 2.5}


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("mean(flows.goodput_bit_s)", "bit/s"),
        ("-max(flows.goodput_bit_s) + min(flows.goodput_bit_s)", "bit/s"),
        ("std(flows.completed_s)", "s"),
        ("jain(flows.goodput_bit_s)", "1"),
        ("1 - jain(flows.goodput_bit_s)", "1"),
        ("jain(flows.goodput_bit_s) * mean(flows.goodput_bit_s)", "bit/s"),
        ("count(flows)", ""),
        ("sum(links.bytes) / sum(links.packets)", "byte/packets"),
        ("sum(links.bytes) / sum(queues.in_bytes)", "1"),
        # a factor may turn bytes into megabytes
        ("sum(links.bytes) / 1e6", None),
        ("sum(flows.goodput_bit_s / 1e6)", None),
        ("quantile(completed_s - start_s, 0.99) by class", "s"),
        ("max(links.bytes / links.packets)", "byte/packets"),
        ("cov(links.bytes / links.packets)", "1"),
        ("count(completed_s - start_s)", ""),
        ("mean(flows.srtt_s + flows.goodput_bit_s)", None),
        ("mean(flows.goodput_bit_s) + mean(flows.srtt_s)", None),
    ],
)
def test_units_follow_from_columns(text: str, unit: str | None):
    assert Response.parse("x", text).unit == unit
    assert Response.parse("x", text, "parrots").unit == "parrots"


@pytest.mark.parametrize(
    ("text", "marked", "rule", "hint"),
    [
        ("mean(flowz.x)", "flowz", "there is no table `flowz`", "did you mean `flows`?"),
        ("mean(packets.time_s)", "packets", "`packets` is a trace", None),
        ("mena(flows.srtt_s)", "mena", "there is no statistic `mena`", "did you mean `mean`?"),
        ("mean(flows.srt_s)", "srt_s", "no column `srt_s`", "did you mean `srtt_s`?"),
        ("mean(flows.srtt_s where clas = 'a')", "clas", "no column `clas`", "did you mean `class`?"),
        ("mean(flows.srtt_s) by clas", "clas", "no column `clas`", "did you mean `class`?"),
        ("mean(flows.goodput)", "goodput", "no column `goodput`", "did you mean `goodput_bit_s`?"),
        ("mean(classes.pdv)", "pdv", "no column `pdv`", "`pdv_p999_s`, `pdv_pNN_s`?"),
        (
            "count(marks) by colour",
            "colour",
            "no column `colour`",
            "of the trace `packets`, which a campaign",
        ),
        ("mean(links.srtt_s)", "srtt_s", "`links` has no column `srtt_s`", "is a column of `flows`"),
        ("mean(flows.srtt_s) by srtt_s", "srtt_s", "is a measured number", "group by a name"),
        ("mean(flows.name)", "name", "is text, which has no mean", "count its rows"),
        ("mean(flows)", "flows", "is of a column, not of a table", "write a column"),
        ("quantile(flows.srtt_s)", "quantile", "needs to know which", "quantile(flows.srtt_s, 0.95)"),
        ("quantile(flows.srtt_s, 95)", "95", "95 is above 1", "write 0.95"),
        ("mean(flows.srtt_s, 0.5)", "0.5", "`mean` takes no number", None),
        ("count(flows where class = 3)", "3", "is text, not a number", 'write it in quotes: `"3"`'),
        ("count(flows where timeouts = 'a')", "'a'", "`timeouts` is a number", "without quotes"),
        ("count(flows where class < 'a')", "class", "is text, which is compared with", None),
        ("1 + 2", "1 + 2", "at least one statistic", None),
        ("mean(1 + 2)", "1", "a statistic is of a column", "such as"),
        ("mean(start_s)", "start_s", "is a column of `flows`, `udp`", "as in `flows.start_s`"),
        (
            "mean(goodput_bit_s - udp.sent_bytes)",
            "goodput_bit_s",
            "`udp` has no column",
            "a column of `flows`",
        ),
        ("mean(completed_s - utilization)", "completed_s", "no table has all of `completed_s`, `util", None),
        ("mean(complete_s - start_s)", "complete_s", "no table has a column", "did you mean `completed_s`?"),
        ("mean(zzzzzzz)", "zzzzzzz", "no table has a column", "`flows.zzzzzzz`"),
        ("mean(flows.srtt_s - udp.start_s)", "udp", "another table than `flows`", "a statistic of each"),
        ("max(flows.srtt_s - min(flows.srtt_s))", "min", "a statistic in another", "outside"),
        ("mean(flows.srtt_s * flows.class)", "class", "with which nothing is computed", None),
        ("quantile(completed_s - start_s)", "quantile", "needs to", "flows.completed_s - flows.start_s, 0.9"),
        ("mean(flows.srtt_s - (flows.start_s)", "", "`)` should stand here", None),
        ("", "", "a number or a statistic should stand here, not the end", "such as"),
        ("mean(flows.srtt_s", "", "`)` should stand here, not the end", None),
        (
            *("mean(flows.srtt_s by name", "by", "`)` should stand here, not `by`"),
            "it closes the `(` at character 5",
        ),
        ("mean(flows.srtt_s) 3", "3", "an operator, `by` or the end should stand here", None),
        ("mean(flows.srtt_s wher class = 'a')", "wher", "`)` should stand here, not `wher`", "`where`"),
        (
            "count(flows where class = ef)",
            "ef",
            "a text in quotes or a number",
            'write text in quotes: `"ef"`',
        ),
        ("count(flows where class == 'ef')", "= ", "a text in quotes or a number", "one sign"),
        ("count(flows where class = 'ef)", "'ef)", "the quote is not closed", None),
        ("mean flows.srtt_s", "flows", "`(` should stand here", "a statistic has its column in parentheses"),
        ("mean(flows.srtt_s) & 1", "&", "`&` means nothing here", None),
        ("1e999", "1e999", "too large a number", None),
        ("(" * 40 + "1", "(", "nested more than 30 deep", None),
        ("1" + "+1" * 200, "1" + "+1" * 200, "longer than 200", "two responses"),
    ],
)
def test_mistakes_have_their_place(text: str, marked: str, rule: str, hint: str | None):
    with pytest.raises(ResponseError) as caught:
        Response.parse("x", text).check()
    [fault] = caught.value.faults
    assert text[slice(*fault.span)] == marked.strip()
    assert rule in fault.rule
    assert hint is None or hint in (fault.hint or "")
    [diagnostic] = caught.value.diagnostics
    assert diagnostic["column"] == fault.span[0] + 1
    assert not text or "[x:1:" in diagnostic["rendered"]
    assert str(caught.value) == diagnostic["rendered"]


def test_all_mistakes_of_names_are_told_at_once():
    with pytest.raises(ResponseError) as caught:
        Response.parse("x", "mena(flows.goodput where clas = 'a') by nam").check()
    assert len(caught.value.diagnostics) == 4


def test_labels_are_columns_of_flows():
    response = Response.parse("x", "count(flows where congestion = 'r') by congestion")
    response.check({"flows": {"congestion": frozenset("r")}})
    with pytest.raises(ResponseError, match="no column `congestion`"):
        response.check({"udp": {"congestion": frozenset("r")}})
    with pytest.raises(ResponseError, match="no column `congestion`"):
        response.check()
    with pytest.raises(ResponseError, match="this run's `flows` has no column `congestion`"):
        response.evaluate({"flows": FLOWS})


def test_values_do_not_depend_on_the_threads_of_polars() -> None:
    program = (
        "import numpy as np, polars as pl\n"
        "from perhop.experiment.response import Response\n"
        "draw = np.random.default_rng(1)\n"
        "n = 20_000\n"
        "flows = pl.DataFrame({'class': draw.choice(['a', 'b'], n), 'srtt_s': draw.normal(1, 0.3, n)})\n"
        "for statistic in ('mean', 'std', 'sum', 'jain'):\n"
        "    for by in ('', ' by class'):\n"
        "        measure = f'{statistic}(flows.srtt_s){by}'\n"
        "        print(Response.parse('x', measure).evaluate({'flows': flows}))\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"POLARS_MAX_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "4")
    }
    assert len(said) == 1
