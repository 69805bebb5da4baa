"""A router marks the ACKs that pass it as its conditioners ask, on real packets, and leaves others alone."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from forwarded_flows import CHUNK
from namespaces import DEPLOY, ROOT, namespace, need
from perhop.cli.exit import ExitCode

ACCESS = ROOT / "python" / "perhop" / "starters" / "access" / "access.toml"
MARKS = [10, 46, 0, 18]
KINDS = {
    "copy": '{ kind = "copy" }',
    "EF": '{ kind = "per-class", marks = { download = "EF", web = "EF" } }',
}


def deployed(cli: Cli, kind: str) -> str:
    done = cli("deploy", ACCESS, "--at", "gateway", "-s", f"conditioner.acks-up.ack_marking={KINDS[kind]}")
    assert done.code == 0, done.err
    return done.out


def run(rules: Path) -> dict[str, Any]:
    need("nft", "ip")
    script = str(DEPLOY / "ackmark-nft")
    plan = {
        "marks": MARKS,
        "install": [script, "install", str(rules)],
        "check": [script, "check"],
        "remove": [script, "remove"],
    }
    done = namespace([sys.executable, str(ROOT / "tests" / "forwarded_flows.py"), json.dumps(plan)])
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert not found["left"]
    return found


def acks(found: dict[str, Any], to: str, port: int) -> list[tuple[int, int]]:
    """Give the mark of the data that each pure ACK is for, 0 before any, and the ACK's own.

    A sender sends the next mark only once the receiver has answered for the one before.
    """
    own = [
        (one["ack"], one["dscp"])
        for one in found["packets"]
        if one["to"] == to and one["port"] == port and not one["payload"] and one["flags"] & 0x17 == 0x10
    ]
    first = own[0][0]
    past = [((ack - first) % 2**32, dscp) for ack, dscp in own]
    return [(MARKS[(offset - 1) // CHUNK] if offset else 0, dscp) for offset, dscp in past]


@pytest.mark.parametrize("kind", KINDS)
def test_acks_of_a_download_are_marked_where_they_are_forwarded(cli: Cli, tmp_path: Path, kind: str) -> None:
    rules = tmp_path / "gateway.nft"
    rules.write_text(deployed(cli, kind))
    found = run(rules)
    own = acks(found, "server", 5001)
    assert len(own) > len(MARKS)
    assert {data for data, _ in own} >= {*MARKS}
    assert all(mark == (46 if kind == "EF" else data) for data, mark in own)
    # the upload's ACKs go the other way, by a port that no rule names
    assert {mark for _, mark in acks(found, "pc", 8081)} == {0}
    counted = re.search(r"ACKs marked: (\d+)", found["check"])
    assert counted is not None
    assert int(counted[1]) >= len(own)


def test_only_a_router_whose_conditioners_mark_acks_has_rules(cli: Cli) -> None:
    refused = cli("deploy", ACCESS, "--at", "exchange")
    assert refused.code == ExitCode.USAGE
    assert "they stand at gateway, isp" in refused.err
    assert cli("deploy", ACCESS, "--at", "nowhere").code == ExitCode.USAGE
    assert "--with nft" in cli("deploy", ACCESS, "--at", "gateway", "--with", "ebpf").err


def test_the_rules_are_those_of_the_flows_that_pass(cli: Cli) -> None:
    document = cli("deploy", ACCESS, "--at", "gateway", "--json").json()
    (router,) = document["hosts"]
    assert router["host"] == "gateway"
    named = {one["flow"].partition("[")[0] for one in router["flows"]}
    assert named == {"download", "web"}
    assert "hook forward" in router["text"]
    assert "hook output" not in router["text"]
