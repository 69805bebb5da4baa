"""The language of claims: what a file may say, mistakes with their places, parts judged on made numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli, run_cli
from perhop import _core
from perhop.cli.exit import ExitCode
from perhop.experiment.analyze import mean_rows
from perhop.experiment.fault import DesignError
from perhop.judge.campaign import CheckedClaims, checked, judge_all, rows
from perhop.judge.grammar import Claims, ClaimsError, is_claims, read, schema
from perhop.judge.measured import Measurements
from perhop.judge.quantity import Subject, Words, asked
from perhop.judge.verdict import HIGHER, LOWER, ClaimPart, Verdict
from perhop.papers.claims import as_measured
from perhop.say.claims import of_claims
from perhop.say.terminal import _folded
from test_models_estimate import LINE, PLAIN

CAMPAIGN = """scenario = "line.toml"
replications = 2
[[factor]]
name = "rate"
path = "link.a-r.rate"
levels = ["1Mbit/s", "2Mbit/s", "3Mbit/s"]
[[factor]]
name = "delay"
path = "link.r-b.delay"
levels = ["5ms", "10ms"]
[[response]]
name = "goodput"
measure = "sum(flows.goodput_bit_s)"
[[response]]
name = "each"
measure = "mean(flows.goodput_bit_s) by class"
"""
HEAD = """campaign = "sweep.toml"
[[claim]]
id = "X"
statement = "Something arrives."
"""
PLACE = 'response = "goodput"\nat = { rate = "1Mbit/s", delay = "5ms" }\n'
PRINTED = """campaign = "sweep.toml"
[[published]]
file = "printed.csv"
response = "goodput"
column = "mbit_s"
unit = 1e6
[[claim]]
id = "X"
statement = "It is as printed."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "line.toml").write_text(LINE.format(**PLAIN | {"duration": 2, "warmup": 1}))
    (tmp_path / "sweep.toml").write_text(CAMPAIGN)
    (tmp_path / "printed.csv").write_text("rate,delay,mbit_s\n1Mbit/s,5ms,0.9\n2Mbit/s,5ms,\n3Mbit/s,5ms,2\n")
    return tmp_path


def check(folder: Path, text: str) -> CheckedClaims:
    path = folder / "claims.toml"
    path.write_text(text)
    return checked(path)


def claims_in(folder: Path, text: str) -> tuple[Claims, Subject]:
    claims, campaign, subject = check(folder, text)
    assert campaign is not None
    assert subject is not None
    return claims, subject


# what a file may say


