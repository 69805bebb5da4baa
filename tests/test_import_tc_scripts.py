"""Scripts in the forms that people publish: no line of them is lost, and what they make runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perhop import Scenario
from perhop.import_tc import imported

SCRIPTS = sorted((Path(__file__).parent / "tc_scripts").iterdir())
DEVICES = {"sqm_simple.sh": "wan"}

#: what is refused, by the line and the end of the reason
REFUSED = {
    "netem_bed.sh": (7, "a class of perhop has a queue of its own, and netem is not taken as one"),
    "openwrt_qos.sh": (4, "hfsc is not taken"),
    "prio_tbf.sh": (3, "a class of perhop has a queue of its own, and tbf is not taken as one"),
}

#: lines that set what is so without them
SAYS_THE_SAME = {
    "wondershaper.sh": ["match ip dst 0.0.0.0/0 flowid 1:20"],
    "sqm_simple.sh": ["match ip protocol 0 0x00 flowid 1:12"],
    # the same mark of the other IP version
    "sqm_diffserv.sh": ["match ip tos 0xb8", "match ip6 priority 0xb8"],
    # a later line changes all of it
    "namespaces.sh": ["classid 1:10 htb rate 4mbit"],
}


def statements(text: str) -> list[tuple[int, int]]:
    """Give the first and the last line of each command that says something, from 0."""
    lines, found, start = text.splitlines(), [], 0
    for number, line in enumerate(lines):
        if not line.endswith("\\"):
            if not re.match(r"\s*(#|$|[A-Z]+=)", lines[start]):
                found.append((start, number))
            start = number + 1
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda one: one.name)
def test_no_line_of_a_script_is_lost(script: Path) -> None:
    text, device = script.read_text(), DEVICES.get(script.name)
    whole = imported(text, script.name, device)
    if script.name in REFUSED:
        line, why = REFUSED[script.name]
        assert [(one.line, one.why) for one in whole.refused] == [(line, why)]
        return
    named = {one.line for one in whole.left_out}
    lost = []
    for first, last in statements(text):
        lines = text.splitlines()
        begins_anew = " qdisc del " in lines[first] and not any(" add " in one for one in lines[:first])
        lines[first : last + 1] = [""] * (last + 1 - first)
        without = imported("\n".join(lines), script.name, device)
        if first + 1 not in named and without.text == whole.text and not begins_anew:
            lost.append(text.splitlines()[first])
    same = SAYS_THE_SAME.get(script.name, [])
    assert [one for one in lost if not any(part in one for part in same)] == []


@pytest.mark.parametrize(
    "script", [one for one in SCRIPTS if one.name not in REFUSED], ids=lambda one: one.name
)
def test_what_a_script_makes_is_valid_and_every_class_is_used(script: Path) -> None:
    text = imported(script.read_text(), script.name, DEVICES.get(script.name)).text
    scenario = Scenario(text.encode(), "test.toml")
    assert scenario.diagnose()[0] == []
    rows = scenario.override("run.duration=3s", "run.warmup=1s").run().queues.iter_rows(named=True)
    counted = {row["path"]: row["in_packets"] for row in rows if row["path"].startswith("port.router-far.")}
    assert len(counted) == text.count("[[port.class]]")
    assert all(counted.values()), counted
