"""A headless Chromium, driven over two pipes by the DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_WAIT_S = 60

#: a browser reads commands from descriptor 3 and writes to 4
_BEGIN = """
import os, sys
for given, place in ((sys.argv[1], 103), (sys.argv[2], 104)):
    os.dup2(int(given), place)
os.dup2(103, 3)
os.dup2(104, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Chromium:
    """A browser with one page, and what the page's console said.

    Parameters
    ----------
    profile
        Folder for what the browser keeps.
    """

    def __init__(self, profile: Path) -> None:
        assert PROGRAM is not None
        read, to_browser = os.pipe()
        self._from, write = os.pipe()
        self._to = to_browser
        words = [sys.executable, "-c", _BEGIN, str(read), str(write), PROGRAM, "--headless", "--no-sandbox"]
        words += ["--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run"]
        words += ["--disable-background-networking", f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            words, pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read)
        os.close(write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.console: list[str] = []
        self.requests: list[str] = []
        self._loaded: set[str] = set()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{part}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(time.monotonic() + _WAIT_S)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise TimeoutError("the browser is silent")
            data = os.read(self._from, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        self._note(found.get("method", ""), found.get("params", {}))
        return found

    def _note(self, method: str, told: dict[str, Any]) -> None:
        if method == "Page.lifecycleEvent" and told["name"] == "load":
            self._loaded.add(told["loaderId"])
        elif method == "Log.entryAdded":
            self.console.append(told["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.console.append(told["exceptionDetails"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def go(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        loader = self.call("Page.navigate", url=address)["loaderId"]
        self.wait(lambda: loader in self._loaded)

    def wait(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so."""
        until = time.monotonic() + _WAIT_S
        while not is_so():
            if time.monotonic() > until:
                raise TimeoutError("it never came")
            self._value("0")
            time.sleep(0.05)

    def _value(self, code: str) -> Any:
        return self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)

    def js(self, code: str) -> Any:
        """Return the value of an expression in the page."""
        found = self._value(code)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, code: str) -> None:
        """Wait until an expression is true; while a page gives way to another it may have no value."""
        self.wait(lambda: self._value(code)["result"].get("value"))

    def picture(self, file: Path, width: int, dark: bool, whole: bool = True) -> None:
        """Take a picture of the page."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