@pytest.mark.parametrize(
    ("line", "changed", "place", "told", "hint"),
    [
        # and `statement` is missing
        ("statement", "statment", "claim[0]", "`statement` is missing", "add `statement = ...`"),
        ("low", "hihg = 0\nlow", "claim[0].hihg", "there is no setting `hihg` here", "`high`"),
        ('id = "X"\n', "", "claim[0]", "`id` is missing", "add `id = ...`"),
        ('"goodput"', '"godput"', "claim[0].response", "there is no response `godput`", "`goodput`"),
        ("rate =", "rat =", "claim[0].at.rat", "`goodput` has no factor and no group `rat`", "`rate`"),
        ('"1Mbit/s"', '"1Mbits"', "claim[0].at.rate", "`rate` has no level `1Mbits`", "1Mbit/s"),
        ('"5ms"', "5", "claim[0].at.delay", "must be a string, not an integer", 'write "5"'),
        (
            ', delay = "5ms"',
            "",
            "claim[0].at",
            "which level of `delay` is meant: 5ms, 10ms?",
            "add `delay = ",
        ),
        ("low = 1.0\n", "", "claim[0]", "nothing is claimed of the quantity", "add `above` or `below`"),
        ("low = 1.0", 'low = "1"', "claim[0].low", "must be a finite number, not a string", None),
        ("low = 1.0", "low = inf", "claim[0].low", "must be a finite number, not a number", None),
        ("low = 1.0", "low = 2.0\nhigh = 1.0", "claim[0].low", "`low` is above `high`, 1", None),
        ("low = 1.0", "above = 0\nbelow = 1", "claim[0].below", "do not go together", "`low` and `high`"),
        ("low = 1.0", "low = 1.0\nwithin = 1", "claim[0].low", "do not go together", None),
        ("low = 1.0", "within = 1", "claim[0].within", "within so much of what?", "about"),
        ("low = 1.0", 'about = 5\nwithin = "5"', "claim[0].within", "a text is a share above zero", '"10%"'),
        (
            "low = 1.0",
            'about = "print"\nwithin = 1',
            "claim[0].about",
            "nothing is called `print`",
            "printed",
        ),
        ("low = 1.0", 'about = "printed"\nlow = 0', "claim[0].about", "nothing is printed for", None),
        ("low = 1.0", "about = 5\nwithin = -1", "claim[0].within", "a distance is not below zero", None),
        ("low = 1.0", 'about = 0\nwithin = "5%"', "claim[0].within", "a share of zero is zero", "a number"),
        (
            "low = 1.0",
            'less = { rate = "2Mbit/s" }\nwithin = [1, "5%"]',
            "claim[0].within",
            "a share of zero is zero",
            "a number",
        ),
        ("low", 'less = { rate = "1Mbit/s" }\nlow', "claim[0].less", "compared with itself", "differs"),
        ("low", "over = { }\nlow", "claim[0].over", "compared with itself", "differs"),
        (
            ', delay = "5ms" }\n',
            ' }\neach = { delay = ["5ms", "10ms", "5ms"] }\n',
            "claim[0].each.delay[2]",
            "`5ms` is there twice",
            None,
        ),
        (
            "campaign",
            'words = { goodput = "what arrives", godput = "it" }\ncampaign',
            "words.godput",
            "no response and no level is called `godput`",
            "`goodput`",
        ),
        ("low = 1.0", "low = 1.0\nper = 0", "claim[0].per", "nothing is divided by zero", None),
        ("low", 'less = { rate = "9" }\nlow', "claim[0].less.rate", "`rate` has no level `9`", "1Mbit/s"),
        ("low", "less = { }\nover = { }\nlow", "claim[0].over", "do not go together", None),
        (
            "low",
            'less = { rate = "previous" }\nlow',
            "claim[0].less.rate",
            "the level before in `each`",
            "each",
        ),
        ("low", 'each = { dely = "all" }\nlow', "claim[0].each.dely", "no factor and no group", "`delay`"),
        ("low", 'each = { delay = "some" }\nlow', "claim[0].each.delay", "names no set of levels", '"all"'),
        ("low", 'each = { delay = "printed" }\nlow', "claim[0]", "asks for nothing", None),
        (
            "low",
            'effect = { rate = "2Mbit/s" }\nlow',
            "claim[0].effect.rate",
            "is in `at` and in the effect",
            None,
        ),
        ("low", 'effect = { x = "2" }\nlow', "claim[0].effect.x", "no factor and no group `x`", None),
        ("low", "effect = { }\nover = { }\nlow", "claim[0].over", "an effect has a difference", None),
        ("low", 'quantity = "{size}"\nlow', "claim[0].quantity", "nothing to fill in for 'size'", None),
        ("low", 'predicate = "mine"\nlow', "claim[0].predicate", "a function of a study", None),
        (
            '"goodput"',
            '"each"',
            "claim[0].at",
            "has a value for each `class`: which is meant?",
            "add `class =",
        ),
        ('"sweep.toml"', '"sweeps.toml"', "campaign", "sweeps.toml: No such file", "perhop check"),
        ('id = "X"', "id = ", None, "", None),
    ],
)
def test_every_mistake_has_its_place_its_rule_and_a_hint(
    folder: Path, line: str, changed: str, place: str | None, told: str, hint: str | None
) -> None:
    text = HEAD + PLACE + "low = 1.0\n"
    assert line in text
    with pytest.raises(ClaimsError) as caught:
        claims_in(folder, text.replace(line, changed, 1))
    one, *others = caught.value.diagnostics
    assert len(others) == (line == "statement")
    assert f"claims.toml:{one['line']}:{one['column']}" in one["rendered"]
    if place is not None:
        assert one["path"] == place
        assert told in one["rule"]
        assert hint is None or hint in (one["hint"] or "")


