"""The eBPF program packet by packet, as the kernel runs it on packets made by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from namespaces import namespace
from real_flows import header_sum

ACK, DATA, SYN, FIN, RST = 0x10, 0x18, 0x02, 0x11, 0x14
BEST, WORST = 1, 2


def packet(family: int, tos: int, flags: int, payload: int = 0, options: int = 0, pad: int = 0) -> bytes:
    """Make a frame; an ACK goes back where data came from."""
    there = flags in (DATA, SYN)
    ports = (49152, 5001) if there else (5001, 49152)
    doff = (20 + options) // 4 << 4
    tcp = struct.pack("!2H2I2B3H", *ports, 1, 1, doff, flags, 1000, 0, 0) + bytes([1] * options)
    ends = [b"\1" * 4, b"\2" * 4] if family == 4 else [b"\1" * 16, b"\2" * 16]
    both = b"".join(ends if there else ends[::-1])
    if family == 6:
        head = struct.pack("!I2H", 6 << 28 | tos << 20 | 0x12345, 0, 0)[:4]
        ip = head + struct.pack("!H2B", len(tcp) + payload, 6, 64) + both
    else:
        ip = struct.pack("!2B3H2BH", 0x45, tos, 20 + len(tcp) + payload, 7, 0, 64, 6, 0) + both
        total = sum(struct.unpack("!10H", ip))
        total = (total & 0xFFFF) + (total >> 16)
        ip = ip[:10] + struct.pack("!H", ~total & 0xFFFF) + ip[12:]
    kind = b"\x08\x00" if family == 4 else b"\x86\xdd"
    return bytes(12) + kind + ip + tcp + bytes(payload + pad)


def through(
    ackmark: Path, folder: Path, steps: list[tuple[str, bytes]], settings: dict[int, int]
) -> list[bytes]:
    """Give packets to `data_in` and `ack_out` one after the other and return them as they left."""
    value = " ".join(str(settings.get(place, 0)) for place in range(65))
    maps = "/sys/fs/bpf/t/maps/settings"
    script = ["mount -t bpf bpf /sys/fs/bpf"]
    script.append(f"bpftool prog loadall {ackmark} /sys/fs/bpf/t pinmaps /sys/fs/bpf/t/maps")
    script.append(f"bpftool map update pinned {maps} key 0 0 0 0 value {value}")
    for place, (name, frame) in enumerate(steps):
        (folder / f"{place}.in").write_bytes(frame)
        files = f"data_in {folder}/{place}.in data_out {folder}/{place}.out"
        script.append(f"bpftool prog run pinned /sys/fs/bpf/t/{name}_eth {files}")
    done = namespace(["sh", "-ec", "\n".join(script)])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Return value: 4294967295") == len(steps), "no program may end the chain"
    return [(folder / f"{place}.out").read_bytes() for place in range(len(steps))]


def tos(frame: bytes) -> int:
    return frame[15] if frame[14] >> 4 == 4 else (frame[14] & 15) << 4 | frame[15] >> 4


def same_but_for_the_mark(before: bytes, after: bytes) -> bool:
    """Whether nothing but DS field and header checksum differ, and that is right."""
    if before[14] >> 4 == 6:
        return before[16:] == after[16:] and (before[15] ^ after[15]) & 15 == 0
    return before[16:24] == after[16:24] and before[26:] == after[26:] and header_sum(after[14:34]) == 0xFFFF


@pytest.mark.parametrize("family", [4, 6])
def test_ecn_options_and_all_other_bytes_stay(ackmark: Path, tmp_path: Path, family: int) -> None:
    acks = [packet(family, ecn, ACK, options=options) for ecn in range(4) for options in (0, 12, 24, 40)]
    steps = [("data_in", packet(family, 46 << 2 | 2, DATA, 1000)), *(("ack_out", ack) for ack in acks)]
    left = through(ackmark, tmp_path, steps, {})[1:]
    assert [tos(ack) for ack in left] == [46 << 2 | ecn for ecn in range(4) for _ in range(4)]
    assert all(same_but_for_the_mark(*pair) for pair in zip(acks, left, strict=True))


@pytest.mark.parametrize("family", [4, 6])
def test_only_acks_without_anything_else_are_marked(ackmark: Path, tmp_path: Path, family: int) -> None:
    kinds = [(ACK, 0, 0), (ACK, 0, 6), (SYN | ACK, 0, 0), (FIN, 0, 0), (RST, 0, 0), (ACK, 1, 0)]
    frames = [packet(family, 0, flags, payload, pad=pad) for flags, payload, pad in kinds]
    udp = bytearray(packet(family, 0, ACK))
    udp[23 if family == 4 else 20] = 17
    data = ("data_in", packet(family, 10 << 2, DATA, 1000))
    left = through(ackmark, tmp_path, [data, *(("ack_out", one) for one in [*frames, bytes(udp)])], {})[1:]
    assert [tos(one) for one in left] == [40, 40, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("rule", "arriving", "given"),
    [
        (0, [46, 12, 0], 0),
        (BEST, [12, 46, 10], 46),
        (BEST, [0, 8, 56], 56),
        (BEST, [10, 18], 18),
        (BEST, [38, 56], 38),
        (WORST, [12, 46, 10], 12),
        (WORST, [10, 18], 18),
        (WORST, [46, 0, 14], 0),
        (WORST, [5, 8], 5),
    ],
)
def test_of_several_marks_the_rule_chooses(
    ackmark: Path, tmp_path: Path, rule: int, arriving: list[int], given: int
) -> None:
    covered = [("data_in", packet(4, mark << 2, DATA, 500)) for mark in arriving]
    ack = ("ack_out", packet(4, 0, ACK))
    after = ("data_in", packet(4, 20 << 2, DATA, 500))
    left = through(ackmark, tmp_path, [*covered, ack, ack, after, ack], {0: rule})
    first, again, new = left[len(arriving)], left[len(arriving) + 1], left[-1]
    assert [tos(one) >> 2 for one in (first, again, new)] == [given, given, 20]


def test_a_syn_begins_anew_and_padding_is_no_data(ackmark: Path, tmp_path: Path) -> None:
    ack, data = ("ack_out", packet(4, 0, ACK)), ("data_in", packet(4, 46 << 2, DATA, 100))
    syn = ("data_in", packet(4, 0, SYN))
    padded = bytearray(packet(4, 10 << 2, DATA, 0, pad=6))
    left = through(ackmark, tmp_path, [data, ack, syn, ack, data, ("data_in", bytes(padded)), ack], {})
    assert [tos(left[place]) >> 2 for place in (1, 3, 6)] == [46, 0, 46]


def test_a_map_gives_marks_and_best_effort_before_data(ackmark: Path, tmp_path: Path) -> None:
    by_map = {1 + data: 64 + ack for data, ack in {0: 8, 10: 12}.items()}
    ack = ("ack_out", packet(4, 0, ACK))
    left = through(ackmark, tmp_path, [ack, ("data_in", packet(4, 40, DATA, 9)), ack], by_map)
    assert [tos(left[place]) >> 2 for place in (0, 2)] == [8, 12]
