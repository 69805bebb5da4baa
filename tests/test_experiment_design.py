"""Laws of designs: balance, orthogonality, seeds, keys and orders of runs."""

import itertools
import math
import pickle
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from perhop import Scenario
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor, Level
from perhop.experiment.fault import DesignError
from perhop.experiment.fractions import Range
from perhop.scenario.scenario import KEPT_SINCE

STARTER = Path(__file__).parents[1] / "python/perhop/starters/two-way/two-way.toml"
WINDOW = Factor(
    "W", (Level("small", ("flow.up.tcp.window=16KiB",)), Level("big", ("flow.up.tcp.window=64KiB",)))
)
LIMIT = Factor.vary("port.slow-fast.class.data.queue.limit", ["20p", "40p", "60p"], "L")


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.load(STARTER)


def two_levels(names: str) -> list[Factor]:
    return [Factor(name, (Level("-"), Level("+"))) for name in names]


def test_full_design_has_every_combination_once_last_factor_fastest():
    design = Design.full([WINDOW, LIMIT])
    assert [one.levels for one in design.treatments] == list(
        itertools.product(("small", "big"), ("20p", "40p", "60p"))
    )
    assert design.treatments[1].name == "W=small L=40p"
    assert design.treatments[1].overrides == (
        "flow.up.tcp.window=16KiB",
        "port.slow-fast.class.data.queue.limit=40p",
    )


def test_excluded_combinations_are_left_out():
    design = Design.full([WINDOW, LIMIT], exclude=[{"W": "small", "L": ["40p", "60p"]}])
    assert [one.levels for one in design.treatments] == [
        ("small", "20p"),
        ("big", "20p"),
        ("big", "40p"),
        ("big", "60p"),
    ]


def test_runs_are_a_frame_with_a_row_for_each_run(scenario: Scenario):
    runs = Design.full([WINDOW, LIMIT], replications=3).runs(scenario)
    assert runs.schema == {
        "key": pl.String,
        "treatment": pl.String,
        "W": pl.String,
        "L": pl.String,
        "replication": pl.Int64,
        "seed": pl.UInt64,
        "overrides": pl.List(pl.String),
        "order": pl.Int64,
    }
    assert runs.height == 18
    assert runs["key"].n_unique() == 18
    assert runs["order"].to_list() == list(range(18))
    counts = runs.group_by("W", "L").len()
    assert counts.height == 6
    assert set(counts["len"]) == {3}


def test_key_is_that_of_the_scenario_with_the_overrides_of_the_run(scenario: Scenario):
    row = Design.full([WINDOW], replications=2, seeds="independent").runs(scenario).row(3, named=True)
    run = scenario.override(*row["overrides"])
    assert (run.seed, run.replication) == (row["seed"], row["replication"])
    assert run.key().hex() == row["key"]


def test_common_seeds_are_shared_and_independent_ones_are_not(scenario: Scenario):
    common = Design.full([WINDOW, LIMIT], replications=3).runs(scenario)
    assert set(common["seed"]) == {scenario.seed}
    own = Design.full([WINDOW, LIMIT], replications=3, seeds="independent").runs(scenario)
    assert own["seed"].n_unique() == 18
    again = Design.full([WINDOW, LIMIT], replications=3, seeds="independent", order_seed=2).runs(scenario)
    assert dict(zip(own["key"], own["seed"], strict=True)) == dict(
        zip(again["key"], again["seed"], strict=True)
    )