def test_all_mistakes_are_told_at_once_from_top_to_bottom(folder: Path) -> None:
    text = f'{HEAD}response = "godput"\nlow = 1\n{HEAD.partition(chr(10))[2]}{PLACE}x = 1\n'
    with pytest.raises(ClaimsError) as caught:
        claims_in(folder, text)
    assert [one["path"] for one in caught.value.diagnostics] == ["claim[1].x"]
    with pytest.raises(ClaimsError) as caught:
        claims_in(
            folder, text.replace("x = 1", "high = 1").replace('"X"', '"Y"', 1).replace("1Mbit", "9Mbit")
        )
    assert [one["path"] for one in caught.value.diagnostics] == ["claim[0].response", "claim[1].at.rate"]


def test_a_second_claim_of_one_name_is_refused(folder: Path) -> None:
    with pytest.raises(ClaimsError, match="a second claim is called `X`"):
        claims_in(folder, f"{HEAD}{PLACE}low = 1\n{HEAD.partition(chr(10))[2]}{PLACE}low = 1\n")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ('file = "print.csv"', "print.csv: No such file"),
        ('column = "mbits"', "printed.csv has no column `mbits`"),
        ('column = "rate"', "line 2: `1Mbit/s` is not a number"),
        ('response = "godput"', "there is no response `godput`"),
        ("unit = 0", "every value would be zero"),
    ],
)
def test_a_printed_table_that_cannot_be_used_is_told(folder: Path, changed: str, told: str) -> None:
    key = changed.partition(" ")[0]
    lines = [changed if line.startswith(key) else line for line in PRINTED.splitlines()]
    with pytest.raises(ClaimsError, match=told):
        claims_in(folder, "\n".join([*lines, PLACE, "low = 1"]))


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("rat,delay,mbit_s\n1Mbit/s,5ms,1\n", r"(?s)column `rat` is no factor and no group of .*`rate`"),
        ("rate,rate,mbit_s\n1Mbit/s,1Mbit/s,1\n", "two columns `rate`"),
        ("rate,delay,mbit_s\n1Mbit/s,5ms,1\n1Mbits,5ms,\n", r"line 3: `rate` has no level `1Mbits`"),
        ("rate,delay,mbit_s\n,5ms,1\n", "line 2: `rate` has no level ``"),
        ("rate,delay,mbit_s\n1Mbit/s,5ms,1\n1Mbit/s,5ms,1\n", "line 3: a second value of `goodput`"),
        ("rate,delay,mbit_s\n1Mbit/s,5ms,nan\n", "line 2: `nan` is not a finite number"),
        ("rate,delay,mbit_s\n1Mbit/s,5ms,1,2\n", "line 2: more cells than columns"),
    ],
)
def test_a_printed_table_says_where_its_values_are(folder: Path, table: str, told: str) -> None:
    (folder / "printed.csv").write_text(table)
    with pytest.raises(ClaimsError, match=told):
        claims_in(folder, PRINTED + PLACE + "low = 1")


def test_a_printed_table_may_have_notes_and_values_of_several_responses(folder: Path) -> None:
    (folder / "printed.csv").write_text("rate,where,mbit_s,each\n1Mbit/s,Table 2,0.9,7\n3Mbit/s,,2,8\n")
    second = '[[published]]\nfile = "printed.csv"\nresponse = "each"\ncolumn = "each"\n[[claim]]'
    _, subject = claims_in(folder, PRINTED.replace("[[claim]]", second) + PLACE + "low = 1")
    # without a column for the delay it is printed for both
    for delay in ("5ms", "10ms"):
        place = {"rate": "3Mbit/s", "delay": delay}
        assert subject.reference("printed", "goodput", place, None) == 2e6
        assert subject.reference("printed", "each", place, None) == 8.0


