"""`perhop deploy`: rules or commands by which a Linux host marks ACKs as a scenario asks."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perhop.cli import options
from perhop.cli.exit import ExitCode, UsageError
from perhop.units import fraction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perhop.deploy.asked import Addresses, Host
    from perhop.scenario.scenario import Scenario


class With(StrEnum):
    """The means by which a host marks ACKs, or a router queues packets."""

    NFT = "nft"
    EBPF = "ebpf"
    TC = "tc"
    SQM = "sqm"


_DEVICE = re.compile(r"[^\s/;&|$`'\"\\]{1,15}")


@dataclass
class Sheet:
    """The rules or commands for one host, or the reasons why there are none."""

    host: Host
    text: str
    cannot: list[str]


def command(
    scenario: options.ScenarioFile,
    with_: Annotated[
        With,
        typer.Option(
            "--with",
            help="Rules for nftables or commands for eBPF that mark ACKs; queues by tc, or OpenWrt's sqm.",
        ),
    ] = With.NFT,
    node: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="NODE",
            help="With tc and sqm: the node whose queues it is. With nft: the router that marks ACKs.",
        ),
    ] = None,
    hosts: Annotated[
        list[str] | None, typer.Option("--host", metavar="NAME", help="This receiver; may be repeated.")
    ] = None,
    flows: Annotated[
        list[str] | None, typer.Option("--flow", metavar="NAME", help="These flows; may be repeated.")
    ] = None,
    addresses: Annotated[
        list[str] | None,
        typer.Option("--address", metavar="NODE=IP", help="Address of a sender, to tell flows apart by."),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            "--shape",
            metavar="SHARE",
            help="With tc and sqm: hold the device to this share of the line; of sqm 95% by default.",
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="DEV",
            help="Its interface, for eBPF eth0 by default; with tc and sqm NODE=DEV,... by the other end.",
        ),
    ] = None,
    overrides: options.Set = None,
    as_json: options.Json = False,
) -> int:
    """Print what makes Linux mark ACKs, or queue packets, as the scenario asks. Nothing is changed here."""
    from perhop.cli.output import print_json
    from perhop.deploy.asked import asked

    loaded = options.load(scenario, overrides)
    if with_ in {With.TC, With.SQM}:
        if hosts or flows or addresses:
            raise UsageError(
                f"--host, --flow and --address: not with --with {with_.value}", "they are of ACK marks"
            )
        share = _share(shape)
        if with_ is With.TC:
            return _queues(loaded, str(scenario), node, device, share, as_json)
        return _sqm(loaded, node, device, 0.95 if share is None else share, as_json)
    if shape is not None:
        raise UsageError("--shape: with --with tc or sqm", "marks need no rate")
    if node is not None and (with_ is With.EBPF or hosts):
        raise UsageError("--at: with --with nft, and without --host", "the eBPF program is one of receivers")
    device = _named(device or "eth0")
    described = loaded.describe()
    known = _addresses(addresses or [], {node.name for node in described.nodes})
    _must_be("--flow", flows or [], {flow.name for flow in described.flows})
    if node is not None:
        chosen = [_router(loaded, node, known, flows or ())]
    else:
        receivers = asked(loaded, known, flows or ())
        _must_be("--host", hosts or [], receivers)
        chosen = [host for name, host in receivers.items() if not hosts or name in hosts]
    if not chosen:
        raise UsageError(f"{scenario} has no TCP flow, and so no ACKs to mark")
    sheets = [_sheet(host, with_, device, str(scenario)) for host in chosen]
    if as_json:
        print_json({"with": with_.value, "hosts": [_as_json(sheet) for sheet in sheets]})
        return ExitCode.USAGE if any(sheet.cannot for sheet in sheets) else ExitCode.DONE
    _print(sheets, with_)
    return ExitCode.DONE


def _router(scenario: Scenario, node: str, known: Addresses, flows: list[str] | tuple[()]) -> Host:
    """Return a router with the ACKs that its own conditioners mark."""
    from perhop.deploy.asked import passing

    _at(scenario, node, "nft")
    router = passing(scenario, node, known, flows)
    if not router.flows and not router.cannot:
        marked = [one.at for one in scenario.describe().conditioners if one.ack_marking]
        hint = f"they stand at {', '.join(dict.fromkeys(marked))}" if marked else "the scenario has none"
        raise UsageError(f"--at {node}: no conditioner there marks ACKs", hint)
    return router


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    share = fraction(text)
    if not 0.01 <= share <= 1.0:
        raise UsageError(f"--shape {text}: not a percentage from 1 to 100", "write --shape 95%, say")
    return share


def _named(device: str) -> str:
    if not _DEVICE.fullmatch(device):
        raise UsageError(f"--device {device}: not the name of a device")
    return device


def _sqm(scenario: Scenario, node: str | None, device: str | None, share: float, as_json: bool) -> int:
    """Print the section of SQM for the line of a node; where it has several, the device names whose."""
    from perhop.cli.output import print_json
    from perhop.deploy.sqm import NoSectionError, section
    from perhop.recommend.line import slow_links

    _at(scenario, node, "sqm")
    slow = slow_links(scenario)
    lines = [one.link.target for one in slow if one.link.source == node]
    if not lines:
        starts = ", ".join(dict.fromkeys(one.link.source for one in slow))
        raise UsageError(f"--at {node}: no slow link begins there", f"they begin at {starts}")
    names = _devices(device, lines)
    if len(names) != 1:
        raise UsageError(f"--with sqm: {node} has lines to {', '.join(lines)}", "--device NODE=DEV names one")
    ((to, name),) = names.items()
    try:
        text = section(scenario, str(node), to, name, share)
    except NoSectionError as error:
        raise UsageError(f"--with sqm: {error}", "--with tc names the nearest that Linux has") from error
    if as_json:
        print_json({"with": "sqm", "at": node, "to": to, "text": text})
    else:
        print(text, end="")
    return ExitCode.DONE


def _devices(given: str | None, ends: list[str]) -> dict[str, str]:
    """Return the devices by the node at the other end; a name alone is that of the only link."""
    if given is None:
        return {ends[0]: "$DEV"} if len(ends) == 1 else {}
    if "=" not in given:
        if len(ends) != 1:
            hint = f"--device {','.join(f'{one}=DEV' for one in ends)}"
            raise UsageError(f"--device {given}: which of {len(ends)} links is that?", hint)
        return {ends[0]: _named(given)}
    found: dict[str, str] = {}
    for part in given.split(","):
        end, _, name = part.partition("=")
        if end not in ends:
            raise UsageError(
                f"--device {part}: no link to {end!r} has anything to set", f"to {', '.join(ends)}"
            )
        if end in found:
            raise UsageError(f"--device {part}: {end} has one already")
        found[end] = _named(name)
    return found


def _at(scenario: Scenario, node: str | None, with_: str) -> None:
    nodes = [one.name for one in scenario.describe().nodes]
    if node not in nodes:
        hint = f"--at one of {', '.join(nodes[:8])}"
        raise UsageError(
            f"--with {with_}: whose queues?" if node is None else f"--at {node}: no such node", hint
        )


def _queues(
    scenario: Scenario, name: str, node: str | None, device: str | None, shape: float | None, as_json: bool
) -> int:
    """Print the commands of tc for the queues of a node."""
    from dataclasses import asdict

    from perhop.cli.output import note, print_json
    from perhop.deploy.tc import commands

    _at(scenario, node, "tc")
    assert node is not None
    ports = commands(scenario, node, shape)
    if not ports:
        raise UsageError(
            f"{name}: {node} has nothing but FIFOs with the limit by default", "so nothing is to be set"
        )
    devices = _devices(device, [one.to for one in ports])
    ports = [one.on(devices.get(one.to, one.device)) for one in ports]
    if as_json:
        print_json({"with": "tc", "at": node, "ports": [asdict(one) for one in ports]})
        return ExitCode.DONE
    for port in ports:
        print(f"# {node} to {port.to}, as {name} has it; removed by: tc qdisc del dev {port.device} root")
        for why in port.cannot:
            if not sys.stdout.isatty():
                note(f"cannot: {node} to {port.to}: {why}")
            print(f"# cannot: {why}")
        print("\n".join(port.lines))
    if any(port.device == "$DEV" for port in ports):
        note(f"DEV is to be set: --device {','.join(f'{one.to}=DEV' for one in ports)}")
    return ExitCode.DONE


def _print(sheets: list[Sheet], with_: With) -> None:
    """Print the one text that all hosts share; refuse if anything cannot be done."""
    from perhop.cli.output import note

    cannot = [reason for sheet in sheets for reason in sheet.cannot]
    for reason in cannot:
        note(f"cannot: {reason}")
    if cannot:
        raise UsageError(
            f"{len(cannot)} of what the scenario asks cannot be done with {with_.value} on the host",
            "leave it out with --flow or --host, tell senders apart with --address, or use the other --with",
        )
    if len({sheet.text for sheet in sheets}) > 1:
        names = ", ".join(sheet.host.name for sheet in sheets)
        raise UsageError(f"hosts are to mark differently: {names}", "choose with --host, or --json")
    print(sheets[0].text, end="")


def _sheet(host: Host, with_: With, device: str, scenario: str) -> Sheet:
    from perhop.deploy import ebpf, nft
    from perhop.deploy.marks import TRIGGERING

    cannot = list(host.cannot)
    rules = host.rules()
    of = f"the router {host.name}" if host.is_router else "its receivers"
    comments = [f"ACK marking that {scenario} asks of {of}: {'; '.join(map(str, rules))}"]
    if with_ is With.NFT:
        cannot += host.alike()
        cannot += [
            f"{host.name}: {one.rule}: nftables remembers the mark that came last alone"
            for one in rules
            if one.fixed is None and one.rule != TRIGGERING
        ]
        comments.append(
            "Install with `ackmark-nft install FILE` in deploy/, remove with `ackmark-nft remove`."
        )
        return Sheet(host, "" if cannot else nft.rules(rules, comments, forwarded=host.is_router), cannot)
    if len(rules) > 1:
        cannot.append(f"{host.name}: {'; '.join(map(str, rules))}: the eBPF program marks all flows alike")
    comments.append("Type in the folder deploy/ of perhop, as root.")
    return Sheet(host, "" if cannot else ebpf.commands(next(iter(rules)), device, comments), cannot)


def _as_json(sheet: Sheet) -> dict[str, Any]:
    flows = [
        {"flow": flow, "acks": str(marking), "connections": str(sheet.host.selectors[flow])}
        for flow, marking in sheet.host.flows.items()
    ]
    return {
        "host": sheet.host.name,
        "flows": flows,
        "cannot": sheet.cannot,
        "text": None if sheet.cannot else sheet.text,
    }


def _addresses(given: list[str], nodes: Iterable[str]) -> Addresses:
    found = {}
    for one in given:
        node, _, address = one.partition("=")
        _must_be("--address", [node], nodes)
        try:
            found[node] = ip_address(address)
        except ValueError:
            raise UsageError(
                f"--address {one}: not an address", f"write --address {node}=192.0.2.1"
            ) from None
    return found


def _must_be(option: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are none; the name of several is that of each."""
    names = list(known)
    groups = {name.partition("[")[0] for name in names} if option == "--flow" else set()
    for one in given:
        if one not in names and one not in groups:
            raise UsageError(
                f"{option} {one}: there is none of that name", f"there are {', '.join(sorted(names)[:8])}"
            )
