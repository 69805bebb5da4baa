"""Scripts of tc, and what tests of importing them share."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from perhop import Scenario
from perhop.import_tc import imported

ROOT = "tc qdisc add dev eth0 root handle 1: "


def taken(text: str, **named: Any) -> dict[str, Any]:
    """Import what must be taken, and give it as it is read."""
    found = imported(text, "test", **named)
    assert found.refused == ()
    mistakes, _ = Scenario(found.text.encode(), "test.toml").diagnose()
    assert mistakes == []
    return tomllib.loads(found.text)


def port(text: str, **named: Any) -> dict[str, Any]:
    (made,) = taken(text, **named)["port"]
    return made


def queue(text: str) -> dict[str, Any]:
    (only,) = port(text)["class"]
    assert only["match"] == ["any"]
    return only["queue"]


def left_out(text: str) -> list[str]:
    return [str(remark) for remark in imported(text, "test").left_out]


def refused(text: str, **named: Any) -> list[str]:
    found = imported(text, "test", **named)
    assert found.text == ""
    return [str(remark) for remark in found.refused]


def shown_as_json(kind: str, options: dict[str, Any], **more: Any) -> str:
    """Write a root qdisc as `print_qdisc` of tc/tc_qdisc.c does, with its statistics."""
    head = {"kind": kind, "handle": "8001:", "dev": "eth0", "root": True, "refcnt": 2, "options": options}
    return json.dumps([head | {"bytes": 0, "packets": 0, "drops": 0, "backlog": 0, "qlen": 0} | more])


ACKS = "ip protocol 6 0xff match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33"
"""As in the Linux Advanced Routing HOWTO, section 15.8."""

HTB = """\
DEV=${1:-eth0}; UP="10mbit"  # the line

TC=/sbin/tc
$TC qdisc del dev $DEV root 2>/dev/null || true
$TC qdisc add dev $DEV root handle 1: htb default 20; tc class add dev $DEV parent 1: classid 1:1 htb rate $UP
sudo tc class add dev ${DEV} parent 1:1 classid 1:10 htb rate 2mbit ceil $UP prio 0
tc class add dev $DEV parent 1:1 classid 1:20 htb rate 7mbit ceil $UP prio 1 \\
    burst 15k quantum 3000
tc class add dev $DEV parent 1:1 classid 1:30 htb rate 1mbit prio 2
tc qdisc add dev $DEV parent 1:20 handle 20: fq_codel
tc filter add dev $DEV parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
tc filter add dev $DEV parent 1: protocol ip prio 2 u32 \\
    match ACKS flowid 1:10
""".replace("ACKS", ACKS)

U32 = "tc filter add dev eth0 parent 1: protocol {} prio {} u32 match {} flowid 1:{}\n"
DRR = (
    ROOT
    + "drr\n"
    + "".join(f"tc class add dev eth0 parent 1: classid 1:{n} drr quantum {n}500\n" for n in (1, 2))
)
