"""What `perhop describe` says of a scenario."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Cli
from perhop import _core
from perhop.scenario.defaults import parted
from perhop.scenario.scenario import Scenario, SchedulerView


def test_describe(cli: Cli, two_way: Path) -> None:
    meaning = cli("describe", two_way, "--seed", "5", "--until", "30s", "--json").json()
    assert meaning["run"] == {
        "seed": 5,
        "replication": 0,
        "duration_s": 30.0,
        "warmup_s": 5.0,
        "interval_s": 1.0,
        "processing_jitter_s": 0.0,
    }
    assert [(link["name"], link["rate_bit_s"]) for link in meaning["links"]] == [
        ("slow->fast", 1e5),
        ("fast->slow", 5e6),
    ]
    assert [flow["name"] for flow in meaning["flows"]] == ["up", "down"]
    text = cli("describe", two_way).out
    assert "port.slow-fast" in text
    assert "100 kbit/s" in text


def test_describe_shows_thresholds_and_rates_as_the_file_has_them(cli: Cli) -> None:
    assert cli("init", "--pack", "diffserv").code == 0
    file = Path("diffserv.toml")
    text = file.read_text().replace('kind = "red", ', 'kind = "red", gentle = true, ')
    text = text.replace("share = 0.5\n", "share = 0.5\nbounded = true\n")
    text = text.replace('averaging = "coupled"\n', 'averaging = "coupled"\nw_q = 0.00123456789\n')
    excess = 'marker = { green = "EF", red = "shape" }\nshaper = { rate = "300kbit/s", burst = "3kB" }'
    text = text.replace('marker = { green = "EF", red = "drop" }', excess)
    acks = 'kind = "per-mark", rule = "best-of-covered", marks = { AF11 = "AF21" }'
    file.write_text(
        f'{text}\n[[conditioner]]\nname = "acks"\nat = "core"\nfrom = "server[*]"\n'
        f'match = {{ kind = "pure-ack" }}\nack_marking = {{ {acks} }}\n'
    )
    done = cli("describe", file)
    assert done.err == ""
    lines = done.out.splitlines()
    for line in (
        "edge-core.class.ef (EF): share 0.1, priority 0, kind fifo, limit 20p; by default ack_filter off",
        "edge-core.class.af1 (AF11 AF12 AF13): share 0.5, bounded, priority 1, kind gred, limit 90kB, "
        "averaging coupled, green min_th 45kB max_th 90kB max_p 0.02, "
        "yellow min_th 22kB max_th 45kB max_p 0.05, red min_th 10kB max_th 22kB max_p 0.1, w_q 0.00123456789"
        "; by default colors -, green w_q - limit -, yellow w_q - limit -, red w_q - limit -, gentle no, "
        "byte_mode no, ecn no, conventions -, mean_packet -",
        "edge-core.class.best-effort (any): share 0.4, priority 1, kind red, limit 100p, min_th 15p, "
        "max_th 45p, max_p 0.1, gentle; by default w_q 0.002, byte_mode no, ecn no, conventions -, "
        "mean_packet -",
        "bulk_host[*]-edge.class.all (any): kind fifo; by default limit 1000p, ack_filter off",
        "premium at edge from voice_host: match class premium, "
        "meter kind token-bucket cir 300kbit/s cbs 2p, marker green EF red shape, "
        "shaper rate 300kbit/s burst 3kB; by default ack_marking -, per aggregate, marker yellow pass, "
        "shaper limit 1000p",
        "assured at edge from bulk_host[*]: match class assured kind data, "
        "meter kind tr-tcm cir 1200kbit/s cbs 15p pir 2Mbit/s pbs 18p, "
        "marker green AF11 yellow AF12 red AF13; by default ack_marking -, per aggregate, "
        "meter color_aware no colors -, shaper -",
        "acks at core from server[*]: match kind pure-ack, "
        "ack_marking kind per-mark marks AF11 AF21 rule best-of-covered; by default per aggregate, meter -, "
        "marker green pass yellow pass red pass, shaper -",
    ):
        assert line in lines
    settings = cli("describe", file, "--json").json()["settings"]
    assert settings["port"][0]["class"][2]["queue"]["gentle"] is True
    assert [one["name"] for one in settings["conditioner"]] == ["premium", "assured", "acks"]


def test_describe_shows_every_setting_of_a_tcp_and_first_those_that_are_not_as_by_default(cli: Cli) -> None:
    flow = 'from = "a"\nto = "b"\ntcp = { profile = "rfc", mss = "1000B", prr = false }\n'
    Path("three.toml").write_text(
        '[run]\nduration = "1s"\n[[node]]\nname = "a"\n[[node]]\nname = "b"\n'
        '[[link]]\nends = ["a", "b"]\nrate = "1Mbit/s"\n'
        f'[[flow]]\nname = "f"\n{flow}[[flow]]\nname = "g"\n{flow}'
        '[[flow]]\nname = "plain"\nfrom = "b"\nto = "a"\nack = { policy = "every-segment" }\n'
    )
    lines = cli("describe", "three.toml").out.splitlines()
    of_two, of_one = lines[lines.index("TCP") + 1 :][:2]
    chosen, default = of_two.split("; by default ")
    assert chosen.startswith("f, g: profile rfc, ")
    assert "mss 1kB" in chosen
    chosen_keys = {one.split(" ")[0] for one in chosen.removeprefix("f, g: ").split(", ")}
    default_keys = {one.split(" ")[0] for one in default.split(", ")}
    tcp = json.loads(_core.schema())["$defs"]["Tcp"]["properties"]
    assert chosen_keys | default_keys == {*tcp, "ack"}
    assert chosen_keys & default_keys <= {"ack"}
    chosen, default = of_one.split("; by default ")
    assert chosen == "plain: window_scale 7, ack policy every-segment"
    assert default.startswith("profile default, size -, cc cubic, ")


def test_parted_settings_are_what_the_resolved_scenario_has() -> None:
    example = Path(__file__).parents[1] / "examples" / "emulate.toml"
    for port in Scenario.load(example).describe().settings.port:
        for one in port["class"]:
            chosen, default = parted(one["queue"], "Queue")
            assert {**default, **chosen} | one["queue"] == {**default, **chosen}


def test_describe_rounds_no_setting_of_a_scheduler() -> None:
    drr = SchedulerView("drr", quanta_bytes=[1234567, 1000])
    cbq = SchedulerView("cbq", shares=[0.3333333, 0.5])
    paired = SchedulerView("paired-counter", data="data", share=0.3333333)
    htb = SchedulerView("htb", rate_bit_s=8e6, rates_bit_s=[1e6, 2.5e6])
    assert [str(one) for one in (drr, cbq, paired, htb)] == [
        "drr 1234567 : 1000",
        "cbq 0.3333333 : 0.5",
        "paired-counter, 0.3333333 for data",
        "htb 1 : 2.5 of 8 Mbit/s",
    ]


def test_describe_prints_the_first_of_many_queues(cli: Cli) -> None:
    Path("many.toml").write_text(
        '[run]\nduration = "1s"\n[[node]]\nname = "s"\ncount = 21\n[[node]]\nname = "d"\n[[link]]\n'
        'ends = ["s[*]", "d"]\nrate = "1Mbit/s"\n'
        + "".join(f'[[port]]\nat = "s[{i}]"\nto = "d"\n' for i in range(21))
        + '[[flow]]\nname = "f"\nfrom = "s[*]"\nto = "d"\n'
    )
    many = cli("describe", "many.toml").out.splitlines()
    settings = cli("describe", "many.toml", "--json").json()["settings"]
    all_of = sum(len(port["class"]) for port in settings["port"])
    cut = many.index(f"20 of {all_of} lines, the first; all are in what --json prints")
    assert many[cut - 20].startswith("s[0]-d.class.all ")
    assert many[cut - 1].startswith("s[19]-d.class.all ")


def test_describe_shows_what_was_configured_first_and_folds_members(cli: Cli) -> None:
    Path("many.toml").write_text("""
