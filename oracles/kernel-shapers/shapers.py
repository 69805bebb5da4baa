"""The kernel's tbf and htb on real packets; beside them perhop's, in virtual time and on real packets.

    python oracles/kernel-shapers/shapers.py OUT.csv    # four runs of each: ten minutes, root and iproute2
    python oracles/kernel-shapers/shapers.py            # the table of the README, from what is recorded

Between two namespaces is a veth pair whose sending end has the qdisc. UDP of several sockets goes through;
a packet has 1,514 bytes there. A cell measures what each class gets after the first second of a lasting load,
or what becomes of 40 packets that are sent at once: how many arrive within a millisecond of the first, and
how long after it the last one does.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent
PACKET = 1514
PAYLOAD = PACKET - 14 - 20 - 8
WARMUP_S, DURATION_S = 1.0, 10.0
PACKETS = 40
ADDRESSES = ("10.77.0.1", "10.77.0.2")
PORT = 5000
CLONE_NEWNET = 0x40000000
SO_TIMESTAMPNS = 35
BUCKET = 1600
ATTEMPTS = 10


@dataclass(frozen=True)
class Class:
    """A class of htb, rates in Mbit/s and buckets in bytes; of tbf the only one, with its rate and bucket.

    `offered` is the load, of 0 none; of a cell with a burst nobody looks at it.
    """

    rate: float
    ceil: float
    offered: float = 0
    priority: int = 0
    burst: int = BUCKET
    cburst: int = BUCKET


@dataclass(frozen=True)
class Cell:
    """Classes under a parent of 8 Mbit/s with a bucket of `burst` bytes.

    Or tbf, which adds `overhead` to a length and counts `mpu` at least, in bytes.
    """

    classes: tuple[Class, ...]
    burst: int = BUCKET
    overhead: int = 0
    mpu: int = 0
    is_tbf: bool = False
    is_burst: bool = False


CELLS = {
    "tbf": Cell((Class(5, 5, 8, burst=2 * PACKET),), is_tbf=True),
    "tbf, overhead": Cell((Class(5, 5, 8, burst=2 * PACKET),), overhead=100, is_tbf=True),
    "tbf, least length": Cell((Class(5, 5, 8, burst=2 * PACKET),), mpu=2000, is_tbf=True),
    "tbf, a burst": Cell((Class(5, 5, burst=10 * PACKET),), is_tbf=True, is_burst=True),
    "htb, rates": Cell((Class(1, 8, 6), Class(2, 8, 6), Class(5, 8, 6))),
    "htb, borrowing": Cell((Class(1, 8, 9), Class(3, 8, 9), Class(4, 8))),
    "htb, priorities": Cell((Class(3, 8, 9, 1), Class(1, 4, 9), Class(4, 8))),
    "htb, ceilings": Cell((Class(1, 2, 9), Class(3, 3, 9))),
    "htb, a burst": Cell((Class(2, 8, burst=5 * PACKET, cburst=20 * PACKET),), is_burst=True),
    "htb, a burst and a ceiling": Cell((Class(8, 8, burst=20 * PACKET, cburst=5 * PACKET),), is_burst=True),
    "htb, a burst that is lent": Cell((Class(1, 8, cburst=30 * PACKET),), burst=12 * PACKET, is_burst=True),
}


def quantum(one: Class) -> int:
    """Return the bytes of a turn: two packets for each Mbit/s."""
    return round(2 * PACKET * one.rate)


def commands(cell: Cell, device: str) -> list[str]:
    """List what ``tc`` is given."""
    if cell.is_tbf:
        (one,) = cell.classes
        counted = f"overhead {cell.overhead} mpu {cell.mpu} limit {100 * PACKET}"
        return [f"qdisc add dev {device} root tbf rate {one.rate}mbit burst {one.burst} {counted}"]
    buckets = f"burst {cell.burst} cburst {cell.burst}"
    lines = [
        f"qdisc add dev {device} root handle 1: htb default 10",
        f"class add dev {device} parent 1: classid 1:1 htb rate 8mbit ceil 8mbit {buckets}",
    ]
    for at, one in enumerate(cell.classes):
        add = f"class add dev {device} parent 1:1 classid 1:{at + 10} htb prio {one.priority}"
        buckets = f"burst {one.burst} cburst {one.cburst}"
        lines.append(f"{add} rate {one.rate}mbit ceil {one.ceil}mbit {buckets} quantum {quantum(one)}")
        lines.append(f"qdisc add dev {device} parent 1:{at + 10} pfifo limit 100")
    return lines


def by_the_kernel(cell: Cell) -> Iterator[tuple[int, str, float]]:
    """Send through the kernel's qdisc; give class, quantity and value."""
    names = [f"shapers-{os.getpid()}-{end}" for end in "ab"]
    devices = [f"sh{os.getpid() % 100000}{end}" for end in "ab"]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        link = ["ip", "link", "add", devices[0], "netns", names[0], "type", "veth"]
        subprocess.run([*link, "peer", "name", devices[1], "netns", names[1]], check=True)
        for name, device, address in zip(names, devices, ADDRESSES, strict=True):
            subprocess.run(["ip", "-n", name, "addr", "add", f"{address}/24", "dev", device], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", device, "up"], check=True)
        for name in names:
            # its own packets would each count as one of the least length
            setting = ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]
            subprocess.run(["ip", "netns", "exec", name, *setting], check=True)
        for line in commands(cell, devices[0]):
            subprocess.run(["tc", "-n", names[0], *line.split()], check=True)
        if cell.is_burst:
            yield from in_a_burst(_burst(names))
        else:
            yield from _load(cell.classes, names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def in_a_burst(arrivals: list[float]) -> Iterator[tuple[int, str, float]]:
    """Say what became of packets that were sent at once, from when they arrived, in s."""
    if len(arrivals) != PACKETS:
        raise RuntimeError(f"{len(arrivals)} of {PACKETS} packets arrived")
    yield 0, "within 1 ms", sum(at - arrivals[0] <= 1e-3 for at in arrivals)
    yield 0, "last after, ms", 1e3 * (arrivals[-1] - arrivals[0])


def _sockets(namespace: str, count: int) -> list[socket.socket]:
    """Open UDP sockets in a namespace: a thread of its own goes there, and ends."""
    found: list[socket.socket] = []

    def opened() -> None:
        with Path(f"/run/netns/{namespace}").open() as there:
            if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        found.extend(socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count))

    thread = threading.Thread(target=opened)
    thread.start()
    thread.join()
    return found


