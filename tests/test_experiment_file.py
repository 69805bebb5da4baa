"""Campaign files: what they mean, and every mistake in them with its place."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Cli
from perhop import Campaign, ScenarioError
from perhop.cli.exit import ExitCode
from perhop.experiment.definition import CampaignError, read
from perhop.experiment.factors import Level
from perhop.experiment.rules import Stop, name_of

STARTERS = Path(__file__).parents[1] / "python/perhop/starters"

FILE = """\
scenario = "two-way.toml"
set = ["run.duration=20s"]
replications = 4
seeds = "independent"
order_seed = 7

[[factor]]
name = "window"
levels = { small = ["flow.up.tcp.window=16KiB", "flow.up.tcp.mss=1kB"], large = [], one = "run.warmup=1s" }

[[factor]]
name = "share"
path = "port.slow-fast.scheduler.share"
levels = [0.25, 0.5]

[[exclude]]
window = ["large", "one"]
share = "0.5"

[[response]]
name = "goodput"
measure = 'mean(flows.goodput_bit_s where class = "default") by name'

[[response]]
name = "megabytes"
measure = "sum(links.bytes) / 1e6"
unit = "MB"

[stop]
response = "goodput"
half_width = "2.5%"
most = 40
"""

Place = Callable[..., Path]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Write a campaign beside its scenario, with something replaced."""

    def write(*replaced: tuple[str, str], text: str = FILE) -> Path:
        (tmp_path / "two-way.toml").write_text((STARTERS / "two-way" / "two-way.toml").read_text())
        for before, after in replaced:
            assert before in text
            text = text.replace(before, after)
        file = tmp_path / "lab.toml"
        file.write_text(text)
        return file

    return write


def test_a_file_is_a_campaign(place: Place):
    campaign = Campaign.load(place())
    design = campaign.design
    assert campaign.name == "lab"
    assert campaign.source == FILE.encode()
    assert campaign.scenario.overrides == ("run.duration=20s",)
    assert design.factors[0].levels[2] == Level("one", ("run.warmup=1s",))
    assert [one.levels for one in design.treatments] == [
        ("small", "0.25"),
        ("small", "0.5"),
        ("large", "0.25"),
        ("one", "0.25"),
    ]
    assert (design.replications, design.seeds, design.order_seed) == (4, "independent", 7)
    assert [(one.name, one.by, one.unit) for one in campaign.responses] == [
        ("goodput", ("name",), "bit/s"),
        ("megabytes", (), "MB"),
    ]
    assert campaign.stop == Stop("goodput", 0.025, True, 40)
    assert pickle.loads(pickle.dumps(campaign)) == campaign


QUEUES = """\
scenario = "two-way.toml"
[[factor]]
name = "queue"
path = "port.slow-fast.class.data.queue"
levels = @@
[[response]]
name = "goodput"
measure = "sum(flows.goodput_bit_s)"
"""
FIFO = '{ kind = "fifo", limit = "9p" }'
RED = '{ kind = "red", limit = "9p", min_th = "2p", max_th = "6p", max_p = 0.1 }'


@pytest.mark.parametrize(
    ("levels", "names"),
    [
        (f"[{FIFO}, {RED}]", ["fifo", "red"]),
        (f"['{FIFO}', '{RED}']", ["fifo", "red"]),
        (f"{{ short = {FIFO}, early = {RED} }}", ["short", "early"]),
    ],
)
def test_a_level_may_be_a_table(place: Place, levels: str, names: list[str]):
    campaign = Campaign.load(place(("@@", levels), text=QUEUES))
    assert [one.name for one in campaign.design.factors[0].levels] == names
    queues = [
        campaign.scenario.override(*one.overrides).describe().links[0].port.classes
        for one in campaign.design.treatments
    ]
    assert queues[0] != queues[1]


def test_a_mistake_in_a_table_of_a_level_is_told_there(place: Place):
    with pytest.raises(ScenarioError, match=r"`red` needs min_th") as caught:
        Campaign.load(place(("@@", f"[{FIFO}, {RED.replace('min_th', 'min_ht')}]"), text=QUEUES))
    assert caught.value.diagnostics[0]["line"] == 5


def test_listed_treatments(place: Place):
    listed = '[[treatment]]\nwindow = "one"\nshare = "0.5"\n[[treatment]]\nshare = "0.25"\nwindow = "small"\n'
    text = FILE[: FILE.index("[[exclude]]")] + listed + FILE[FILE.index("[[response]]") :]
    design = Campaign.load(place(text=text)).design
    assert [one.levels for one in design.treatments] == [("one", "0.5"), ("small", "0.25")]