run.duration = "9s"
node = [{ name = "s", count = 30 }, { name = "r", kind = "router" }, { name = "d" }]
link = [{ ends = ["s[*]", "r"], rate = "1Mbit/s" }, { ends = ["r", "d"], rate = "2Mbit/s" }]
[[port]]
at = "r"
to = "d"
class = [{ name = "all", queue = { kind = "fifo", limit = "60p" } }]
[[port]]
at = "s[3]"
to = "r"
backpressure = 2
[[flow]]
name = "f"
from = "s[*]"
to = "d"
start_jitter = "1s"
tcp = { profile = "rfc", window = "9kB" }
""")
    lines = [line.split() for line in cli("describe", "many.toml").out.splitlines()]
    starts = [line[0] for line in lines if line]
    at = starts.index("port")
    assert starts[at + 2 : at + 7] == [
        *("port.s[3]-r", "port.r-d", "port.s[*]-r", "port.r-s[0..30]", "port.d-r"),
    ]
    assert ["port.s[*]-r", "(29)", "strict-priority", "all", "-"] in lines
    assert ["s[0..30]", "(30)", "host"] in lines
    (flow,) = [line for line in lines if line[:2] == ["f[0..30]", "(30)"]]
    assert " ".join(flow).startswith("f[0..30] (30) default BE s[0..30] d 0 s + up to 1 s rfc 1.46 kB")
    assert cli("check", "many.toml").out == "many.toml: valid; flows: f 30\n"


def test_describe_toml_is_a_scenario_that_means_the_same(cli: Cli, two_way: Path) -> None:
    Path("resolved.toml").write_text(cli("describe", two_way, "--toml").out)
    assert cli("describe", "resolved.toml", "--json").json() == cli("describe", two_way, "--json").json()


def test_folded_rows_say_which_members_they_stand_for() -> None:
    from perhop.cli.describe import folded

    pairs = [("p[2]->q[1]", "x"), ("p[3]->q[1]", "x"), ("p[2]->r", "x"), ("a[0]", "y"), ("a[2]", "y")]
    assert folded(pairs) == [("p[2..4]->q[1] (2)", "x"), ("p[2]->r", "x"), ("a[*] (2)", "y")]


def test_losses_in_bursts_are_told_by_their_mean_and_length(cli: Cli, two_way: Path) -> None:
    chain = 'link.slow-fast.burst_loss={ direction = "slow->fast", p = 0.02, r = 0.25, loss_bad = 0.5 }'
    lossy = [link["burst_loss"] for link in cli("describe", two_way, "-s", chain, "--json").json()["links"]]
    assert lossy[1] is None
    assert abs(lossy[0]["mean_loss"] - 0.5 * 0.02 / 0.27) < 1e-12
    # the next of a loss is lost if the chain stays, and then one time in two
    assert abs(lossy[0]["mean_burst_packets"] - 1 / (1 - 0.75 / 2)) < 1e-12
    assert "Losses in bursts" in cli("describe", two_way, "-s", chain).out
    refused = cli("estimate", two_way, "-s", chain, "--json").json()["estimates"]
    assert not any(one["holds"] for one in refused if not one["bound"])


def test_a_shaper_is_a_column_of_its_port(cli: Cli, two_way: Path) -> None:
    assert "shaper" not in cli("describe", two_way).out
    held = cli("describe", two_way, "-s", 'port.slow-fast.shaper={rate="50kbit/s", mpu="64B"}')
    row = next(line for line in held.out.splitlines() if line.startswith("port.slow-fast"))
    assert row.endswith("50 kbit/s")
    shaped = [link.port.shaper for link in Scenario.load(two_way).describe().links]
    assert shaped == [None, None]