def test_where_things_stand_in_any_form_of_toml() -> None:
    text = """a.b = 1 # "x = 2"
"q r"='''x]
'''
[[t]]
n = [ # {
  {c = 1, d = "}"}, 2.5,
]
[[t]]
[t.u]
w = 1979-05-27 07:32:00
"""
    file = _core.File(text.encode(), "any.toml")

    def at(*place: str | int) -> tuple[int | None, int | None, str | None]:
        (one,) = file.diagnostics([(list(place), None, "rule", None, False, False)])
        return one["line"], one["column"], one["value"]

    assert at("a", "b") == (1, 7, "1")
    assert at("q r") == (2, 7, "x] ")
    assert at("t", 0, "n", 0, "d") == (6, 15, "}")
    assert at("t", 0, "n", 1) == (6, 21, "2.5")
    assert at("t", 1, "u", "w") == (10, 5, "1979-05-27 07:32:00")
    assert at("t", 1) == (8, 1, "[[t]]")


def test_a_file_of_claims_is_told_from_others() -> None:
    assert is_claims(HEAD.encode())
    assert is_claims(b"[[claim.part]]\n")
    assert not is_claims(CAMPAIGN.encode())
    assert not is_claims(LINE.encode())


def test_the_schema_has_every_key() -> None:
    parts = json.loads(schema())["$defs"]
    assert {"response", "each", "within", "effect"} <= set(parts["Part"]["properties"])
    assert {"id", "statement", "part"} <= set(parts["WrittenClaim"]["properties"])


# what a part asks for


def quantities(folder: Path, text: str) -> list[tuple[str, float, float, str]]:
    claims, subject = claims_in(folder, text)
    words = Words(claims.file.quantities, claims.file.words)
    (claim,) = claims.claims
    return [
        (hypothesis.quantity, hypothesis.low, hypothesis.high, hypothesis.kind)
        for part in claim.parts
        for one in asked(part, subject, words)
        for hypothesis in one.hypotheses
    ]


INF = float("inf")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLACE + "low = 1", [("goodput at 1Mbit/s, 5ms", 1.0, INF, "size")]),
        (
            PLACE + 'less = { rate = "2Mbit/s" }\nbelow = 0',
            [("goodput at 1Mbit/s, 5ms, less that at 2Mbit/s, 5ms", -INF, LOWER, "direction")],
        ),
        (
            PLACE + 'over = { rate = "2Mbit/s" }\nabove = 1\nlow = 2',
            [
                ("goodput at 1Mbit/s, 5ms, over that at 2Mbit/s, 5ms", low, INF, kind)
                for low, kind in ((1 + HIGHER, "direction"), (2.0, "size"))
            ],
        ),
        (
            PLACE.replace('rate = "1Mbit/s", ', "")
            + 'each = { rate = "all" }\nless = { rate = "previous" }\n'
            + 'above = 0\nquantity = "{less rate} to {rate}"',
            [
                ("1Mbit/s to 2Mbit/s", HIGHER, INF, "direction"),
                ("2Mbit/s to 3Mbit/s", HIGHER, INF, "direction"),
            ],
        ),
        (
            'each = { delay = "all", rate = ["1Mbit/s", "3Mbit/s"] }\nresponse = "goodput"\nhigh = 1\n'
            'quantity = "{delay} {rate}"',
            [
                (one, -INF, 1.0, "size")
                for one in ("5ms 1Mbit/s", "5ms 3Mbit/s", "10ms 1Mbit/s", "10ms 3Mbit/s")
            ],
        ),
        (
            PLACE + "per = 1e6\nabout = 1\nwithin = [0.2, '10%']",
            [("goodput at 1Mbit/s, 5ms, over 1e+06", 0.9, 1.1, "size")],
        ),
        (
            PLACE + 'over = { delay = "10ms" }\nwithin = 0.05',
            [("goodput at 1Mbit/s, 5ms, over that at 1Mbit/s, 10ms", 0.95, 1.05, "size")],
        ),
        (
            'response = "goodput"\neffect = { rate = "2Mbit/s", delay = "5ms" }\nabove = 0',
            [("goodput: effect of rate=2Mbit/s delay=5ms", HIGHER, INF, "direction")],
        ),
        (
            'response = "goodput"\neffect = { rate = "2Mbit/s" }\nless = { rate = "1Mbit/s" }\nwithin = 3',
            [("goodput: effect of rate=2Mbit/s less rate=1Mbit/s", -3.0, 3.0, "size")],
        ),
    ],
)
def test_a_part_asks_for(folder: Path, text: str, expected: list[tuple[str, float, float, str]]) -> None:
    assert quantities(folder, HEAD + text) == [pytest.approx(one) for one in expected]


