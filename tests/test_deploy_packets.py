"""ACKs of real TCP flows carry the marks that a host was told to give, by eBPF and by nftables."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from namespaces import DEPLOY, ROOT, namespace, need
from perhop.deploy import ebpf, nft
from perhop.deploy.acks import Selector
from perhop.deploy.marks import COPY, Marking, fixed

FLOWS = [[10], [46], [0], [18, 34, 46], [10, 12, 14, 0], [5, 63]]
SACK = 24
"""Bytes of options with timestamps and one SACK block."""


def run(plan: dict[str, Any], **more: str) -> dict[str, Any]:
    if plan["link"] == "tun" and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("/dev/net/tun cannot be opened")
    done = namespace([sys.executable, str(ROOT / "tests" / "real_flows.py"), json.dumps(plan)], **more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["installed"]["code"] == 0, found
    assert found["sent"], done.stderr
    assert found["dropped"] == 0
    assert found["check"]["code"] == found["removed"]["code"] == 0, found
    assert not found["left"]
    return found


def plan(link: str, family: int, install: list[str], script: str, of: list[str]) -> dict[str, Any]:
    here = str(DEPLOY / script)
    return {
        "link": link, "family": family, "flows": FLOWS, "lose": 20 if link == "tun" else 0,
        "install": [here, "install", *install],
        "check": [here, "check", *of],
        "remove": [here, "remove", *of],
    }  # fmt: skip


def by_ebpf(ackmark: Path, link: str, family: int, marking: Marking) -> dict[str, Any]:
    asked = plan(link, family, ["DEV", ebpf.marks(marking), marking.rule], "ackmark-ebpf", ["DEV"])
    return run(asked, ACKMARK_OBJECT=str(ackmark))


def by_nft(folder: Path, link: str, family: int, text: str) -> dict[str, Any]:
    need("nft")
    file = folder / "rules.nft"
    file.write_text(text)
    return run(plan(link, family, ["install"], "ackmark-nft", []) | {
        "install": [str(DEPLOY / "ackmark-nft"), "install", str(file)]
    })  # fmt: skip


def answers(found: dict[str, Any]) -> list[tuple[int, int, int, int]]:
    """Return of every pure ACK its flow, the mark of the data before it, its own, its bytes of options."""
    last: dict[int, int] = {}
    acks = []
    for one in found["packets"]:
        assert one["good"], "the checksum of the IP header"
        flow = one["flow"]
        if not one["outgoing"] and one["payload"]:
            last[flow] = one["dscp"]
        elif one["outgoing"] and one["flags"] & 0x17 == 0x10 and not one["payload"]:
            acks.append((flow, last[flow], one["dscp"], one["options"]))
    return acks


def check_all(found: dict[str, Any], marking: Marking, lost: bool) -> None:
    acks = answers(found)
    assert all(own == marking.given[data] for _, data, own, _ in acks)
    seen = Counter((flow, data) for flow, data, _, _ in acks)
    assert set(seen) == {(flow, mark) for flow, marks in enumerate(FLOWS) for mark in marks}
    if lost:
        assert sum(options >= SACK for *_, options in acks) > 10


@pytest.mark.parametrize(("link", "family"), [("veth", 4), ("veth", 6), ("tun", 4), ("tun", 6)])
def test_ebpf_copies_the_mark_of_the_data(ackmark: Path, link: str, family: int) -> None:
    found = by_ebpf(ackmark, link, family, COPY)
    check_all(found, COPY, link == "tun")
    counted = {line[:24].strip(): int(line[24:]) for line in found["check"]["out"].splitlines()}
    assert counted["ACKs out"] == len(answers(found))
    assert counted["of these before any data"] == counted["failed"] == 0


@pytest.mark.parametrize(("link", "family"), [("veth", 4), ("veth", 6), ("tun", 4), ("tun", 6)])
def test_nftables_copies_the_mark_of_the_data(tmp_path: Path, link: str, family: int) -> None:
    found = by_nft(tmp_path, link, family, (DEPLOY / "copy-mark.nft").read_text())
    check_all(found, COPY, link == "tun")


BY_MARK = Marking(tuple({10: 12, 46: 46, 34: 10, 63: 8}.get(data, 0) for data in range(64)))


@pytest.mark.parametrize("marking", [fixed(46), BY_MARK])
def test_one_mark_for_all_and_marks_by_a_map(ackmark: Path, tmp_path: Path, marking: Marking) -> None:
    check_all(by_ebpf(ackmark, "veth", 4, marking), marking, False)
    check_all(by_nft(tmp_path, "veth", 4, nft.rules({marking: []})), marking, False)


def test_nftables_tells_flows_apart_by_port(tmp_path: Path) -> None:
    asked = {fixed(18): [Selector(5001), Selector(5004)], COPY: [Selector(5005)]}
    acks = answers(by_nft(tmp_path, "veth", 4, nft.rules(asked)))
    given = {0: {18}, 3: {18}, 1: {0}, 2: {0}, 4: {10, 12, 14, 0}, 5: {0}}
    assert {flow: {own for one, _, own, _ in acks if one == flow} for flow in given} == given
    assert all(data == own for flow, data, own, _ in acks if flow == 4)


def test_without_rules_the_acks_are_best_effort(tmp_path: Path) -> None:
    need()
    nothing = {"install": ["true"], "check": ["true"], "remove": ["true"]}
    acks = answers(run(plan("veth", 4, [], "ackmark-nft", []) | nothing))
    assert {own for *_, own, _ in acks} == {0}


def test_the_rules_beside_the_scripts_are_those_that_are_generated() -> None:
    text = (DEPLOY / "copy-mark.nft").read_text()
    head, _, _ = text.partition("table ")
    comments = [line.removeprefix("# ") for line in head.splitlines()]
    assert text == nft.rules({COPY: []}, comments)
