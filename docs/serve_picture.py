"""Draw the picture of docs/serve.md: the form of the starter with two settings changed, in headless Chromium.

.venv/bin/python docs/serve_picture.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "tests"))

from chromium import Chromium  # noqa: E402

CHANGED = {"link.slow-fast.delay": "10ms", "port.slow-fast.scheduler.share": "0.3"}


def main() -> None:
    """Serve a starter, open its form, change it and take the picture."""
    perhop = [sys.executable, "-m", "perhop.cli"]
    with tempfile.TemporaryDirectory() as top:
        subprocess.run([*perhop, "init", "lab"], cwd=top, check=True, stdout=subprocess.DEVNULL)
        serving = [*perhop, "serve", "lab"]
        with subprocess.Popen(serving, cwd=top, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            browser = Chromium(Path(top) / "profile")
            try:
                browser.go(address)
                browser.go(f"{address.partition('?')[0]}form/0/two-way.toml")
                for path, text in CHANGED.items():
                    field = f"document.querySelector('[name=\"value:{path}\"]')"
                    browser.js(f"{field}.value = '{text}'")
                    browser.js(f"{field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
                    browser.js(
                        f"for (let e = {field}; e; e = e.parentElement) if ('open' in e) e.open = true"
                    )
                browser.until("document.getElementById('command').textContent.includes('0.3')")
                browser.js("document.querySelectorAll('h2')[2].scrollIntoView()")
                browser.picture(TOP / "docs" / "img" / "serve.png", 1100, dark=False, whole=False)
            finally:
                browser.close()
                server.terminate()


if __name__ == "__main__":
    main()
