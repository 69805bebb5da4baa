"""The kernel's tbf and htb on real packets, and perhop's shaper and htb in virtual time beside them.

``python oracles/kernel/shapers.py OUT.csv [--replications 4]`` writes the rate of each class of each cell.
It needs root and iproute2. UDP of several sockets goes from a namespace to another through a veth pair whose
sending end has the qdisc; a packet is 1,514 bytes there, as in the scenario. What arrived after the first
second is compared.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PACKET = 1514
PAYLOAD = PACKET - 14 - 20 - 8
WARMUP_S, DURATION_S = 1.0, 10.0
ADDRESSES = ("10.77.0.1", "10.77.0.2")
PORT = 5000
CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Class:
    """A class of htb in Mbit/s, with what is offered to it; of tbf the only one, with its rate."""

    rate: float
    ceil: float
    offered: float
    priority: int = 0


CELLS = {
    "tbf": (Class(5, 5, 8),),
    "htb-rates": (Class(1, 8, 6), Class(2, 8, 6), Class(5, 8, 6)),
    "htb-borrows": (Class(1, 8, 9), Class(3, 8, 9), Class(4, 8, 0)),
    "htb-priorities": (Class(3, 8, 9, 1), Class(1, 4, 9), Class(4, 8, 0)),
    "htb-ceilings": (Class(1, 2, 9), Class(3, 3, 9)),
}
"""Under a parent of 8 Mbit/s, but for tbf, on a link that is faster; quanta are in the ratio of the rates."""


def quantum(one: Class) -> int:
    """Return the bytes of a turn: two packets for each Mbit/s."""
    return round(2 * PACKET * one.rate)


def commands(cell: str, device: str) -> list[str]:
    """List what ``tc`` is given."""
    if cell == "tbf":
        rate = CELLS[cell][0].rate
        return [f"qdisc add dev {device} root tbf rate {rate}mbit burst {2 * PACKET} limit {100 * PACKET}"]
    lines = [
        f"qdisc add dev {device} root handle 1: htb",
        f"class add dev {device} parent 1: classid 1:1 htb rate 8mbit ceil 8mbit burst 1600 cburst 1600",
    ]
    for at, one in enumerate(CELLS[cell]):
        of = f"rate {one.rate}mbit ceil {one.ceil}mbit burst 1600 cburst 1600 prio {one.priority}"
        add = f"class add dev {device} parent 1:1 classid 1:{at + 10:x}"
        lines.append(f"{add} htb {of} quantum {quantum(one)}")
        lines.append(f"qdisc add dev {device} parent 1:{at + 10:x} pfifo limit 100")
    return lines


def kernel(cell: str) -> list[float]:
    """Return the rate of each class through the kernel's qdisc, in Mbit/s."""
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
        for line in commands(cell, devices[0]):
            subprocess.run(["tc", "-n", names[0], *line.split()], check=True)
        return _sent_and_counted(CELLS[cell], names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


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


def _sent_and_counted(classes: tuple[Class, ...], names: list[str]) -> list[float]:
    senders, receivers = (_sockets(name, len(classes)) for name in names)
    arrived = [0] * len(classes)
    ends = time.monotonic() + WARMUP_S + DURATION_S

    def send(at: int) -> None:
        sock, gap = senders[at], 8e-6 * PACKET / classes[at].offered
        # the class that htb finds by the priority of a socket
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, 1 << 16 | at + 10)
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
    return [8e-6 * PACKET * packets / DURATION_S for packets in arrived]


def scenario(cell: str) -> str:
    """Write the cell as a scenario of perhop."""
    classes = CELLS[cell]
    lines = [f'[run]\nduration = "{WARMUP_S + DURATION_S}s"\nwarmup = "{WARMUP_S}s"']
    lines.append(f'packet_size = "{PACKET}B"')
    lines += ['[[node]]\nname = "a"\n[[node]]\nname = "b"\n[[link]]\nends = ["a", "b"]\nrate = "1Gbit/s"']
    lines.append('[[port]]\nat = "a"\nto = "b"')
    if cell == "tbf":
        lines.append(f'shaper = {{ rate = "{classes[0].rate}Mbit/s", burst = "{2 * PACKET}B" }}')
    else:
        lines.append('scheduler = { kind = "htb", rate = "8Mbit/s" }')
    for at, one in enumerate(classes):
        match = "any" if at + 1 == len(classes) else f"CS{at + 1}"
        lines.append(f'[[port.class]]\nname = "c{at}"\nmatch = ["{match}"]')
        lines.append('queue = { kind = "fifo", limit = "100p" }')
        if cell != "tbf":
            lines.append(f'rate = "{one.rate}Mbit/s"\nceil = "{one.ceil}Mbit/s"')
            lines.append(f'priority = {one.priority}\nquantum = "{quantum(one)}B"')
    for at, one in enumerate(classes):
        if one.offered:
            of = f'mark = "CS{at + 1}"\nrate = "{one.offered}Mbit/s"\npacket_size = "{PACKET}B"'
            lines.append(f'[[udp]]\nname = "c{at}"\nfrom = "a"\nto = "b"\n{of}')
    return "\n".join(lines)


def simulated(cell: str) -> list[float]:
    """Return the rate of each class in perhop, in Mbit/s."""
    import perhop

    rows = perhop.Scenario.from_text(scenario(cell)).run().udp.select("name", "throughput_bit_s").rows()
    rates = {name: rate / 1e6 for name, rate in rows}
    return [rates.get(f"c{at}", 0.0) for at in range(len(CELLS[cell]))]


def main() -> None:
    """Measure every cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--replications", type=int, default=4)
    parser.add_argument("--simulated", action="store_true", help="perhop's alone, without root")
    given = parser.parse_args()
    with given.out.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["cell", "class", "replication", "kernel_mbit_s", "perhop_mbit_s"])
        for cell in CELLS:
            ours = simulated(cell)
            for replication in range(0 if given.simulated else given.replications):
                for at, (theirs, own) in enumerate(zip(kernel(cell), ours, strict=True)):
                    writer.writerow([cell, at, replication, f"{theirs:.4f}", f"{own:.4f}"])
            print(cell, [round(one, 3) for one in ours], file=sys.stderr)


if __name__ == "__main__":
    main()
