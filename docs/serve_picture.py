"""Draw the picture of docs/serve.md: the form of the starter, a slider moved, in headless Chromium.

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

SHARE = "document.querySelector('[name=\"value:port.slow-fast.scheduler.share\"] + [type=range]')"


def main() -> None:
    """Serve a starter, open its form, move a slider and take the picture."""
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
                for rows, share in ((2, 30), (3, 80)):
                    browser.js(f"{SHARE}.value = {share}")
                    browser.js(f"{SHARE}.dispatchEvent(new Event('input', {{bubbles: true}}))")
                    browser.until(f"document.querySelectorAll('#tried tbody tr').length === {rows}")
                browser.until("document.getElementById('command').textContent.includes('0.8')")
                browser.js("document.querySelector('figure').scrollIntoView()")
                browser.picture(TOP / "docs" / "img" / "serve.png", 1100, dark=False, whole=False)
            finally:
                browser.close()
                server.terminate()


if __name__ == "__main__":
    main()
