"""Qdiscs without classes as queues, with the conventions of Linux."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from perhop.deploy.words import SETTINGS, Setting
from perhop.import_ns2.remarks import Refused, Remarks
from perhop.import_tc.quantities import WRITTEN, count, real, size
from perhop.import_tc.reading import Part

Table = dict[str, Any]

FIFO: Table = {"kind": "fifo", "limit": "1000p"}
"""The queue of a class without a qdisc: as many packets as the device's `txqueuelen`, 1000 by default."""

_LINUX = {"like": "linux"}
_SFQ = (SETTINGS["fq"][0], Setting("divisor", "queues", "count"), SETTINGS["fq"][2])
_KINDS: dict[str, tuple[Table, tuple[Setting, ...]]] = {
    "pfifo": (FIFO, (Setting("limit", "limit", "packets"),)),
    "bfifo": (FIFO | {"limit": "1514000B"}, (Setting("limit", "limit", "bytes"),)),
    "fq_codel": ({"kind": "fq", "conventions": _LINUX}, SETTINGS["fq"]),
    "fq_pie": ({"kind": "fq", "conventions": _LINUX}, SETTINGS["fq"]),
    "sfq": ({"kind": "fq", "limit": "127p"}, _SFQ),
    "cake": ({"kind": "cake"}, SETTINGS["cake"]),
    "dualpi2": ({"kind": "dualpi2", "limit": "10000p", "conventions": _LINUX}, SETTINGS["dualpi2"]),
    **{kind: ({"kind": kind, "conventions": _LINUX}, SETTINGS[kind]) for kind in ("codel", "pie")},
}
_INNER: dict[str, tuple[Table, tuple[Setting, ...]]] = {
    "fq_codel": (
        {"kind": "codel", "ecn": True, "conventions": _LINUX | {"mtu": "1514B"}},
        SETTINGS["codel"][1:],
    ),
    "fq_pie": ({"kind": "pie", "conventions": _LINUX}, SETTINGS["pie"][1:]),
    "sfq": (FIFO | {"limit": "127p"}, (Setting("depth", "limit", "packets"),)),
}
KINDS = {*_KINDS, "red"}
"""Those that are taken."""

_AS_WORD = {"enabled": "ack-filter", "aggressive": "ack-filter-aggressive", "disabled": "no-ack-filter"}
_USUAL = re.split(
    r",\s+",
    """nat, nonat, nowash, egress, split-gso, split_gso, noatm, raw, via-ethernet, unlimited, l4s_ect,
    drop_on_overload, drop_dequeue, bandwidth unlimited, atm noatm, fwmark 0, ecn_prob 10, drop-overload drop,
    drop-early drop-dequeue, ecn-mask l4s-ect, linklayer ethernet, mpu 0b""",
)
"""Settings that change nothing here, or are as perhop has it."""
_BESIDE = "ver level burst_cell cburst_cell direct_packets_stat direct_qlen Scell_log bandwidth"
"""Words that are shown beside settings, and what counts only while nothing waits."""
_BUFFERS, _CELLS = "packets have no buffers here: `limit` counts", "perhop counts bytes: no cells, no coding"
_WHY = dict.fromkeys(("memory_limit", "memlimit", "memory-limit"), _BUFFERS)
_WHY |= dict.fromkeys(("atm", "ptm"), _CELLS)


def queue(part: Part, left_out: Remarks) -> Table:
    """Return the queue of a qdisc, and add what it leaves out to the remarks."""
    rest = dict(part.options)
    made = _red(part, rest) if part.kind == "red" else _read(part, rest, *_KINDS[part.kind])
    if part.kind in _INNER:
        made["queue"] = _read(part, rest, *_INNER[part.kind])
    if part.kind == "sfq":
        left_out.add(
            *part.remark("fq with fifo comes nearest: past `limit` sfq drops the longest queue's last")
        )
    leave(part, rest, left_out, f"perhop's {made['kind']} has no such setting")
    return made


def leave(part: Part, rest: Table, left_out: Remarks, why: str, also: Iterable[str] = ()) -> None:
    """Add remarks on the settings that nothing has taken and that change something."""
    beside = (*_BESIDE.split(), *also)
    for word, value in rest.items():
        text = word if value is True else f"{word} {value}"
        if value and text not in _USUAL and word not in beside:
            left_out.add(*part.remark(_WHY.get(word, why), text))


def _read(part: Part, rest: Table, by_default: Table, settings: tuple[Setting, ...]) -> Table:
    made = dict(by_default)
    conventions = made.pop("conventions", None)
    if part.is_shown and "ecn" in made:
        made["ecn"] = False
    for setting in settings:
        for word in setting.word.split():
            given = rest.get(word, "unlimited")
            if isinstance(setting.unit, str) and given != "unlimited":
                if setting.unit == "time" and isinstance(given, int) and "codel" in part.kind:
                    # the kernel counts 1024 ns, tc shows whole us: back to what was set
                    given = math.ceil(math.ceil(given / 1.024) * 1.024)
                made[setting.key] = WRITTEN[setting.unit](given)
                del rest[word]
        for value, word in setting.unit.items() if isinstance(setting.unit, dict) else ():
            given = rest.get(setting.word)
            if rest.get(word) is True or _AS_WORD.get(str(given), given) == word:
                made[setting.key] = value
                rest.pop(word, None)
                rest.pop(setting.word, None)
    return made | ({"conventions": conventions} if conventions else {})


def _red(part: Part, rest: Table) -> Table:
    """Return RED; what `tc` reckons is in `red_parse_opt` and `tc_red_eval_ewma`."""
    limit, high, low = (size(rest.pop(word, 0)) for word in ("limit", "max", "min"))
    high = high or 3 * low or limit // 4
    low = low or high // 3
    made: Table = {"kind": "red", "limit": f"{limit}B", "min_th": f"{low}B", "max_th": f"{high}B"}
    if part.is_shown:
        if not {"ewma", "probability"} <= rest.keys():
            raise Refused("`ewma` and `probability` are shown by `tc -d` alone: tc -j -d qdisc show")
        exponent = count(rest.pop("ewma"))
    else:
        packet = size(rest.pop("avpkt", 0))
        if not packet or not limit:
            raise Refused("red without limit or avpkt")
        made["mean_packet"] = f"{packet}B"
        burst = count(rest.pop("burst", 0)) or (2 * low + high) // (3 * packet)
        exponent, weighs = 1, burst + 1 - low / packet
        if weighs < 1:
            raise Refused(f"burst {burst} is too small for min and avpkt")
        while exponent < 31 and weighs > (1 - (1 - 0.5**exponent) ** burst) * 2**exponent:
            exponent += 1
    made |= {"max_p": real(rest.pop("probability", 0.02)), "w_q": 0.5 ** min(exponent, 31)}
    return made | {"ecn": rest.pop("ecn", False) is True}