def test_order_is_shuffled_by_its_seed_within_each_replication(scenario: Scenario):
    def order(seed: int, replications: int) -> list[str]:
        return (
            Design.full([WINDOW, LIMIT], replications=replications, order_seed=seed)
            .runs(scenario)["treatment"]
            .to_list()
        )

    assert order(1, 3) == order(1, 3)
    assert order(1, 3) != order(2, 3)
    assert order(1, 3)[:6] != order(1, 3)[6:12]
    assert order(1, 3)[:12] == order(1, 2), "further replications leave the order of the earlier ones"
    assert [Counter(order(1, 3)[i : i + 6]).most_common(1)[0][1] for i in (0, 6, 12)] == [1, 1, 1]
    # the same on every machine and in every version of NumPy
    assert order(1, 1) == [
        "W=small L=60p",
        "W=big L=40p",
        "W=big L=60p",
        "W=small L=20p",
        "W=big L=20p",
        "W=small L=40p",
    ]


def test_runs_of_further_replications_are_those_of_a_larger_design(scenario: Scenario):
    design = Design.full([WINDOW, LIMIT], replications=2)
    more = Design.full([WINDOW, LIMIT], replications=5).runs(scenario).filter(pl.col("replication") >= 2)
    assert design.runs(scenario, range(2, 5)).equals(more)


@pytest.mark.parametrize(
    ("names", "generators", "resolution", "words"),
    # Box, Hunter and Hunter, Statistics for Experimenters, table 6.22
    [
        ("ABC", ["C=AB"], 3, {"ABC"}),
        ("ABCD", ["D=ABC"], 4, {"ABCD"}),
        ("ABCDE", ["E=ABCD"], 5, {"ABCDE"}),
        ("ABCDE", ["D=AB", "E=AC"], 3, {"ABD", "ACE", "BCDE"}),
        ("ABCDEF", ["E=ABC", "F=BCD"], 4, {"ABCE", "BCDF", "ADEF"}),
        ("ABCDEF", ["D=AB", "E=AC", "F=BC"], 3, {"ABD", "ACE", "BCF", "BCDE", "ACDF", "ABEF", "DEF"}),
        ("ABCDEFG", ["F=ABCD", "G=ABDE"], 4, {"ABCDF", "ABDEG", "CEFG"}),
    ],
)
def test_fractions_have_the_resolution_and_relation_of_the_textbook(
    names: str, generators: list[str], resolution: int, words: set[str]
):
    fraction = Design.fractional(two_levels(names), generators).fraction
    assert fraction is not None
    assert fraction.resolution == resolution
    assert {fraction.written(word) for word in fraction.relation()} == words


def test_saturated_fraction_of_seven_factors():
    fraction = Design.fractional(two_levels("ABCDEFG"), ["D=AB", "E=AC", "F=BC", "G=ABC"]).fraction
    assert fraction is not None
    assert Counter(map(len, fraction.relation())) == {3: 7, 4: 7, 7: 1}
    assert {fraction.written(w) for w in fraction.aliases()[frozenset("A")]} == {"BD", "CE", "FG"}


@pytest.mark.parametrize("generators", [["D=AB", "E=AC"], ["D=-AB", "E=ABC"], []])
def test_fractions_are_balanced_orthogonal_and_obey_their_relation(generators: list[str]):
    factors = two_levels("ABCDE")
    design = Design.fractional(factors, generators)
    assert len(design.treatments) == 2 ** (5 - len(generators))
    signs = [[1 if level == "+" else -1 for level in one.levels] for one in design.treatments]
    for i in range(5):
        assert sum(row[i] for row in signs) == 0
        for j in range(i):
            assert sum(row[i] * row[j] for row in signs) == 0
    assert design.fraction is not None
    for word, sign in design.fraction.relation().items():
        places = ["ABCDE".index(name) for name in word]
        assert {math.prod(row[i] for i in places) for row in signs} == {sign}


