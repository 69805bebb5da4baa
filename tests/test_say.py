"""Documents as text and as HTML: nothing is cut, whatever the width."""

from __future__ import annotations

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perhop.say import document, html, terminal
from perhop.say.document import Heading, Table, Verdict, filled

WIDE = Table(
    "Claims",
    ("claim", "verdict", "goodput", "mean wait", "statement"),
    [
        (
            "K1",
            Verdict("not judged"),
            "2.639 Mbit/s",
            "160.8 µs",
            "What arrives is what was sent, less what was lost.",
        ),
        ("K2", Verdict("contradicted"), "87.62 kbit/s", None, "Nobody waits."),
    ],
)


def drawn(
    table: Table, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    terminal.show(table)
    return capsys.readouterr().out


def test_a_table_that_fits_is_on_a_line_for_each_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = drawn(WIDE, 120, monkeypatch, capsys).splitlines()
    assert lines[:3] == [
        "Claims",
        "claim   verdict             goodput   mean wait   statement",
        "─" * 100,
    ]
    assert lines[4] == "K2      contradicted   87.62 kbit/s           -   Nobody waits."
    assert lines[5:] == [""]


@pytest.mark.parametrize("width", [80, 60, 40, 20])
def test_no_number_unit_or_verdict_is_cut(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = drawn(WIDE, width, monkeypatch, capsys)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for whole in ("2.639 Mbit/s", "160.8 µs", "87.62 kbit/s", "contradicted", "judged"):
        assert whole in text
    words = re.sub(r"[─\s]+", " ", text)
    assert all(word in words for word in str(WIDE.rows[0][-1]).split())
    # what goes on below begins with what it is of
    assert (
        text.count("claim ")
        == text.count("K1")
        == (1 if width >= 60 else len(re.findall("^─+$", text, re.M)))
    )


NUMBERED = Table(
    "By class",
    ("class", "run", "goodput", "lost", "retransmitted", "timeouts"),
    [
        ("assured", "out/first", "2.639 Mbit/s", "1.2 %", "1.3 %", 4),
        ("", "out/second", "2.539 Mbit/s", "1.1 %", "1.2 %", 3),
        ("best effort", "out/first", "1.639 Mbit/s", "2.2 %", "2.3 %", 40),
        ("", "out/second", "1.539 Mbit/s", "2.1 %", "2.2 %", 30),
    ],
)


@pytest.mark.parametrize("width", [60, 50, 45])
def test_each_part_of_a_wide_table_names_its_rows(width: int) -> None:
    parts = "\n".join(terminal.lines(NUMBERED, width)).removeprefix("By class\n").split("\n\n")
    assert len(parts) > 1
    for part in parts:
        assert max(map(len, part.splitlines())) <= width
        assert part.split()[:2] == ["class", "run"]
        assert [part.count(name) for name in ("out/first", "out/second")] == [2, 2]
    # levels of a factor are numbers, and name a row all the same
    means = Table("", ("P", "C", "mean", "values"), [("0.2", c, "1.234", 3) for c in ("0.1", "0.5")])
    first, second = "\n".join(terminal.lines(means, 22)).split("\n\n")
    assert first.split()[:3] == ["P", "C", "mean"]
    assert second.split()[:3] == ["P", "C", "values"]
    # where names leave no room for a value, fewer of them come again
    narrow = list(terminal.lines(NUMBERED, 30))
    assert max(map(len, narrow)) <= 30


def test_a_column_of_names_that_begin_with_digits_is_set_to_the_left() -> None:
    rows = [
        ("2", "1 tcp-friendly", "1-other", "12.5 ms", "1.2 ± 0.1 Mbit/s", "5 of 40", "18.5"),
        ("6", "20", "4.2", "98.7 %", "-", "1e-05 s", "−3"),
    ]
    lefts = Table("", ("table", "id", "row", "busy", "rate", "runs", "here"), rows).lefts()
    assert lefts == [True, True, True, False, False, False, False]


SAID = (
    "Mean 2.4782 ± 0.0036 Mbit/s over 30 runs; C from -0.2 to 0.4 lowers it by 0.00684 Mbit/s "
    "(3.882 ± 0.011 s). Of its variation: C 97 %, P 1 %; 2 µs of 3 packets."
)


@given(st.integers(24, 160))
def test_a_number_stays_with_its_unit_and_with_what_is_to_either_side(width: int) -> None:
    for drawn_lines in (
        list(terminal.lines(Table("", (), [(SAID,)]), width, folds=True)),
        list(terminal.lines(Table("", ("said",), [(SAID,)]), width))[2:],
    ):
        assert max(map(len, drawn_lines)) <= width
        for whole in (
            "2.4782 ± 0.0036 Mbit/s",
            "0.00684 Mbit/s",
            "(3.882 ± 0.011 s).",
            "97 %",
            "1 %;",
            "2 µs",
        ):
            assert any(whole in line for line in drawn_lines)
        assert " ".join(drawn_lines) == SAID


@given(
    st.lists(st.lists(st.text("ab 1", max_size=30), min_size=3, max_size=3), min_size=1, max_size=4),
    st.integers(10, 100),
)
def test_every_word_is_there_at_any_width(rows: list[list[str]], width: int) -> None:
    table = Table("", ("one", "two words", "three"), rows)
    text = "\n".join(terminal.lines(table, width))
    there = re.sub(r"\s", "", text)
    for cell in (cell for row in rows for cell in row):
        assert all(word in there for word in cell.split())


def test_a_long_table_tells_where_all_of_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = filled("", ["name"], [{"name": f"f{k}"} for k in range(30)], whole="in flows.parquet")
    assert (
        drawn(table, 80, monkeypatch, capsys).splitlines()[-2]
        == "20 of 30 rows, the first; all are in flows.parquet"
    )
    lines = Table("Queues", (), [("one",), ("two",)])
    assert drawn(lines, 80, monkeypatch, capsys) == "Queues\none\ntwo\n\n"


def test_a_page_folds_a_long_table_away_and_escapes_text() -> None:
    rows = [{"name": f"<b>{k}", "packets": 1234 * k, "took_s": None} for k in range(30)]
    text = html.table(
        filled("<i>", ["flow: name | packets", "+took: took_s"], rows, of=40, whole="in the file")
    )
    assert "<h3>&lt;i&gt;</h3>" in text
    assert '<tr><td class="t">&lt;b&gt;3</td><td>3\u202f702</td><td class="x">–</td></tr>' in text
    assert '<label class="all"><input type="checkbox"> took</label>' in text
    assert "<summary>10 more rows</summary>" in text
    assert "10 rows more are in the file." in text
    assert html.badge(Verdict("not judged")) == '<span class="badge not-judged">not judged</span>'
    assert html.badge(Verdict("0 B", "good")) == '<span class="badge good">0 B</span>'


def test_examples_hold() -> None:
    assert doctest.testmod(document) == (0, 3)


def test_a_heading_and_a_sentence_are_whole_lines_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "dumb")
    long = "A sentence that is longer than twenty letters."
    terminal.show(Heading("A study"), long)
    assert capsys.readouterr().out == f"A study\n{long}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    terminal.show(long)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 20
    terminal.show(Heading(long))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 20


def test_the_heading_of_tables_stands_out_from_their_titles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    terminal.show(Heading("goodput"), Table("Means", ("of",), [("a",)]))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["\x1b[1;4mgoodput\x1b[0m", "\x1b[1mMeans\x1b[0m"]