def test_what_parts_have_in_common_stands_in_the_claim(folder: Path) -> None:
    text = 'response = "goodput"\nat = { rate = "1Mbit/s" }\n'
    text += 'part = [{ at = { delay = "5ms" }, low = 1 }, { each = { delay = "all" }, high = 2 }]'
    assert [one[0] for one in quantities(folder, HEAD + text)] == [
        "goodput at 1Mbit/s, 5ms",
        "goodput at 1Mbit/s, 5ms",
        "goodput at 1Mbit/s, 10ms",
    ]


def test_words_of_the_file(folder: Path) -> None:
    own = (
        'words = { goodput = "what arrives", 5ms = "near" }\nquantities = { alone = "{response}: {delay}" }\n'
    )
    assert quantities(folder, own + HEAD + PLACE + "low = 1")[0][0] == "what arrives: near"


def test_printed_values_are_judged_by_and_known_of_every_part(folder: Path) -> None:
    text = PRINTED + 'response = "goodput"\nat = { delay = "5ms" }\neach = { rate = "printed" }\n'
    near = 'part = [{ about = "printed", within = "10%" }, { less = { rate = "1Mbit/s" }, low = 0 }]'
    claims, subject = claims_in(folder, text + near)
    parts = [list(asked(one, subject, Words(claims.file.quantities))) for one in claims.claims[0].parts]
    # nothing is printed for 2 Mbit/s
    assert [one.quantity.at["rate"] for one in parts[0]] == ["1Mbit/s", "3Mbit/s"]
    (first,), (second,) = (one.hypotheses for one in parts[0])
    assert (first.printed, first.low, first.high) == pytest.approx((0.9e6, 0.81e6, 0.99e6))
    assert second.printed == 2e6
    assert [one.hypotheses[0].printed for one in parts[1]] == [0.0, pytest.approx(1.1e6)]
    assert first.stated is None


def test_what_is_said_to_be_alike_is_what_the_paper_states_where_it_prints_nothing(folder: Path) -> None:
    claims, subject = claims_in(folder, HEAD + PLACE + 'over = { delay = "10ms" }\nwithin = 0.05')
    (one,) = asked(claims.claims[0].parts[0], subject, Words(claims.file.quantities))
    assert (one.hypotheses[0].stated, one.hypotheses[0].printed) == (1.0, None)


# judged on numbers


def scalars(value: Callable[[int, int], float], n: int = 10) -> pl.DataFrame:
    """Ten replications of every treatment, whose rate and delay have these places, 0.05 above a value."""
    rows = [
        {
            "key": "",
            "treatment": f"{rate} {delay}",
            "rate": f"{rate + 1}Mbit/s",
            "delay": ("5ms", "10ms")[delay],
            "replication": k,
            "response": "goodput",
            "value": value(rate, delay) + 0.1 * (k % 2),
        }
        for rate in range(3)
        for delay in range(2)
        for k in range(n)
    ]
    return pl.DataFrame(rows)


