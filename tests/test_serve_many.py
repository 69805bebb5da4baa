"""`perhop serve` among many who say nothing, little, or too much: who has the link is answered."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from perhop.serve import connections
from serving import started

FILES = 128


@pytest.fixture
def address(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Start a server that may have few files open; give its address and what it says on stderr."""

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))

    (tmp_path / "lab").mkdir()
    said = tmp_path / "said"
    with (
        said.open("w") as err,
        started(tmp_path, "lab", stderr=err, preexec_fn=few) as (_, link),
    ):
        yield link, said


@pytest.mark.parametrize("head", [b"", b"GET / HTTP/1.1\r\nHost: 127.0"], ids=["silent", "half a head"])
def test_many_who_say_nothing_keep_nobody_out(address: tuple[str, Path], head: bytes) -> None:
    base, said = address[0].partition("/?")[0], address[1]
    port = int(base.rpartition(":")[2])
    with httpx.Client(base_url=base, follow_redirects=True, timeout=30) as client, ExitStack() as held:
        assert client.get(address[0]).status_code == 200
        began = time.monotonic()
        assert client.get("/").status_code == 200
        alone = time.monotonic() - began
        for _ in range(4 * FILES):
            one = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            one.sendall(head)
        for again in (False, True):  # on the connection there is, and on a new one
            if again:
                client.headers["connection"] = "close"
            began = time.monotonic()
            assert client.get("/").status_code == 200
            assert time.monotonic() - began < 2.0 + alone
    assert said.stat().st_size < 1000, said.read_text()[:1000]


def test_who_says_nothing_is_let_go(address: tuple[str, Path]) -> None:
    port = int(address[0].partition("/?")[0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=connections.SILENT_S + 20) as one:
        one.sendall(b"GET / HT")
        began = time.monotonic()
        with suppress(ConnectionResetError):
            assert one.recv(1000) == b""
        assert time.monotonic() - began > connections.SILENT_S - 2
