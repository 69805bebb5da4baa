"""What `perhop import ns2` takes of a script, what it names, and how it reads Tcl."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Cli
from perhop import Scenario
from perhop.import_ns2 import Imported, imported, lists
from perhop.import_ns2.expression import reckon
from perhop.import_ns2.parser import parse
from perhop.import_ns2.quantities import Drawn, nanoseconds, rate
from perhop.import_ns2.remarks import Refused

HEAD = "set ns [new Simulator]\nset a [$ns node]\nset r [$ns node]\nset b [$ns node]\n"
LINKS = "$ns duplex-link $a $r 10Mb 2ms DropTail\n$ns duplex-link $r $b 1Mb 10ms DropTail\n"
FLOW = """\
set tcp [new Agent/TCP/Reno]
set sink [new Agent/TCPSink]
$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.5 "$ftp start"
"""
TAIL = 'proc finish {} { exit 0 }\n$ns at 10 "finish"\n$ns run\n'


def script(before: str = "", links: str = LINKS, flow: str = FLOW, tail: str = TAIL) -> Imported:
    return imported(HEAD + before + links + flow + tail, "test.tcl")


def taken(*parts: str, **named: str) -> dict[str, Any]:
    """Import what must be taken whole, and give it as it is read."""
    found = script(*parts, **named)
    assert found.refused == ()
    mistakes, _ = Scenario(found.text.encode(), "test.toml").diagnose()
    assert mistakes == []
    return tomllib.loads(found.text)


def refused(*parts: str, **named: str) -> list[tuple[int, str]]:
    found = script(*parts, **named)
    assert found.text == ""
    return [(remark.line, remark.why) for remark in found.refused]


def test_the_smallest_script() -> None:
    got = taken()
    assert [(node["name"], node.get("kind")) for node in got["node"]] == [
        ("a", None),
        ("r", "router"),
        ("b", None),
    ]
    assert got["link"][0] == {"ends": ["a", "r"], "rate": "10Mbit/s", "delay": "2ms"}
    assert got["run"]["duration"] == "10s"
    # a drop-tail queue of ns-2 never uses the last of its 50 places
    assert got["port"][1]["class"][0]["queue"] == {"kind": "fifo", "limit": "49p"}
    (profile,) = got["profile"]
    assert (profile["base"], profile["recovery"], profile["mss"]) == ("ns235", "reno", "1000B")
    assert (profile["window"], profile["min_rto"], profile["ecn"]) == ("20000B", "200ms", False)
    (flow,) = got["flow"]
    assert flow == {"name": "tcp", "from": "a", "to": "b", "start": "500ms", "tcp": {"profile": "ns2-reno"}}


def test_the_text_says_from_which_line_and_whose_default() -> None:
    text = script("Agent/TCP set window_ 28\n").text
    assert "# line 6: $ns duplex-link $a $r 10Mb 2ms DropTail\n" in text
    assert 'window = "28000B"        # 28 packets; line 5: window_ 28\n' in text
    assert "# ns-2.35's default: minrto_ 0.2\n" in text


@pytest.mark.parametrize(
    ("before", "after", "key", "value"),
    [
        ("Agent/TCP set useHeaders_ false\n", "", "mss", "960B"),
        ("Agent/TCP set timestamps_ true\n", "", "mss", "1010B"),
        ("Agent/TCP set timestamps_ true\n", "", "header", "28B"),
        ("Agent/TCP set useHeaders_ false\nAgent/TCPSink set packetSize_ 52\n", "", "mss", "948B"),
        ("Agent/TCP set precisionReduce_ false\n", "", "halving", "integer"),
        ("Agent/TCP set bugFix_ 0\n", "", "guard", "off"),
        ("", "$tcp set tcpTick_ 0.1\n", "clock_tick", "100ms"),
        # what a class above has does not reach a class that has its own
        (
            "Agent set packetSize_ 7\nAgent/TCP/Reno set window_ 9\nAgent/TCP set window_ 8\n",
            "",
            "window",
            "9000B",
        ),
    ],
)
def test_settings_of_tcp(before: str, after: str, key: str, value: str) -> None:
    got = taken(before, flow=FLOW.replace("$ns attach-agent $a", f"{after}$ns attach-agent $a"))
    assert got["profile"][0][key] == value


STAMPS = "Agent/TCP set timestamps_ 1\n"
BARE = "Agent/TCP set useHeaders_ false\nAgent/TCPSink set packetSize_ 52\n"


@pytest.mark.parametrize(
    ("setting", "data", "ack"), [("", 1040, 40), (STAMPS, 1050, 40), (STAMPS + BARE, 1000, 52)]
)
def test_packets_are_as_long_as_in_ns2(setting: str, data: int, ack: int) -> None:
    # what ns-2.35 writes into its trace for these
    made = script(setting, flow=FLOW.replace("$ftp start", "$ftp produce 30"))
    result = Scenario(made.text.encode(), "test.toml").run()
    sent = {row["path"]: row for row in result.queues.iter_rows(named=True)}
    forward, back = sent["port.a-r.class.all"], sent["port.b-r.class.all"]
    handshake = forward["in_packets"] - 30
    assert forward["in_bytes"] in (30 * data + handshake * 40, 30 * data + handshake * ack)
    assert back["in_bytes"] in (30 * ack + 40, 31 * ack)


def test_agents_and_receivers_and_sizes() -> None:
    for agent, sink, recovery in (
        ("TCP", "TCPSink", "tahoe"),
        ("TCP/Newreno", "TCPSink/DelAck", "newreno"),
        ("TCP/Sack1", "TCPSink/Sack1/DelAck", "sack-1996"),
    ):
        flow = FLOW.replace("Agent/TCP/Reno", f"Agent/{agent}").replace("Agent/TCPSink", f"Agent/{sink}")
        got = taken(flow=flow.replace("$ftp start", "$ftp produce 30"))
        assert got["profile"][0]["recovery"] == recovery
        assert got["flow"][0]["tcp"]["size"] == "30p"
        delayed = {"policy": "delayed", "timeout": "100ms"}
        assert got["flow"][0].get("ack") == (delayed if "DelAck" in sink else None)
    ((line, why),) = refused(flow=FLOW.replace("Agent/TCPSink", "Agent/TCPSink/Sack1"))
    assert (line, why) == (
        11,
        "Agent/TCP/Reno with Agent/TCPSink/Sack1: perhop has both ends with SACK or none",
    )


def test_loops_arrays_and_procedures_of_constants() -> None:
    body = """\