def judged(folder: Path, text: str, frame: pl.DataFrame) -> list[ClaimPart]:
    (one,) = judge_all(check(folder, HEAD + text), frame)
    assert len(one.units) == len(one.parts)
    return one.parts


def test_parts_are_judged(folder: Path) -> None:
    steps = scalars(lambda rate, _: 1.0 + rate)
    less = PLACE + 'less = { rate = "2Mbit/s" }\n'
    assert judged(folder, less + "below = 0", steps)[0].verdict is Verdict.SUPPORTED
    assert judged(folder, less + "above = 0", steps)[0].verdict is Verdict.CONTRADICTED
    assert judged(folder, PLACE + "low = 1.05", steps)[0].verdict is Verdict.INCONCLUSIVE
    (ratio,) = judged(folder, PLACE + 'over = { rate = "3Mbit/s" }\nlow = 0.3', steps)
    assert ratio.measured is not None
    # (10 + 0.5) / (30 + 0.5), less what the jackknife takes off
    assert ratio.measured.mean == pytest.approx(10.5 / 30.5, abs=1e-3)
    order = (
        PLACE.replace('rate = "1Mbit/s", ', "") + 'each = { rate = "all" }\nless = { rate = "previous" }\n'
    )
    assert [one.verdict for one in judged(folder, order + "above = 0", steps)] == [Verdict.SUPPORTED] * 2
    (few,) = judged(folder, less + "below = 0", scalars(lambda rate, _: 1.0 + rate, 5))
    assert (few.verdict, few.reason) == (Verdict.NOT_JUDGED, "5 replications, 10 are needed")


def test_a_target_divides_both_of_a_difference_and_not_a_ratio_twice(folder: Path) -> None:
    steps = scalars(lambda rate, _: 1.0 + rate)
    for way, expected in (("less", -0.5), ("over", pytest.approx(10.5 / 20.5 / 2, abs=1e-3))):
        (one,) = judged(folder, PLACE + f'{way} = {{ rate = "2Mbit/s" }}\nper = 2\nlow = 0', steps)
        assert one.measured is not None
        assert one.measured.mean == expected


def test_effects_are_what_levels_do_beyond_the_mean(folder: Path) -> None:
    # 0, 1, 2 by rate, and 3 more where the last rate meets the second delay
    frame = scalars(lambda rate, delay: rate + 3.0 * (rate == 2 and delay == 1))

    def effect(levels: str, less: str = "") -> float:
        (one,) = judged(folder, f'response = "goodput"\neffect = {{ {levels} }}\n{less}\nlow = 0', frame)
        assert one.measured is not None
        return one.measured.mean

    # means by rate 0, 1, 3.5; by delay 1, 2
    assert effect('rate = "3Mbit/s"') == pytest.approx(2.0)
    assert effect('delay = "10ms"') == pytest.approx(0.5)
    assert effect('rate = "3Mbit/s", delay = "10ms"') == pytest.approx(5.0 - 1.5 - 2.0 - 0.5)
    assert effect('rate = "3Mbit/s"', 'less = { rate = "1Mbit/s" }') == pytest.approx(3.5)


def test_what_was_not_measured_is_told_and_never_raised(folder: Path) -> None:
    some = scalars(lambda rate, _: 1.0 + rate).filter(pl.col("rate") != "3Mbit/s")
    lacking = PLACE.replace("1Mbit/s", "3Mbit/s") + "low = 1"
    (one,) = judged(folder, lacking, some)
    assert one.verdict is Verdict.NOT_JUDGED
    assert "not measured" in (one.reason or "")


def test_several_values_of_a_replication_are_refused() -> None:
    with pytest.raises(ValueError, match="several values of a replication"):
        Measurements(scalars(lambda *_: 1.0)).values("goodput", rate="1Mbit/s")