def test_fraction_tells_its_aliases():
    fraction = Design.fractional(two_levels("ABCD"), ["D=-ABC"]).fraction
    assert str(fraction) == (
        "2^(4-1), resolution IV, I = -ABCD; not told apart: "
        "AB = -CD, AC = -BD, AD = -BC, BC = -AD, BD = -AC, CD = -AB"
    )


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_hypercube_has_one_point_in_each_slice(scale: str):
    ranges = [Range("a", "x.a", "1Mbit/s", "16Mbit/s", scale), Range("b", "x.b", "10ms", "2s", scale)]
    design = Design.latin_hypercube(ranges, 40)
    for i, (low, high, unit) in enumerate([(1, 16, "Mbit/s"), (10, 2000, "ms")]):
        values = [float(one.levels[i].removesuffix(unit)) for one in design.treatments]
        if scale == "log":
            part = [math.log(value / low) / math.log(high / low) for value in values]
        else:
            part = [(value - low) / (high - low) for value in values]
        assert sorted(math.floor(one * 40) for one in part) == list(range(40))
    assert design.treatments[0].overrides[0].startswith("x.a=")
    assert design == Design.latin_hypercube(ranges, 40)
    assert design != Design.latin_hypercube(ranges, 40, order_seed=2)


@pytest.mark.parametrize(
    ("path", "low", "high"),
    [
        ("link.slow-fast.rate", "20kbit/s", "0.0001Gbit/s"),
        ("link.slow-fast.rate.slow->fast", "1KiB/s", "1MB/s"),
        ("link.slow-fast.delay", "0.001ms", "50ms"),
        ("run.warmup", "1s", "1500ms"),
        ("port.slow-fast.class.data.queue.limit", "1.5KiB", "64kB"),
        ("port.slow-fast.class.data.queue.limit", "10p", "9000p"),
        ("port.slow-fast.scheduler.share", "0.1", "0.9"),
    ],
)
def test_points_of_a_hypercube_are_quantities_that_scenarios_take(
    scenario: Scenario, path: str, low: str, high: str
):
    design = Design.latin_hypercube([Range("x", path, low, high, "log")], 25)
    assert design.check(scenario).mistakes == []


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_hypercube_over_whole_numbers_is_even(scale: str):
    ranges = [Range("count", "x.n", "2p", "5p", scale), Range("x", "y.x", "0", "1.0")]
    design = Design.latin_hypercube(ranges, 400)
    counts = Counter(one.levels[0] for one in design.treatments)
    assert set(counts) == {"2p", "3p", "4p", "5p"}
    if scale == "linear":
        assert set(counts.values()) == {100}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Design.full([]), "nothing is varied"),
        (lambda: Design.full([Factor("seed", (Level("a"),))]), "`seed` is a column"),
        (lambda: Design.full([WINDOW, WINDOW]), "a second factor is called `W`"),
        (lambda: Design.full([Factor("x", ())]), "`x` has no levels"),
        (lambda: Design.full([Factor.vary("a.b", [1, 1])]), "the level `1` twice"),
        (lambda: Design.full([WINDOW], exclude=[{"V": "big"}]), "no factor `V`"),
        (lambda: Design.full([WINDOW], exclude=[{"W": "bigg"}]), "did you mean `big`?"),
        (lambda: Design.full([WINDOW], exclude=[{"W": ["big", "small"]}]), "every combination"),
        (lambda: Design.full([Factor.vary(f"p{i}", range(10)) for i in range(6)]), "1000000 combinations"),
        (lambda: Design.listed([WINDOW, LIMIT], [{"W": "big"}]), "no level of L"),
        (lambda: Design.listed([WINDOW], [{"W": "big"}, {"W": "big"}]), "listed already, as number 1"),
        (lambda: Design.listed([WINDOW], []), "there is no treatment"),
        (lambda: Design.fractional([LIMIT], []), "3 levels, not two"),
        (lambda: Design.fractional(two_levels("ABC"), ["C"]), "not a generator"),
        (lambda: Design.fractional(two_levels("ABC"), ["C=AX"]), "no factor `X`"),
        (lambda: Design.fractional(two_levels("ABC"), ["C=AC"]), "has a factor twice"),
        (lambda: Design.fractional(two_levels("ABCD"), ["C=AB", "D=AC"]), "has a generator itself"),
        (lambda: Design.fractional(two_levels("ABC"), ["C=AB", "C=A"]), "two generators"),
        (lambda: Design.latin_hypercube([Range("a", "x", "1s", "1kB")], 4), "units of two kinds"),
        (lambda: Design.latin_hypercube([Range("a", "x", "2s", "1s")], 4), "the second must be larger"),
        (lambda: Design.latin_hypercube([Range("a", "x", "0s", "1s", "log")], 4), "begins above zero"),
        (lambda: Design.latin_hypercube([Range("a", "x", "1p", "3p")], 4), "only 3 of 4 points"),
        (lambda: Design.latin_hypercube([Range("a", "x", "fast", "1s")], 4), "not a number"),
    ],
)
def test_mistakes_in_a_design_are_told(make, told: str):
    with pytest.raises(DesignError, match=told.replace("?", r"\?")) as caught:
        make()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_wrong_override_names_factor_and_level(scenario: Scenario):
    wrong = Factor("Q", (Level("good"), Level("bad", ("flow.up.tcp.windw=16KiB",))))
    [fault] = Design.full([wrong, LIMIT]).check(scenario).mistakes
    assert fault.at == ("factor", 0, "levels", "bad", 0)
    assert str(fault).startswith("Q=bad: flow.up.tcp.windw: there is no setting `windw` here\n")
    assert str(fault).count("did you mean `window`?") == 1
    assert "-s flow.up.tcp.windw=16KiB" in fault.shown


