"""The scripts of `deploy/` touch nothing that is not theirs, and take back what they did."""

from __future__ import annotations

from pathlib import Path

from namespaces import DEPLOY, namespace, need

START = "ip link add near type veth peer name far; ip link set near up; mount -t bpf bpf /sys/fs/bpf"
SHOW = (
    "tc qdisc show dev near; tc filter show dev near ingress; tc filter show dev near egress; ls /sys/fs/bpf"
)
FOREIGN = "tc filter add dev near egress pref {} bpf bytecode '1,6 0 0 0,'"
"""A filter of somebody else that takes nothing."""


def by_script(script: str, ackmark: Path | None = None) -> tuple[int, str, str]:
    done = namespace(["sh", "-c", f"cd {DEPLOY}; {script}"], ACKMARK_OBJECT=str(ackmark))
    return done.returncode, done.stdout, done.stderr


def test_filters_of_others_stay(ackmark: Path) -> None:
    add = f"{START}; tc qdisc add dev near clsact; {FOREIGN.format(60)}"
    _, before, _ = by_script(f"{add}; {SHOW}", ackmark)
    code, after, told = by_script(
        f"{add}; ./ackmark-ebpf install near >&2 && ./ackmark-ebpf remove near >&2; {SHOW}", ackmark
    )
    assert (code, after) == (0, before), told
    assert "pref 60 bpf" in after


def test_clsact_stays_if_somebody_uses_it_since(ackmark: Path) -> None:
    script = f"./ackmark-ebpf install near; {FOREIGN.format(60)}; ./ackmark-ebpf remove near; {SHOW}"
    _, after, told = by_script(f"{START}; {script}", ackmark)
    assert "clsact" in after, told
    assert "pref 60 bpf" in after
    assert "ack_out" not in after


def test_a_place_that_is_taken_is_refused_and_nothing_is_done(ackmark: Path) -> None:
    add = f"{START}; tc qdisc add dev near clsact; {FOREIGN.format(49)}"
    _, before, _ = by_script(f"{add}; {SHOW}", ackmark)
    _, after, told = by_script(f"{add}; ./ackmark-ebpf install near; {SHOW}", ackmark)
    assert "a filter of somebody else at egress, pref 49" in told
    assert after == before
    code, after, told = by_script(f"{add}; ACKMARK_PREF=48 ./ackmark-ebpf install near", ackmark)
    assert code == 0, told


def test_an_installation_that_fails_takes_back_what_it_did(ackmark: Path, tmp_path: Path) -> None:
    _, before, _ = by_script(f"{START}; {SHOW}", ackmark)
    broken = tmp_path / "tc"
    broken.write_text('#!/bin/sh\ncase "$*" in *add*egress*) exit 1 ;; esac\nPATH=${PATH#*:}\nexec tc "$@"\n')
    broken.chmod(0o755)
    install = f"PATH={tmp_path}:$PATH ./ackmark-ebpf install near >&2 && exit 9"
    code, after, told = by_script(f"{START}; {install}; {SHOW}", ackmark)
    assert (code, after) == (0, before), told


def test_a_rule_set_may_have_its_own_table_alone(tmp_path: Path) -> None:
    need("nft")
    more = tmp_path / "more.nft"
    more.write_text((DEPLOY / "copy-mark.nft").read_text() + "flush ruleset\n")
    other = "nft add table inet other"
    code, out, told = by_script(f"{other}; ./ackmark-nft install {more} || nft list ruleset")
    assert "has more than the table inet perhop_ackmark: flush ruleset" in told
    assert out == "table inet other {\n}\n"
    code, out, told = by_script(
        f"{other}; ./ackmark-nft install copy-mark.nft >&2 && ./ackmark-nft remove >&2; nft list ruleset"
    )
    assert (code, out) == (0, "table inet other {\n}\n"), told


def test_marks_of_connections_that_others_set_are_left_to_them() -> None:
    need("nft")
    other = "nft add table inet other; nft add chain inet other c; nft add rule inet other c ct mark set 1"
    code, _, told = by_script(f"{other}; ./ackmark-nft install copy-mark.nft")
    assert code == 1
    assert "other rules set the mark of connections" in told
