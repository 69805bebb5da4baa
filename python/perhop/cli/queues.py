"""`perhop deploy --with tc`, `sqm` and `openconfig`: the queues of a node."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perhop.cli.exit import UsageError
from perhop.cli.output import note, print_json
from perhop.units import fraction

if TYPE_CHECKING:
    from collections.abc import Callable

    from perhop.scenario.scenario import Scenario

_DEVICE = re.compile(r"[^\s/;&|$`'\"\\]{1,15}")
_HELD = re.compile(r" (?:rate|bandwidth) \d")
_INTERFACE = re.compile(r"[^\s\"\\]+")


@dataclass
class QueueRequest:
    """A request on the command line: the queues of a node, and devices as they are written."""

    scenario: Scenario
    file: str
    node: str
    share: float | None
    """The part of each line that its device is held to."""
    device: str | None
    as_json: bool

    def devices(self, ends: list[str], names: re.Pattern[str] = _DEVICE) -> dict[str, str]:
        """Return the devices given, by the node at the other end; a name alone is that of the only link."""
        given = self.device
        if given is None:
            return {}
        if "=" not in given:
            if len(ends) != 1:
                hint = f"--device {','.join(f'{one}=DEV' for one in ends)}"
                raise UsageError(f"--device {given}: which of {len(ends)} links is that?", hint)
            return {ends[0]: named(given, names)}
        found: dict[str, str] = {}
        for part in given.split(","):
            end, _, name = part.partition("=")
            if end not in ends:
                message = f"--device {part}: no link to {end!r} has anything to set"
                raise UsageError(message, f"to {', '.join(ends)}")
            if end in found:
                raise UsageError(f"--device {part}: {end} has one already")
            found[end] = named(name, names)
        return found


def share_of(text: str | None) -> float | None:
    """Return the part of a line that `--shape` asks for."""
    if text is None:
        return None
    share = fraction(text)
    if not 0.01 <= share <= 1.0:
        raise UsageError(f"--shape {text}: not a percentage from 1 to 100", "write --shape 95%, say")
    return share


def named(device: str, names: re.Pattern[str] = _DEVICE) -> str:
    """Return the name of a device, if it is one."""
    if not names.fullmatch(device):
        raise UsageError(f"--device {device}: not the name of a device")
    return device


def known(scenario: Scenario, node: str | None, with_: str, share: float | None) -> str:
    """Return the name of a node, if there is one of that name."""
    if node is None or node not in {one.name for one in scenario.describe().nodes}:
        message = f"--with {with_}: whose queues?" if node is None else f"--at {node}: no such node"
        raise UsageError(message, _hint(scenario, with_, share))
    return node


def _hint(scenario: Scenario, with_: str, share: float | None) -> str:
    """Name nodes at which there is something to set."""
    from perhop.deploy.ports import nodes_to_set
    from perhop.recommend.line import slow_links

    conditioners = scenario.describe().conditioners
    if with_ == "nft":
        found = [one.at for one in conditioners if one.ack_marking]
    elif with_ == "sqm":
        found = [one.link.source for one in slow_links(scenario)]
    else:
        found = nodes_to_set(scenario, share)
        found += [one.at for one in conditioners] if with_ == "openconfig" else []
    names = list(dict.fromkeys(found))
    return f"--at one of {', '.join(names[:8])}" if names else "no node has anything to set"


def _sqm(asked: QueueRequest) -> None:
    """Print the section of SQM for the line of a node; where it has several, the device names whose."""
    from perhop.deploy.sqm import NoSectionError, section
    from perhop.recommend.line import slow_links

    node, slow = asked.node, slow_links(asked.scenario)
    lines = [one.link.target for one in slow if one.link.source == node]
    if not lines:
        starts = ", ".join(dict.fromkeys(one.link.source for one in slow))
        raise UsageError(f"--at {node}: no slow link begins there", f"they begin at {starts}")
    names = asked.devices(lines) or dict.fromkeys(lines, "$DEV")
    if len(names) != 1:
        raise UsageError(f"--with sqm: {node} has lines to {', '.join(lines)}", "--device NODE=DEV names one")
    ((to, name),) = names.items()
    share = 0.95 if asked.share is None else asked.share
    try:
        text, warnings = section(asked.scenario, node, to, name, share)
    except NoSectionError as error:
        raise UsageError(f"--with sqm: {error}", "--with tc names the nearest that Linux has") from error
    if asked.as_json:
        print_json({"with": "sqm", "at": node, "to": to, "text": text, "warnings": warnings})
    else:
        print(text, end="")
        note(*(f"warning: {one}" for one in warnings))


def _tc(asked: QueueRequest) -> None:
    """Print the commands of tc for the queues of a node."""
    from perhop.deploy.tc import commands

    node = asked.node
    ports = commands(asked.scenario, node, asked.share)
    if not ports:
        raise _nothing(asked, "tc")
    devices = asked.devices([one.to for one in ports])
    ports = [one.on(devices.get(one.to, one.device)) for one in ports]
    if asked.as_json:
        print_json({"with": "tc", "at": node, "ports": ports})
        return
    for port in ports:
        removed = f"tc qdisc del dev {port.device} root"
        print(f"# {node} to {port.to}, as {asked.file} has it; removed by: {removed}")
        for why in port.cannot:
            if not sys.stdout.isatty():
                note(f"cannot: {node} to {port.to}: {why}")
            print(f"# cannot: {why}")
        print("\n".join(port.lines))
    if not all(any(_HELD.search(line) for line in port.lines) for port in ports):
        leaves = "a device that is faster than its line leaves the queue to the modem"
        note(f"{leaves}: --shape 95% holds it there")
    if any(port.device == "$DEV" for port in ports):
        note(f"DEV is to be set: --device {','.join(f'{one.to}=DEV' for one in ports)}")


def _openconfig(asked: QueueRequest) -> None:
    """Print the configuration of OpenConfig for the queues and conditioners of a node."""
    from perhop.deploy.openconfig import Configuration
    from perhop.deploy.ports import node_of

    node = asked.node
    made = Configuration(node_of(asked.scenario, node, asked.share))
    ends, cannot = list(made.interfaces), [f"cannot: {node}: {why}" for why in made.cannot]
    if not ends:
        note(*cannot)
        if cannot:
            raise UsageError(f"{asked.file}: OpenConfig says nothing of {node}")
        raise _nothing(asked, "openconfig")
    given = asked.devices(ends, _INTERFACE)
    names = {end: given.get(end, end) for end in ends}
    if len({*names.values()}) < len(ends):
        raise UsageError(f"--device {asked.device}: two links have one interface")
    document = made.document(names)
    if asked.as_json:
        print_json({"with": "openconfig", "at": node, "cannot": made.cannot, "configuration": document})
        return
    print_json(document)
    note(*cannot)
    if unnamed := [f"{end}=NAME" for end in ends if end not in given]:
        note(f"interfaces are called as the other ends: --device {','.join(unnamed)}")


def _nothing(asked: QueueRequest, with_: str) -> UsageError:
    what = f"{asked.file}: {asked.node} has nothing but FIFOs with the limit by default"
    return UsageError(what, _hint(asked.scenario, with_, asked.share))


WRITERS: dict[str, Callable[[QueueRequest], None]] = {"tc": _tc, "sqm": _sqm, "openconfig": _openconfig}
"""What prints the queues of a node, by `--with`."""