array set o {n 3 rate 2Mb}
proc join {from to {delay 1ms}} {
    global ns o
    $ns duplex-link $from $to $o(rate) $delay DropTail
    return $from
}
set c [$ns node]
for {set i 0} {$i < $o(n)} {incr i} {
    set s($i) [$ns node]
    if {$i == 1} { join $s($i) $c 7ms } elseif {$i > 1} {
        join $s($i) $c } else { join $s($i) $c [expr {$i + 0.5}]ms }
}
foreach {x y} {0 a 1 b} { set name$x $y }
join $c $a
"""
    got = taken(body)
    assert [node["name"] for node in got["node"]] == ["a", "r", "b", "c", "s0", "s1", "s2"]
    assert [link["delay"] for link in got["link"]] == ["500us", "7ms", "1ms", "1ms", "2ms", "10ms"]


def test_a_drawn_start_is_a_jitter() -> None:
    flow = FLOW.replace("0.5 ", "[expr {0.5 + [$rng uniform 0 0.25]}] ")
    got = taken("set rng [new RNG]\n$rng seed 3\n", flow=flow)
    assert (got["flow"][0]["start"], got["flow"][0]["start_jitter"]) == ("500ms", "250ms")


def test_udp() -> None:
    flow = """\
set udp [new Agent/UDP]
set null [new Agent/Null]
$udp set prio_ 46
$ns attach-agent $a $udp
$ns attach-agent $b $null
$ns connect $udp $null
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 500
$cbr set interval_ 0.005
$cbr attach-agent $udp
$ns at 1.0 "$cbr start"
$ns at 10.0 "$cbr stop"
"""
    (udp,) = taken(flow=flow)["udp"]
    assert (udp["rate"], udp["packet_size"], udp["mark"], udp["start"]) == ("800kbit/s", "500B", "46", "1s")
    burst = flow.replace("Traffic/CBR", "Traffic/Exponential").replace("set interval_ 0.005", "set rate_ 1Mb")
    (udp,) = taken(flow=burst)["udp"]
    assert udp["pattern"] == {"kind": "on-off", "on": "500ms", "off": "500ms"}
    ((line, why),) = refused(flow=flow.replace("10.0", "5.0"))
    assert (line, why[:39]) == (18, "perhop's flows send until the run ends,")
    assert refused(flow=flow.replace("packetSize_ 500", "packetSize_ 1500"))[0][1].startswith(
        "`Agent/UDP` cuts"
    )


RED = "Queue/RED set thresh_ 5\nQueue/RED set maxthresh_ 15\nQueue/RED set q_weight_ 0.002\n"
PACKETS = "Queue/RED set bytes_ false\nQueue/RED set queue_in_bytes_ false\n"


def test_red() -> None:
    links = LINKS.replace("10ms DropTail", "10ms RED")
    queue = taken(RED + PACKETS, links=links)["port"][1]["class"][0]["queue"]
    assert (queue["limit"], queue["max_p"], queue["gentle"], queue["mean_packet"]) == (
        "50p",
        0.1,
        True,
        "500B",
    )
    assert queue["conventions"] == {"like": "ns2-red"}
    queue = taken(RED + PACKETS + "Queue/RED set wait_ 0\n", links=links)["port"][1]["class"][0]["queue"]
    assert queue["conventions"] == {"like": "ns2-red", "wait": False}
    assert "`Queue/RED set bytes_ false` is missing" in refused(RED, links=links)[0][1]
    assert "`Queue/RED set thresh_` is missing" in refused(PACKETS, links=links)[0][1]


DS = """\
$ns duplex-link $a $r 10Mb 2ms DropTail
$ns simplex-link $r $b 1Mb 10ms dsRED/edge
$ns simplex-link $b $r 1Mb 10ms DropTail
set q [[$ns link $r $b] queue]
$q meanPktSize 1000
$q set numQueues_ 1
$q setNumPrec 2
$q addPHBEntry 10 0 0
$q addPHBEntry 12 0 1
$q configQ 0 0 20 40 0.02
$q configQ 0 1 10 20 0.1
$q addPolicyEntry [$a id] [$b id] TokenBucket 10 400000 8000
$q addPolicerEntry TokenBucket 10 12
"""


def test_an_edge_with_a_token_bucket() -> None:
    got = taken(links=DS)
    (conditioner,) = got["conditioner"]
    assert conditioner == {
        "name": "r-b-1",
        "at": "r",
        "from": "a",
        "meter": {"kind": "token-bucket", "cir": "400kbit/s", "cbs": "8000B"},
        "marker": {"green": "10", "red": "12"},
    }
    queue = got["port"][1]["class"][0]["queue"]
    assert (queue["kind"], queue["averaging"], queue["conventions"]) == ("rio", "coupled", {"like": "dsred"})
    assert queue["colors"] == {"10": "green", "12": "red"}
    assert queue["green"] == {"min_th": "20p", "max_th": "40p", "max_p": 0.02}
    assert (queue["gentle"], queue["limit"], queue["w_q"]) == (False, "50p", 0.002)


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("TokenBucket", "EW", 16, "policer `EW` is not taken"),
        (
            "TokenBucket 10 400000",
            "TSW2CM 10 400000 1",
            16,
            "TSW2CM has 1 or 2 numbers behind the code point",
        ),
        ("[$b id]", "0", 6, "no addPolicyEntry is for packets from a to b"),
        ("addPHBEntry 12 0 1", "addPHBEntry 14 0 1", 6, "packets from a to b come with code point 12"),
        ("setNumPrec 2", "setNumPrec 4", 11, "perhop's `gred` has three drop precedences"),
        (
            "addPolicerEntry TokenBucket 10 12",
            "addPolicerEntry TokenBucket 11 12",
            16,
            "there is no `addPolicerEntry",
        ),
        ("0.02", "0", 14, "perhop's `max_p` is above 0"),
        ("configQ 0 1 10 20 0.1", "configQ 0 0 10 20 0.1", 6, "there is no `configQ 0 1`"),
    ],
)
def test_what_an_edge_lacks(old: str, new: str, line: int, why: str) -> None:
    found = refused(links=DS.replace(old, new))
    assert any(at == line and said.startswith(why) for at, said in found), found


@pytest.mark.parametrize(
    ("policy", "codes", "meter", "marker"),
    [
        ("TSW2CM 10 400000", "10 12", {"kind": "tsw2cm", "cir": "400kbit/s"}, {"green": "10", "red": "12"}),
        (
            "TSW2CM 10 400000 0.25",
            "10 12",
            {"kind": "tsw2cm", "cir": "400kbit/s", "window": "250ms"},
            {"green": "10", "red": "12"},
        ),
        (
            "TSW3CM 10 400000 800000",
            "10 11 12",
            {"kind": "tsw3cm", "cir": "400kbit/s", "pir": "800kbit/s"},
            {"green": "10", "yellow": "11", "red": "12"},
        ),
    ],
)
def test_estimates_are_meters(policy: str, codes: str, meter: dict[str, str], marker: dict[str, str]) -> None:
    links = DS.replace("TokenBucket 10 400000 8000", policy)
    links = links.replace("TokenBucket 10 12", f"{policy.split()[0]} {codes}")
    if "11" in codes:
        links = links.replace("setNumPrec 2", "setNumPrec 3")
        links = links.replace("$q addPHBEntry 12 0 1", "$q addPHBEntry 11 0 1\n$q addPHBEntry 12 0 2")
        links = links.replace("$q configQ 0 1 10", "$q configQ 0 2 5 10 0.2\n$q configQ 0 1 10")
    (conditioner,) = taken(links=links)["conditioner"]
    assert (conditioner["meter"], conditioner["marker"]) == (meter, marker)


def test_a_mode_that_drops_has_a_limit_for_each_precedence() -> None:
    got = taken(links=DS.replace("$q configQ 0 0 20", "$q setMREDMode DROP\n$q configQ 0 0 20"))
    queue = got["port"][1]["class"][0]["queue"]
    assert (queue["kind"], queue["green"]["limit"], queue["red"]["limit"]) == ("gred", "20p", "10p")
    high = DS.replace("$q configQ 0 0 20", "$q setMREDMode DROP\n$q configQ 0 0 60").replace(
        "0 1 10 20", "0 1 50 50"
    )
    assert taken(links=high.replace("60 40", "60 60"))["port"][1]["class"][0]["queue"] == {
        "kind": "fifo",
        "limit": "50p",
    }


def test_every_line_is_named_at_once() -> None:
    found = script("exec rm x\nset e [new ErrorModel]\n$e set rate_ 0.1\nsource more.tcl\n$ns rtproto DV\n")
    assert [remark.line for remark in found.refused] == [5, 6, 7, 8, 9]
    assert [remark.why for remark in found.refused] == [
        "nothing is executed",
        "losses by chance are `loss` of a link: add it to the scenario yourself",
        "it needs `e`, which line 6 could not give",
        "other files are not read: write what it has into the script",
        "perhop's routes are the fewest hops, and stay",
    ]
    assert found.refused[0].text == "exec rm x"


def test_what_changes_no_result_is_left_out() -> None:
    seen = "set f [open out.tr w]\n$ns trace-all $f\nputs [exec ls]\n$ns color 1 Blue\n$a label left\n"
    found = script(seen, tail='$ns at 1 "puts hello"\n' + TAIL + "puts never\n")
    assert found.refused == ()
    assert [remark.line for remark in found.left_out] == [5, 6, 7, 8, 9, 20, 24]
    assert found.text.count("#   line ") == 7


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"tail": "$ns run\n"}, "no `$ns at` ends the run, by `exit`"),
        ({"tail": '$ns at 10 "exit 0"\n'}, "the script has no `$ns run`"),
        ({"flow": ""}, "nothing sends: no flow is left"),
        (
            {"links": LINKS.replace("duplex-link $r $b", "simplex-link $r $b")},
            "there is no link back from b to r",
        ),
        ({"links": LINKS.splitlines()[0] + "\n"}, "there is no way from a to b"),
        (
            {"before": "set c [$ns node]\n", "links": LINKS + LINKS.replace("$r", "$c")},
            "there are 2 shortest ways",
        ),
        ({"before": "Agent/TCP set windowInitOption_ 2\n"}, "perhop has nothing for `windowInitOption_`"),
        ({"before": "Agent/TCP set windwo_ 20\n"}, "`windwo_` is no setting of Agent/TCP that is known here"),
        ({"before": "Agent/TCP set ecn_ 1\n"}, "perhop's `ecn` has not been held to ns-2's"),
        ({"before": "for {set i 0} {$i < 1} {} {}\n"}, "a loop that is too long, or never ends"),
        (
            {"before": "proc f {} { f; f }\nf\n"},
            "more than 25 loops, procedures and brackets within one another",
        ),
        ({"before": "set x [lindex $argv 0]\n"}, "`argv` comes from the command line: write the value"),
        ({"before": "set x {never closed\n"}, "`{` is never closed"),
        ({"flow": FLOW.replace("$ns attach-agent $a", "$ns attach-agent $r")}, None),
        (
            {"flow": FLOW.replace('0.5 "$ftp start"', '0.5 "$tcp set window_ 3"')},
            "`set window_ 3` of Agent/TCP",
        ),
    ],
)
def test_what_is_refused(named: dict[str, str], why: str | None) -> None:
    if why is None:
        assert taken(**named)["flow"][0]["from"] == "r"
    else:
        assert any(said.startswith(why) for _, said in refused(**named)), refused(**named)


def test_a_node_that_sends_and_forwards_is_refused() -> None:
    more = FLOW.replace("tcp", "two").replace("sink", "pit").replace("ftp", "app").replace("$a ", "$r ")
    assert refused(flow=FLOW + more) == [
        (3, "it has agents and forwards packets, which hosts do not: give its agents a node of their own")
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("7 / 2", "3"),
        ("-7 / 2", "-4"),
        ("7 / 2.0", "3.5"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "4"),
        ("0x10 % 7", "2"),
        ("round(2.5) + int(-2.7)", "1"),
        ("max(1, 2.5, 2)", "2.5"),
        ("1 < 2 && !(3 == 4)", "1"),
        ('"a" eq "a" ? 10 : 20', "10"),
        ("1e3", "1000.0"),
    ],
)
def test_expressions(text: str, value: str) -> None:
    assert reckon(text) == value


@pytest.mark.parametrize(
    "text", ["", "1 +", "1 / 0", "x", "2 ** 9999", "(" * 60, "1 2", "sqrt(-1)", "1 % 2.5"]
)
def test_what_is_no_expression_of_constants(text: str) -> None:
    with pytest.raises(Refused):
        reckon(text)


def test_quantities() -> None:
    assert [rate(text) for text in ("10Mb", "64Kb", "1MB", "2e6", "1.5m", "10kB", "10Mbps")] == [
        10_000_000,
        64_000,
        8_000_000,
        2_000_000,
        1_500_000,
        80_000,
        10_000_000,
    ]
    assert [nanoseconds(text) for text in ("10ms", "10m", "0.01", "5us", "2s", "100n")] == [
        10_000_000,
        10_000_000,
        10_000_000,
        5_000,
        2_000_000_000,
        100,
    ]
    drawn = reckon("1 + \x000\x00", (Drawn.between(0, 0.5),))
    assert isinstance(drawn, Drawn)
    assert (drawn.low, drawn.high) == (1, 1.5)


def test_words_and_lists() -> None:
    commands = parse('set a {b\n c}; puts "x $y(1) [z]" ;# no\n# no \\\n neither\nset $a \\\n  d\n').commands
    assert [(command.line, len(command.words)) for command in commands] == [(1, 3), (2, 2), (5, 3)]
    assert commands[0].words[2].plain == "b\n c"
    assert lists.split('a {b c} "d e" f\\ g $h [i] {$j} ; k') == [
        "a", "b c", "d e", "f g", "$h", "[i]", "$j", ";", "k",
    ]  # fmt: skip
    for elements in (["a", "b c", ""], ["{", "}"], ["$x", "[y]", "#z", 'q"r'], ["a\\b"]):
        assert lists.split(lists.join(elements)) == elements


def test_mistakes_of_syntax_do_not_hide_others() -> None:
    found = parse("set a {b}c\nset d {*}$e\nset f [g\n")
    assert [mistake.line for mistake in found.mistakes] == [1, 2, 3]


PIECES = [
    *(HEAD + LINKS + DS + FLOW + TAIL).split(),
    *("\n", ";", "{", "}", "[", "]", '"', "$", "\\", "(", ")", "#", "expr"),
    *("for", "foreach", "if", "proc", "return", "lappend", "1e999", "-1", "0", "x", "$x", "${"),
    *("uniform", "new RNG"),
]


@settings(max_examples=150)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join))
def test_no_words_make_a_traceback(text: str) -> None:
    found = imported(text, "fuzz.tcl")
    assert bool(found.text) != bool(found.refused)


@settings(max_examples=150)
@given(st.data())
def test_no_change_of_a_script_makes_a_traceback(data: st.DataObject) -> None:
    lines = (HEAD + RED + PACKETS + DS + FLOW + TAIL).splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        cut = data.draw(st.integers(0, len(line)))
        lines[at] = (
            line[:cut] + data.draw(st.sampled_from(PIECES)) + line[cut + data.draw(st.integers(0, 3)) :]
        )
    found = imported("".join(lines), "fuzz.tcl")
    assert bool(found.text) != bool(found.refused)
    if found.text:
        tomllib.loads(found.text)


@settings(max_examples=150)
@given(st.text(max_size=200))
def test_no_text_makes_a_traceback(text: str) -> None:
    assert imported(text, "fuzz.tcl").refused


def test_the_command(cli: Cli) -> None:
    Path("good.tcl").write_text(HEAD + LINKS + FLOW + TAIL)
    done = cli("import", "ns2", "good.tcl", "-o", "good.toml")
    assert (done.code, done.out) == (0, "good.toml\n")
    assert cli("check", "good.toml").code == 0
    assert cli("import", "ns2", "good.tcl").out == Path("good.toml").read_text()
    assert cli("import", "ns2", "good.tcl", "-o", "good.toml").code == 2
    assert cli("import", "ns2", "good.tcl", "-o", "good.toml", "--force").code == 0
    assert cli("import", "ns2", "none.tcl").code == 2
    assert cli("import", "ns2", "--help").code == 0
    assert "ns2" in cli("import", "--help").out


def test_the_command_names_what_it_refuses_and_writes_nothing(cli: Cli) -> None:
    Path("bad.tcl").write_text("puts hello\n" + HEAD + "exec date\nset f [new Fancy]\n" + LINKS + FLOW + TAIL)
    done = cli("import", "ns2", "bad.tcl", "-o", "bad.toml")
    assert (done.code, done.out) == (3, "")
    assert done.err.splitlines() == [
        "left out: line 1: puts hello: what it prints is not wanted here",
        "refused: line 6: exec date: nothing is executed",
        "refused: line 7: set f [new Fancy]: class `Fancy` is not taken",
        "bad.tcl: 2 lines refused, nothing written; docs/import-ns2.md says what is taken",
    ]
    assert not Path("bad.toml").exists()
    done = cli("import", "ns2", "bad.tcl", "--json")
    assert done.code == 3
    assert [remark["line"] for remark in done.json()["refused"]] == [6, 7]


def test_what_perhop_cannot_run_is_no_scenario(cli: Cli) -> None:
    Path("odd.tcl").write_text(HEAD + LINKS.replace("1Mb", "2e15") + FLOW + TAIL)
    done = cli("import", "ns2", "odd.tcl", "-o", "odd.toml")
    assert (done.code, Path("odd.toml").exists()) == (3, False)
    assert "the scenario that it makes is not valid" in done.err


@pytest.mark.parametrize(
    "text",
    [
        "[" * 3000,
        "{" * 3000,
        "expr " + "(" * 2000,
        "expr {" + "-" * 30000 + "1}",
        "if {1} {" * 99 + "}" * 99,
        "foreach a {1 2} {" * 12 + "}" * 12,
        "set x {}\nfor {} {1} {} {lappend x 1 2 3}\n",
        "\\" * 10001,
    ],
)
def test_what_is_deep_or_endless_is_refused_in_time(text: str) -> None:
    assert imported(text, "deep.tcl").refused
