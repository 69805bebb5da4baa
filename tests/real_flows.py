"""A program for tests: real TCP flows between two nameless namespaces, watched at the receiver.

`python real_flows.py PLAN`, in a network and a mount namespace of its own. PLAN is JSON:

- `link` ("veth" or "tun"), `family` (4 or 6), `lose` (of a TUN: every so many packets of data; 0 none);
- `flows`: for each the marks it sends with, one after the other;
- `install`, `check`, `remove`: commands in the receiver's namespace, `DEV` for its device.

It prints JSON. Nothing outlives it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

FIRST_PORT = 5001
CHUNK = 96 * 1024
ADDRESS = {4: ("10.9.0.1", "10.9.0.2"), 6: ("fd00::1", "fd00::2")}
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def up(device: str, family: int, address: str) -> None:
    plain = ["nodad"] if family == 6 else []
    ip("address", "add", f"{address}/{30 if family == 4 else 64}", "dev", device, *plain)
    ip("link", "set", device, "up")


def tun(name: str) -> int:
    """Open a TUN device: packets without any header before that of IP."""
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x0001 | 0x1000))
    return file


def relay(source: int, target: int, lose: int) -> None:
    """Pass packets from one TUN to the other; of those with much payload lose some."""
    large = 0
    while True:
        try:
            packet = os.read(source, 65536)
            large += len(packet) > 1000
            if not (lose and len(packet) > 1000 and large % lose == 0):
                os.write(target, packet)
        except OSError as error:
            # what a TUN that is down answers
            if error.errno not in (errno.EFAULT, errno.EIO):
                raise
            time.sleep(0.01)


def send(plan: dict[str, Any]) -> None:
    """Be the sender: each flow sends with its marks in turn; the next when all is acknowledged."""
    print("here", flush=True)
    sys.stdin.readline()
    up("far", plan["family"], ADDRESS[plan["family"]][1])

    def flow(number: int, marks: list[int]) -> None:
        connection = socket.socket(FAMILY[plan["family"]])
        connection.settimeout(20)
        option = (socket.IPPROTO_IP, socket.IP_TOS) if plan["family"] == 4 else (socket.IPPROTO_IPV6, 67)
        connection.setsockopt(*option, marks[0] << 2)
        connection.connect((ADDRESS[plan["family"]][0], FIRST_PORT + number))
        for mark in marks:
            connection.setsockopt(*option, mark << 2)
            connection.sendall(bytes(CHUNK))
            while struct.unpack("i", fcntl.ioctl(connection, 0x5411, bytes(4)))[0]:
                time.sleep(0.005)
            time.sleep(0.06)
        connection.close()

    threads = [threading.Thread(target=flow, args=one) for one in enumerate(plan["flows"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("sent", flush=True)
    sys.stdin.read()


def sink(listener: socket.socket) -> None:
    connection = listener.accept()[0]
    while connection.recv(65536):
        pass
    connection.close()


def header_sum(header: bytes) -> int:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def seen(packet: bytes, outgoing: bool) -> dict[str, Any] | None:
    """Read a packet of TCP; `flow` counts from 0."""
    if packet[0] >> 4 == 4 and packet[9] == 6:
        header, length, tos = (packet[0] & 15) * 4, int.from_bytes(packet[2:4]), packet[1]
        good = header_sum(packet[:header]) == 0xFFFF
    elif packet[0] >> 4 == 6 and packet[6] == 6:
        header, length, good = 40, 40 + int.from_bytes(packet[4:6]), True
        tos = int.from_bytes(packet[:2]) >> 4 & 255
    else:
        return None
    ports = struct.unpack("!2H", packet[header : header + 4])
    options = (packet[header + 12] >> 4) * 4
    return {
        "flow": ports[0 if outgoing else 1] - FIRST_PORT,
        "outgoing": outgoing,
        "payload": length - header - options,
        "options": options - 20,
        "flags": packet[header + 13],
        "dscp": tos >> 2,
        "good": good,
    }


def capture(watcher: socket.socket, packets: list[dict[str, Any]]) -> None:
    while True:
        try:
            packet, origin = watcher.recvfrom(200)
        except OSError:
            return  # the device is gone, as the test is over
        one = seen(packet, origin[2] == socket.PACKET_OUTGOING)
        if one:
            packets.append(one)


def run(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        [word.replace("DEV", "near") for word in command], capture_output=True, text=True, check=False
    )
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


def state() -> str:
    """Return what is attached here, for a comparison of before and after."""
    commands = [
        ["tc", "qdisc", "show"],
        ["find", "/sys/fs/bpf", "-mindepth", "1"],
        ["nft", "list", "ruleset"],
    ]
    found = ""
    for command in commands:
        try:
            found += subprocess.run(command, capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            found += f"no {command[0]}\n"
    return found


def connect(plan: dict[str, Any], other: int) -> None:
    """Join the two namespaces: device `near` here, `far` there."""
    if plan["link"] == "veth":
        ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(other))
    else:
        here, there = tun("near"), tun("far")
        ip("link", "set", "far", "netns", str(other))
        threading.Thread(target=relay, args=(there, here, plan["lose"]), daemon=True).start()
        threading.Thread(target=relay, args=(here, there, 0), daemon=True).start()
    up("near", plan["family"], ADDRESS[plan["family"]][0])


def receive(plan: dict[str, Any]) -> dict[str, Any]:
    """Be the receiver, with the sender as a child."""
    subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], capture_output=True, check=False)
    command = ["unshare", "--net", sys.executable, __file__, sys.argv[1], "send"]
    sender = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert sender.stdin is not None
    assert sender.stdout is not None
    sender.stdout.readline()
    connect(plan, sender.pid)
    before = state()
    installed = run(plan["install"])
    if installed["code"]:
        sender.kill()
        return {"installed": installed}
    packets: list[dict[str, Any]] = []
    watcher = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    watcher.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
    watcher.bind(("near", 3))
    threading.Thread(target=capture, args=(watcher, packets), daemon=True).start()
    for number in range(len(plan["flows"])):
        listener = socket.create_server(("", FIRST_PORT + number), family=FAMILY[plan["family"]])
        threading.Thread(target=sink, args=(listener,), daemon=True).start()
    sender.stdin.write("\n")
    sender.stdin.flush()
    sent = sender.stdout.readline()
    time.sleep(0.1)
    dropped = struct.unpack("2I", watcher.getsockopt(263, 6, 8))[1]
    found = {"installed": installed, "sent": sent == "sent\n", "dropped": dropped, "packets": list(packets)}
    found["check"] = run(plan["check"])
    found["removed"] = run(plan["remove"])
    found["left"] = state() != before
    sender.stdin.close()
    sender.wait(10)
    return found


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    if len(sys.argv) > 2:
        send(asked)
    else:
        print(json.dumps(receive(asked)), flush=True)
        os._exit(0)