def test_a_table_of_means_has_a_row_for_each() -> None:
    rows = list(mean_rows(scalars(lambda rate, _: 1.0 + rate)))
    assert rows[0] == ["rate", "delay", "response", "mean", "from", "to", "n"]
    assert rows[1] == ["1Mbit/s", "5ms", "goodput", "1.05", "1.0123", "1.0877", 10]


def test_a_part_that_cannot_be_asked_says_where() -> None:
    subject = Subject({"rate": {}}, {}, [])
    part = read(Path("c.toml"), HEAD.encode() + b'response = "other"\nlow = 1').claims[0].parts[0]
    with pytest.raises(DesignError, match="there is no response `other`"):
        list(asked(part, subject, Words(read(Path("c.toml"), HEAD.encode()).file.quantities)))


# at the command line


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    (folder / "line.toml").write_text(LINE.format(**PLAIN | {"duration": 2, "warmup": 1}))
    (folder / "sweep.toml").write_text(CAMPAIGN)
    (folder / "claims.toml").write_text(
        HEAD + PLACE + 'less = { rate = "2Mbit/s" }\nbelow = 0\nhigh = -1e5\n'
    )
    return folder


@pytest.fixture(scope="module")
def ran(store: Path) -> Path:
    assert run_cli(["campaign", "run", str(store / "sweep.toml"), "-o", str(store / "store")]) == 0
    return store


def test_claims_are_checked_before_anything_runs(cli: Cli, store: Path) -> None:
    found = cli("check", store / "claims.toml", store / "sweep.toml", "--json").json()["files"]
    assert [(one["kind"], one["ok"]) for one in found] == [("claims", True), ("campaign", True)]
    assert "claims.toml: valid; 1 claim about sweep.toml" in cli("check", store / "claims.toml").out
    (store / "bad.toml").write_text((store / "claims.toml").read_text().replace("5ms", "7ms"))
    done = cli("check", store / "bad.toml")
    assert done.code == ExitCode.INVALID
    assert "claim[0].at.delay: `delay` has no level `7ms`" in done.out
    assert "bad.toml: 1 mistake; claims" in done.out
    own = cli("check", Path(__file__).parents[1] / "papers" / "laatu" / "claims.toml")
    assert "valid; 6 claims of no campaign: what they name is not checked" in own.out
    text = (store / "claims.toml").read_text().replace('campaign = "sweep.toml"\n', "")
    (store / "alone.toml").write_text(text)
    own = cli("check", store / "alone.toml")
    assert "valid; 1 claim of no campaign: what it names is not checked" in own.out
    assert '"WrittenClaim"' in cli("schema", "--claims").out
    assert cli("schema", "--claims", "--campaign").code == ExitCode.USAGE


def test_verdicts_are_printed_with_their_reason_and_no_number_is_cut(cli: Cli, ran: Path) -> None:
    judge = ("analyze", ran / "store", "--claims", ran / "claims.toml")
    done = cli(*judge)
    assert done.code == 0
    assert done.out.startswith(
        "X not judged: Something arrives.\n  not judged    goodput at 1Mbit/s, 5ms, less"
    )
    assert "; claimed less than 0; 2 replications, 10 are needed\n" in done.out
    assert "; claimed at most -100\N{NO-BREAK SPACE}kbit/s; 2 replications, 10 are needed\n" in done.out
    narrow = [line for part in done.out.splitlines() for line in _folded(part, 40)]
    assert max(map(len, narrow)) <= 40
    # no number is parted from its unit
    assert "\n".join(narrow).count("\N{NO-BREAK SPACE}kbit/s") == 3


