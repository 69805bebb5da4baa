"""Files of claims: what may stand in them, and mistakes with their places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claims_made import CAMPAIGN, HEAD, PLACE, PRINTED, claims_in, laid
from perhop import _core
from perhop.experiment.kinds import is_claims
from perhop.judge.grammar import ClaimsError, schema
from perhop.judge.quantity import Words, quantity_claims
from test_models_estimate import LINE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return laid(tmp_path)


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
        ('"sweep.toml"', '"sweeps.toml"', "campaign", "sweeps.toml: No such file", "the path begins"),
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


def test_a_group_is_known_where_names_are(folder: Path) -> None:
    campaign = CAMPAIGN.replace("by class", "by name")
    (folder / "sweep.toml").write_text(campaign)
    place = 'response = "each"\nat = {{ rate = "1Mbit/s", delay = "5ms", name = "{}" }}\nlow = 1.0\n'
    assert claims_in(folder, HEAD + place.format("f"))[1].responses["each"] == {"name": ["f"]}
    with pytest.raises(ClaimsError, match="`name` has no value `ff`"):
        claims_in(folder, HEAD + place.format("ff"))
    # transfers have names of their own in each run
    line = (folder / "line.toml").read_text()
    arrivals = 'arrivals = { mean_interval = "1s", size = { kind = "fixed", size = "10kB" } }'
    (folder / "line.toml").write_text(line.replace('name = "f"', f'name = "f"\n{arrivals}'))
    assert claims_in(folder, HEAD + place.format("f[7]"))[1].responses["each"] == {"name": None}


def test_an_effect_says_where_it_is(folder: Path) -> None:
    text = 'response = "goodput"\nat = { delay = "5ms" }\neffect = { rate = "1Mbit/s" }\nbelow = 0\n'
    claims, subject = claims_in(folder, HEAD + text)
    ((part,),) = (claim.parts for claim in claims.claims)
    (one,) = quantity_claims(part, subject, Words(claims.file.quantities, claims.file.words))
    assert one.hypotheses[0].quantity == "goodput at 5ms: effect of rate=1Mbit/s"