def _burst(names: list[str]) -> list[float]:
    """Send packets at once; return when the kernel took each in, in s."""
    (sender,), (receiver,) = (_sockets(name, 1) for name in names)
    with sender, receiver:
        receiver.bind((ADDRESSES[1], PORT))
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        receiver.settimeout(1.0)
        sender.connect((ADDRESSES[1], PORT))
        arrivals = []
        sender.send(bytes(PAYLOAD))  # neighbours learn of each other
        receiver.recv(PACKET)
        time.sleep(1.0)
        for _ in range(PACKETS):
            sender.send(bytes(PAYLOAD))
        for _ in range(PACKETS):
            _, ((_, _, stamp), *_), _, _ = receiver.recvmsg(PACKET, 64)
            seconds, nanoseconds = struct.unpack("qq", stamp)
            arrivals.append(seconds + 1e-9 * nanoseconds)
        return arrivals


def _load(classes: tuple[Class, ...], names: list[str]) -> Iterator[tuple[int, str, float]]:
    senders, receivers = (_sockets(name, len(classes)) for name in names)
    arrived = [0] * len(classes)
    ends = time.monotonic() + WARMUP_S + DURATION_S

    def send(at: int) -> None:
        sock, gap = senders[at], 8e-6 * PACKET / classes[at].offered
        # the class that htb finds by the priority of a socket
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 1 << 16 | 0x10 + at)
        sock.connect((ADDRESSES[1], PORT + at))
        due = time.monotonic()
        while due < ends:
            time.sleep(max(0.0, due - time.monotonic()))
            sock.send(bytes(PAYLOAD))
            due += gap

    def count(at: int) -> None:
        sock = receivers[at]
        sock.bind((ADDRESSES[1], PORT + at))
        sock.settimeout(0.2)
        while (now := time.monotonic()) < ends:
            try:
                sock.recv(PACKET)
            except TimeoutError:
                continue
            arrived[at] += now >= ends - DURATION_S

    threads = [threading.Thread(target=count, args=(at,)) for at in range(len(classes))]
    threads += [threading.Thread(target=send, args=(at,)) for at, one in enumerate(classes) if one.offered]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sock in senders + receivers:
        sock.close()
    for at, packets in enumerate(arrived):
        if classes[at].offered:
            yield at, "Mbit/s", 8e-6 * PACKET * packets / DURATION_S