def test_mistake_of_a_combination_names_the_treatment(scenario: Scenario):
    start = Factor.vary("run.warmup", ["1s", "50s"], "warmup")
    end = Factor.vary("run.duration", ["60s", "40s"], "duration")
    [fault] = Design.full([start, end]).check(scenario).mistakes
    assert "treatment warmup=50s duration=40s: " in str(fault)


def test_level_must_not_set_the_seed(scenario: Scenario):
    [fault] = Design.full([Factor.vary("run.seed", [1, 2], "s")]).check(scenario).mistakes[:1]
    assert "sets run.seed" in fault.rule


def test_factors_are_not_called_as_sources_of_variation():
    for name in ("error", "total", "blocks"):
        with pytest.raises(DesignError, match=f"`{name}` is a source of variation that every analysis has"):
            Design.full([Factor.vary("link.slow-fast.rate", ["1Mbit/s", "2Mbit/s"], name)])


def test_treatments_that_are_one_scenario_are_told(scenario: Scenario):
    same = Factor(
        "S", (Level("64", ("flow.up.tcp.window=65536B",)), Level("KiB", ("flow.up.tcp.window=64KiB",)))
    )
    found = Design.full([same]).check(scenario)
    assert found.mistakes == []
    assert [one.rule for one in found.warnings] == [
        "S=64 and S=KiB are the same scenario: they share their runs"
    ]


def test_a_level_that_stands_alone_may_write_what_another_factor_does(scenario: Scenario):
    rate = Factor.vary("link.slow-fast.rate", ["1Mbit/s", "2Mbit/s"], "rate")
    arm = Factor("arm", (Level("as it is"), Level("slow", ("link.slow-fast.rate=50kbit/s",))))
    both = "`rate` and `arm` both set link.slow-fast.rate"
    assert both in [one.rule for one in Design.full([rate, arm]).check(scenario).warnings]
    alone = Design.full([rate, arm], exclude=[{"rate": "2Mbit/s", "arm": "slow"}])
    assert alone.check(scenario).warnings == []


def test_a_run_is_known_by_the_results_version_that_last_changed_what_it_gives(scenario: Scenario) -> None:
    assert scenario.key().results_since == KEPT_SINCE
    prague = scenario.override("flow.up.tcp.cc=prague", "flow.up.tcp.ecn=ect1")
    assert prague.key().results_since == prague.core.results_since == 11
