"""`perhop init`: an annotated scenario to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perhop.cli import options
from perhop.cli.exit import CommandError, ExitCode

_SCENARIO = """\
#:schema ./perhop.schema.json
# Two TCP connections in opposite directions over one asymmetric link, such as a cable modem's.
# The acknowledgments of the download share the slow direction with the data of the upload.
# Units are written in full (100kbit/s, 64KiB, 5ms, 88p for packets); a bare number is an error.

[run]
seed = 1             # names every random draw: the same seed gives the same results, bit for bit
duration = "60s"
warmup = "10s"       # the tables count from here; the series start at 0
interval = "1s"      # spacing of the samples in the series

[[node]]
name = "slow"        # the home, behind the slow uplink

[[node]]
name = "fast"        # the rest of the world

[[link]]
ends = ["slow", "fast"]
rate = { "slow->fast" = "100kbit/s", "fast->slow" = "5Mbit/s" }
delay = "0ms"
pure_ack_size = "28B"   # an ACK with compressed headers

# The outgoing interface of the slow node: how data and ACKs share the slow link.
[[port]]
at = "slow"
to = "fast"
# Two counters keep `share` of the link for the class "data" while both classes have packets.
# Other treatments to try:
#   scheduler = { kind = "strict-priority" }   the first class below always goes first (ACKs first)
#   without this [[port]]                      one shared FIFO
#   backpressure = 1                           with a FIFO: TCP may have that many packets in the port
scheduler = { kind = "paired-counter", data = "data", share = 0.5 }

[[port.class]]
name = "acks"
match = ["pure-ack"]
queue = { kind = "fifo", limit = "1000p" }

[[port.class]]
name = "data"
match = ["any"]
queue = { kind = "fifo", limit = "1000p" }

[[flow]]
name = "up"
from = "slow"
to = "fast"
tcp = { window = "64KiB", mss = "1460B" }

[[flow]]
name = "down"
from = "fast"
to = "slow"
tcp = { window = "64KiB", mss = "1460B" }
"""

_README = """\
# Two-way TCP over an asymmetric link

| File | What it is |
|---|---|
| `two-way.toml` | the scenario, with a comment on every part |
| `perhop.schema.json` | its JSON Schema: editors that read the `#:schema` line check as you type |

```
perhop check two-way.toml                     # every mistake at once
perhop describe two-way.toml                  # what the file means, defaults included
perhop run two-way.toml -o out/half           # one run, a folder of tables
perhop report out/half                        # one HTML page about it; open out/half/report.html
perhop replay out/half                        # run it again and compare, bit for bit
```

Change how the slow link is shared, and see what changes:

```
perhop run two-way.toml -s port.slow-fast.scheduler.share=0.18 -o out/less
perhop report out/less
```

With half the link for data the upload gets about half of the 100 kbit/s and the download about half of
the 5 Mbit/s. With 0.18 the upload gives way, and the download, whose acknowledgments now have room, gains.

From Python:

```python
import perhop

scenario = perhop.Scenario.load("two-way.toml")
for share in (0.1, 0.3, 0.5, 0.7, 0.9):
    result = scenario.override(f"port.slow-fast.scheduler.share={share}").run()
    print(share, result.flows["goodput_bit_s"].to_list())
```
"""


def command(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to; made if missing.")] = Path(),
    as_json: options.Json = False,
) -> None:
    """Write an annotated scenario, its schema and a README with next steps."""
    from perhop import _core
    from perhop.cli.output import print_json

    files = {
        directory / "two-way.toml": _SCENARIO,
        directory / "perhop.schema.json": _core.schema().rstrip() + "\n",
        directory / "README.md": _README,
    }
    there = [str(file) for file in files if file.exists()]
    if there:
        raise CommandError(
            ExitCode.USAGE, f"{', '.join(there)}: there already, nothing written", "choose an empty folder"
        )
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        for file in files:
            print(file)
        print(f"next: perhop run {directory / 'two-way.toml'}")