def test_ranges(place: Place):
    varied = 'name = "share"\npath = "port.slow-fast.scheduler.share"\nfrom = 0.1\nto = 0.7\n'
    text = f"points = 3\n{FILE[: FILE.index('[[factor]]')]}[[range]]\n{varied}"
    design = Campaign.load(place(text=text + FILE[FILE.index("[[response]]") :])).design
    assert sorted(int((float(one.levels[0]) - 0.1) / 0.2) for one in design.treatments) == [0, 1, 2]
    assert design.treatments[0].overrides == (
        f"port.slow-fast.scheduler.share={design.treatments[0].levels[0]}",
    )


def test_a_fraction(place: Place):
    factors = "".join(
        f'[[factor]]\nname = "{name}"\npath = "flow.{flow}.{key}"\nlevels = {levels}\n'
        for name, flow, key, levels in (
            ("A", "up", "tcp.window", ["16KiB", "32KiB"]),
            ("B", "down", "tcp.window", ["16KiB", "32KiB"]),
            ("C", "up", "start", ["0s", "1s"]),
        )
    )
    text = 'fraction = ["C=AB"]\nscenario = "two-way.toml"\n' + factors + FILE[FILE.index("[[response]]") :]
    design = Campaign.load(place(text=text)).design
    assert len(design.treatments) == 4
    assert design.fraction is not None
    assert design.fraction.resolution == 3


@pytest.mark.parametrize(
    ("before", "after", "path", "rule", "marked"),
    [
        ("replications", "replication", "replication", "there is no setting `replication`", "replication"),
        ('"independent"', '"comon"', "seeds", '`comon` is not one of "common"', '"comon"'),
        ('"two-way.toml"', '"three-way.toml"', "scenario", "No such file", '"three-way.toml"'),
        ("run.duration=20s", "run.duraton=20s", "set[0]", "no setting `duraton`", '"run.duraton=20s"'),
        (
            "up.tcp.window=16",
            "up.tcp.windw=16",
            "factor.window.levels.small[0]",
            "window=small: flow.up",
            '"flow.up.tcp.windw=16KiB"',
        ),
        ("0.25,", "2.5,", "factor.share.levels[0]", "share=2.5: port.slow-fast.scheduler.share", "2.5"),
        ("[0.25, 0.5]", "[]", "factor.share.levels", "`share` has no levels", "[]"),
        (
            'path = "port.slow-fast.scheduler.share"',
            "",
            "factor.share.levels",
            "needs to know what they are",
            "[0.25, 0.5]",
        ),
        ('name = "share"', 'name = "seed"', "factor.seed.name", "`seed` is a column", '"seed"'),
        ('share = "0.5"', 'share = "0.6"', "exclude[0].share", "`share` has no level `0.6`", '"0.6"'),
        ('share = "0.5"', 'shar = "0.5"', "exclude[0].shar", "no factor `shar`", "shar ="),
        ("one = ", "two = ", "exclude[0].window", "`window` has no level `one`", '["large", "one"]'),
        ("goodput_bit_s", "goodput", "response.goodput.measure", "no column `goodput`", "goodput"),
        ("where class", "wehre class", "response.goodput.measure", "not `wehre`", "wehre"),
        ('"megabytes"', '"goodput"', "response.goodput.name", "a second response", '"goodput"'),
        ('response = "goodput"', 'response = "godput"', "stop.response", "no response `godput`", '"godput"'),
        ('"2.5%"', '"wide"', "stop.half_width", "`wide` is not a half-width", '"wide"'),
        ("most = 40", "most = 3", "stop.most", "3 is below `replications`", "3"),
        (
            "[[exclude]]",
            '[[treatment]]\nwindow = "one"\n[[exclude]]',
            "exclude",
            "do not go together",
            "",
        ),
        ("order_seed = 7", "points = 7", "points", "`points` are those of ranges", "7"),
    ],
)
def test_a_mistake_is_told_with_its_place(
    place: Place, before: str, after: str, path: str, rule: str, marked: str
):
    file = place((before, after))
    campaign, mistakes, _ = read(file)
    assert campaign is None
    one = next(one for one in mistakes if one["path"] == path)
    assert rule in one["rule"]
    assert one["line"] is not None
    assert one["column"] is not None
    line = file.read_text().splitlines()[one["line"] - 1]
    assert line[one["column"] - 1 :].startswith(marked)
    assert f"lab.toml:{one['line']}:{one['column']}" in one["rendered"]
    with pytest.raises(CampaignError) as caught:
        Campaign.load(file)
    assert caught.value.diagnostics == mistakes
    assert isinstance(caught.value, ScenarioError)


def test_all_mistakes_are_told_at_once_from_top_to_bottom(place: Place):
    file = place(("duration=20s", "duration=20"), ("16KiB", "16"), ("goodput_bit_s", "gp"), ('"2.5%"', '"x"'))
    mistakes = read(file).mistakes
    assert [one["path"] for one in mistakes] == ["set[0]", "response.goodput.measure", "stop.half_width"]
    mistakes = read(place(("16KiB", "16"), ("1kB", "1"), ("goodput_bit_s", "gp"), ('"2.5%"', '"x"'))).mistakes
    assert [one["path"] for one in mistakes] == [
        "factor.window.levels.small[0]",
        "factor.window.levels.small[1]",
        "response.goodput.measure",
        "stop.half_width",
    ]