def test_verdicts_are_json_and_csv(cli: Cli, ran: Path, tmp_path: Path) -> None:
    judge = ("analyze", ran / "store", "--claims", ran / "claims.toml")
    (claim,) = cli(*judge, "--json").json()["claims"]
    assert (claim["id"], claim["verdict"]) == ("X", "not judged")
    assert claim["reason"] == "2 replications, 10 are needed"
    assert [part["kind"] for part in claim["parts"]] == ["direction", "size"]
    assert cli(*judge, "-o", tmp_path / "claims.json").code == 0
    assert json.loads((tmp_path / "claims.json").read_text())["claims"] == [claim]
    first, second, *_ = cli(*judge, "--csv").out.splitlines()
    assert first == "claim,verdict,quantity,low,high,mean,from,to,n,part,reason"
    assert second.startswith('X,not judged,"goodput at 1Mbit/s, 5ms, less that at 2Mbit/s, 5ms",,0,-')
    assert second.endswith(',2,not judged,"2 replications, 10 are needed"')
    assert cli("analyze", ran / "store", "--csv").out.startswith("rate,delay,response,class,mean,from,to,n\n")
    for beside in (("--pairs",), ("--level", "0.9"), ("--response", "goodput"), ("--keep", "rate")):
        done = cli(*judge, *beside)
        assert (done.code, f"--claims does not go with {beside[0]}" in done.err) == (ExitCode.USAGE, True)
    assert cli("analyze", ran / "store", "--csv", "--response", "goodput").code == ExitCode.USAGE
    assert "the option is given twice" in cli(*judge, "--claims", ran / "claims.toml").err
    done = cli(*judge, "--csv", "--json")
    assert (done.code, "--csv does not go with --json" in done.err) == (ExitCode.USAGE, True)


def test_small_numbers_keep_their_digits(folder: Path) -> None:
    small = scalars(lambda rate, _: 1.0 + rate).with_columns(pl.col("value") * 1.23456789e-7)
    (one,) = judge_all(check(folder, HEAD + PLACE + "above = 0\nlow = 1.5e-7"), small)
    assert [part[3:6] for part in rows([one])] == [("0", "", "1.296e-07"), ("1.5e-07", "", "1.296e-07")]
    text = "\n".join(str(part) for part in of_claims([one._replace(units=["1", "1"])]))
    assert "5ms: 1.296e-07 (1.25e-07 to 1.343e-07, 10 replications); claimed more than 0" in text
    assert "claimed at least 1.5e-07" in text
    first, second = (as_measured(part) for part in one.parts)
    assert (first["claimed"], second["claimed"]) == ([0.0, None], [1.5e-7, None])
    assert first["mean"] == pytest.approx(1.05 * 1.23456789e-7, rel=1e-12)


def test_claims_of_another_campaign_are_refused(cli: Cli, ran: Path) -> None:
    other = ran / "other.toml"
    other.write_text(CAMPAIGN.replace("3Mbit/s", "4Mbit/s"))
    (ran / "others.toml").write_text((ran / "claims.toml").read_text().replace("sweep.toml", "other.toml"))
    done = cli("analyze", ran / "store", "--claims", ran / "others.toml")
    assert done.code == ExitCode.INVALID
    assert "other.toml has other treatments or responses than the store" in done.err
    assert "git checkout" not in done.err
    for changed, told in (
        (
            CAMPAIGN.replace("\nrepl", '\nset = ["run.duration=1.5s"]\nrepl', 1),
            "another scenario or other settings",
        ),
        (CAMPAIGN.replace("\nrepl", '\nset = ["run.seed=77"]\nrepl', 1), "another seed"),
    ):
        other.write_text(changed)
        done = cli("analyze", ran / "store", "--claims", ran / "others.toml")
        assert (done.code, f"other.toml has {told}" in done.err) == (ExitCode.INVALID, True), done.err
    # more runs of the same
    other.write_text(CAMPAIGN.replace("replications = 2", "replications = 3"))
    assert cli("analyze", ran / "store", "--claims", ran / "others.toml").code == 0
    assert cli("analyze", ran / "store", "--claims", ran / "none.toml").code == ExitCode.USAGE
