"""A program for tests: a download and an upload through a router between nameless namespaces.

`python forwarded_flows.py PLAN`, in a network and a mount namespace of its own: the router. PLAN is JSON:

- `install`, `check`, `remove`: commands in the router's namespace;
- `marks`: those that data is sent with, one after the other, by both senders.

`pc` fetches from port 8080 of `server` (its own port is 5001), and sends to its port 8081. It prints JSON:
of every packet of TCP that left the router the way it took, the port that sent it, the bytes of payload,
the mark and the flags. Nothing outlives it.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from typing import Any

NODES = {"server": "10.9.1.2", "pc": "10.9.2.2"}
ROUTER = {"server": "10.9.1.1", "pc": "10.9.2.1"}
CHUNK = 128 * 1024
"""Bytes with one mark."""
SO_RCVBUFFORCE = 33
BUFFER = 1 << 24
"""Bytes that a tap holds: all that is sent, however late it is read."""
FETCH, SEND = 8080, 8081

ENDS = f"""
import socket, sys
who, marks = sys.argv[1], [int(one) for one in sys.argv[2].split(",")]
def send(to):
    for mark in marks:
        to.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, mark << 2)
        to.sendall(bytes({CHUNK}))
        to.recv(1)
def take(source):
    for _ in marks:
        left = {CHUNK}
        while left:
            left -= len(source.recv(left))
        source.sendall(b"x")
if who == "server":
    ports = [socket.create_server(("{NODES["server"]}", port)) for port in ({FETCH}, {SEND})]
    print("ready", flush=True)
    send(ports[0].accept()[0])
    take(ports[1].accept()[0])
else:
    one = socket.socket()
    one.bind(("{NODES["pc"]}", 5001))
    one.connect(("{NODES["server"]}", {FETCH}))
    take(one)
    other = socket.create_connection(("{NODES["server"]}", {SEND}))
    send(other)
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, check=True, capture_output=True, text=True)


def prepare() -> None:
    """Make both hosts, and the router's way between them."""
    run("mkdir", "-p", "/run/netns")
    run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    run("ip", "link", "set", "lo", "up")
    for name, address in NODES.items():
        run("ip", "netns", "add", name)
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "address", "add", f"{ROUTER[name]}/24", "dev", name)
        run("ip", "link", "set", name, "up")
        run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "route", "add", "default", "via", ROUTER[name])
    with open("/proc/sys/net/ipv4/ip_forward", "w") as switch:
        switch.write("1")


def watch(device: str, seen: list[dict[str, Any]], stop: threading.Event) -> threading.Thread:
    """Note the packets of TCP that leave by a device, after the rules."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    tap.bind((device, 3))
    tap.settimeout(0.2)

    def listen() -> None:
        while True:
            try:
                packet, (_, _, kind, *_) = tap.recvfrom(65536)
            except TimeoutError:
                # not before: what waits is read, however late
                if stop.is_set():
                    return
                continue
            if kind == socket.PACKET_OUTGOING and packet[9] == 6:
                head = 4 * (packet[0] & 15)
                words = 4 * (packet[head + 12] >> 4)
                size = int.from_bytes(packet[2:4], "big") - head - words
                port = int.from_bytes(packet[head : head + 2], "big")
                flags, ack = packet[head + 13], int.from_bytes(packet[head + 8 : head + 12], "big")
                one = {
                    "to": device,
                    "port": port,
                    "payload": size,
                    "dscp": packet[1] >> 2,
                    "flags": flags,
                    "ack": ack,
                }
                seen.append(one)

    thread = threading.Thread(target=listen)
    thread.start()
    return thread


def main() -> None:
    """Run the plan and print what was seen."""
    plan = json.loads(sys.argv[1])
    prepare()
    marks = ",".join(map(str, plan["marks"]))
    seen: list[dict[str, Any]] = []
    stop = threading.Event()
    threads = [watch(name, seen, stop) for name in NODES]
    try:
        run(*plan["install"])
        server = subprocess.Popen(
            ["ip", "netns", "exec", "server", sys.executable, "-c", ENDS, "server", marks],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        server.stdout.readline()
        run("ip", "netns", "exec", "pc", sys.executable, "-c", ENDS, "pc", marks)
        server.wait(20)
        time.sleep(0.3)
        check = run(*plan["check"]).stdout
        run(*plan["remove"])
        left = run("nft", "list", "ruleset").stdout
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    print(json.dumps({"packets": seen, "check": check, "left": left}))


if __name__ == "__main__":
    main()