def test_mistakes_of_the_scenario_are_its_own(place: Place):
    file = place()
    scenario = file.with_name("two-way.toml")
    scenario.write_text(scenario.read_text().replace('"100kbit/s"', '"100"'))
    [mistake] = read(file).mistakes
    assert "two-way.toml:" in mistake["rendered"]


def test_a_mistake_of_the_scenario_may_be_mended_for_all_runs(place: Place):
    file = place(("run.duration=20s", "run.duration=21s"))
    scenario = file.with_name("two-way.toml")
    scenario.write_text(scenario.read_text().replace('duration = "60s"', 'duration = "soon"'))
    assert read(file).mistakes == []


def test_what_a_factor_writes_again_is_a_warning(place: Place):
    # all levels of `share` set what `set` does; one level of `window` may well differ from it
    file = place(('"run.duration=20s"', '"run.warmup=2s", "port.slow-fast.scheduler.share=0.4"'))
    [warning] = read(file).warnings
    assert warning["rule"] == (
        "`share` sets port.slow-fast.scheduler.share in all its levels, "
        "so that `port.slow-fast.scheduler.share=0.4` does nothing"
    )
    assert warning["path"] == "set[1]"
    file = place(('one = "run.warmup=1s"', 'one = "port.slow-fast.scheduler.share=0.4"'))
    rule = "`window` and `share` both set port.slow-fast.scheduler.share"
    [first] = [one for one in read(file).warnings if one["rule"] == rule]
    assert first["path"] == "factor.share.levels"


def test_a_campaign_is_called_by_its_file_or_by_its_folder(tmp_path: Path):
    assert name_of(tmp_path / "rates.toml") == "rates"
    assert name_of(tmp_path / "lab" / "campaign.toml") == "lab"
    assert name_of(Path("campaign.toml")) == Path.cwd().name


def test_words_that_no_flow_has_are_a_warning(place: Place):
    file = place(('"default"', '"defautl"'))
    campaign, mistakes, warnings = read(file)
    assert campaign is not None
    assert mistakes == []
    [warning] = warnings
    assert warning["rule"] == 'no row of `flows` will have class "defautl"'
    assert warning["hint"] == "did you mean `default`?"
    assert warning["value"] == "defautl"


def test_a_level_may_make_the_words(place: Place):
    labelled = ("large = []", 'large = ["flow.up.labels.path=\\"long\\"", "flow.up.class=bulk"]')
    file = place(labelled, ('class = "default"', 'class = "bulk" and path = "long"'))
    assert read(file)[1:] == ([], [])
    file = place(('class = "default"', 'class = "bulk" and path = "long"'))
    [mistake] = read(file).mistakes
    assert "`flows` has no column `path`" in mistake["rule"]


@pytest.mark.parametrize("pack", ["two-way", "diffserv", "access"])
def test_the_starters_are_valid_without_warnings(pack: str):
    campaign, mistakes, warnings = read(STARTERS / pack / "campaign.toml")
    assert (mistakes, warnings) == ([], [])
    assert campaign is not None
    assert len(campaign.design.treatments) == 8


@pytest.mark.parametrize("pack", ["two-way", "diffserv", "access"])
def test_replications_of_the_starters_differ(pack: str):
    campaign = Campaign.load(STARTERS / pack / "campaign.toml")
    runs = campaign.design.runs(campaign.scenario)
    one = runs.filter(runs["treatment"] == runs["treatment"][0])
    found = [campaign.scenario.override(*row).run() for row in one["overrides"]]
    for response in campaign.responses:
        assert len({tuple(response.evaluate(result).values()) for result in found}) > 1


def test_check_tells_campaigns_from_scenarios(cli: Cli, place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(place().parent)
    done = cli("check", "lab.toml", "two-way.toml")
    assert done.code == 0
    assert done.out.splitlines() == [
        "lab.toml: valid; campaign: 4 treatments (window 3 x share 2) x 4 = 16 runs; goodput, megabytes",
        "two-way.toml: valid",
    ]
    found = cli("check", "lab.toml", "two-way.toml", "--json").json()["files"]
    assert [one["kind"] for one in found] == ["campaign", "scenario"]
    done = cli("check", "lab.toml", "-s", "run.duraton=3s")
    assert done.code == ExitCode.INVALID
    assert "run.duraton" in done.out
    Path("two-way.toml").unlink()
    assert cli("check", "lab.toml").code == ExitCode.INVALID


def test_schema_of_campaigns_is_printed(cli: Cli):
    schema = json.loads(cli("schema", "--campaign").out)
    assert set(schema["properties"]) >= {"scenario", "factor", "response", "stop"}