def scenario(cell: Cell) -> str:
    """Write the cell as a scenario of perhop."""
    measured = (0, 1) if cell.is_burst else (WARMUP_S, WARMUP_S + DURATION_S)
    lines = ['[run]\nwarmup = "{}s"\nduration = "{}s"'.format(*measured), f'packet_size = "{PACKET}B"']
    lines += ['[[node]]\nname = "a"\n[[node]]\nname = "b"\n[[link]]\nends = ["a", "b"]\nrate = "1Gbit/s"']
    lines.append('[[port]]\nat = "a"\nto = "b"')
    if cell.is_tbf:
        (one,) = cell.classes
        counted = f'overhead = "{cell.overhead}B", mpu = "{cell.mpu}B"'
        lines.append(f'shaper = {{ rate = "{one.rate}Mbit/s", burst = "{one.burst}B", {counted} }}')
    else:
        lines.append(f'scheduler = {{ kind = "htb", rate = "8Mbit/s", burst = "{cell.burst}B" }}')
    for at, one in enumerate(cell.classes):
        match = "any" if at + 1 == len(cell.classes) else f"CS{at + 1}"
        lines.append(f'[[port.class]]\nname = "c{at}"\nmatch = ["{match}"]')
        lines.append('queue = { kind = "fifo", limit = "100p" }')
        if not cell.is_tbf:
            lines.append(f'rate = "{one.rate}Mbit/s"\nceil = "{one.ceil}Mbit/s"')
            lines.append(f'burst = "{one.burst}B"\ncburst = "{one.cburst}B"')
            lines.append(f'priority = {one.priority}\nquantum = "{quantum(one)}B"')
    for at, one in enumerate(cell.classes):
        udp = f'[[udp]]\nname = "c{at}"\nfrom = "a"\nto = "b"\nmark = "CS{at + 1}"'
        if cell.is_burst:
            lines.append(f'{udp}\nstart = "500ms"\npattern = {{ kind = "capture", file = "burst.pcap" }}')
        elif one.offered:
            lines.append(f'{udp}\nrate = "{one.offered}Mbit/s"\npacket_size = "{PACKET}B"')
    return "\n".join(lines)


def capture() -> bytes:
    """Give a capture of packets at one moment (pcap of raw IPv4)."""
    addresses = map(socket.inet_aton, ADDRESSES)
    headers = struct.pack(">BBHHHBBH4s4s", 0x45, 0, PACKET, 0, 0, 64, socket.IPPROTO_UDP, 0, *addresses)
    headers += struct.pack(">HHHH", PORT, PORT, PACKET - 20, 0)
    packet = struct.pack("<IIII", 0, 0, len(headers), PACKET) + headers
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + PACKETS * packet


def by_perhop(cell: Cell, *settings: str) -> Iterator[tuple[int, str, float]]:
    """Send through perhop's elements; give class, quantity and value."""
    import perhop

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "burst.pcap").write_bytes(capture())
        file = Path(folder, "scenario.toml")
        file.write_text(scenario(cell))
        loaded = perhop.Scenario.load(file).override(*settings)
        for _ in range(ATTEMPTS):
            run = loaded.run(trace=["packets"] if cell.is_burst else [])
            if run.live is None or not run.live.over_budget:
                break
        else:
            raise RuntimeError(f"over the error budget, {ATTEMPTS} times: {run.live.over_budget}")
    if cell.is_burst:
        arrivals = run.trace["packets"].filter(event="delivered", path="port.a-b")
        yield from in_a_burst(arrivals["time_s"].to_list())
    else:
        for name, rate in run.udp.select("name", "throughput_bit_s").rows():
            yield int(name.removeprefix("c")), "Mbit/s", rate / 1e6


def by_perhop_live(cell: Cell) -> Iterator[tuple[int, str, float]]:
    """As `by_perhop`, on real packets; what is sent at once is a capture, which a live run does not send."""
    return iter(()) if cell.is_burst else by_perhop(cell, "run.clock=live")


ARMS = {"kernel": by_the_kernel, "simulator": by_perhop, "live arm": by_perhop_live}


def measure(out: Path, replications: int) -> None:
    """Write what each arm gives for each cell; the simulator's once."""
    with out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["cell", "class", "quantity", "arm", "replication", "value"])
        for name, cell in CELLS.items():
            for arm, of in ARMS.items():
                for replication in range(1 if arm == "simulator" else replications):
                    for at, quantity, value in of(cell):
                        writer.writerow([name, at, quantity, arm, replication, f"{value:.4f}"])
            file.flush()
            print(name, file=sys.stderr)


def table() -> Iterator[str]:
    """Give the lines of the README's table: each arm's least and largest value."""
    yield f"| cell | | {' | '.join(ARMS)} |\n|{'---|' * (2 + len(ARMS))}"
    of = pl.read_csv(HERE / "shapers.csv").group_by("cell", "class", "quantity", "arm", maintain_order=True)
    found = of.agg(pl.col("value").min().alias("least"), pl.col("value").max().alias("most"))
    for (cell, at, quantity), rows in found.group_by("cell", "class", "quantity", maintain_order=True):
        what = quantity if len(CELLS[cell].classes) == 1 else f"class {at}, {quantity}"
        values = {}
        for arm, least, most in rows.select("arm", "least", "most").rows():
            shown = (f"{least:.4g}", f"{most:.4g}")
            values[arm] = shown[0] if shown[0] == shown[1] else " to ".join(shown)
        yield f"| {cell} | {what} | {' | '.join(values.get(arm, '–') for arm in ARMS)} |"


def main() -> None:
    """Measure every cell, or print the table of what is recorded."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--replications", type=int, default=4)
    given = parser.parse_args()
    if given.out is None:
        for line in table():
            print(line)
    else:
        measure(given.out, given.replications)


if __name__ == "__main__":
    main()
