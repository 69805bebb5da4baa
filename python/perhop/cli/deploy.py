"""`perhop deploy`: rules or commands by which a Linux host marks ACKs as a scenario asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perhop.cli import options, queues
from perhop.cli.exit import ExitCode, UsageError
from perhop.cli.options import option
from perhop.cli.output import note, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perhop.deploy.acks import Addresses, Host
    from perhop.scenario.scenario import Scenario


class With(StrEnum):
    """The means by which a host marks ACKs, or a router queues packets."""

    NFT = "nft"
    EBPF = "ebpf"
    TC = "tc"
    SQM = "sqm"
    OPENCONFIG = "openconfig"


@dataclass
class Sheet:
    """The rules or commands for one host, or the reasons why there are none."""

    host: Host
    text: str
    cannot: list[str]


def command(
    scenario: Path = options.SCENARIO,
    with_: With = option(
        "--with",
        None,
        "Marks of ACKs by rules for nftables or by eBPF; queues by tc, OpenWrt's sqm or OpenConfig.",
        With.NFT,
    ),
    node: str | None = option(
        "--at", "NODE", "The node whose queues it is; with nft, the router that marks ACKs."
    ),
    hosts: list[str] | None = option("--host", "NAME", "This receiver; may be repeated."),
    flows: list[str] | None = option("--flow", "NAME", "These flows; may be repeated."),
    addresses: list[str] | None = option(
        "--address", "NODE=IP", "Address of a sender, to tell flows apart by."
    ),
    shape: str | None = option(
        "--shape", "SHARE", "With queues: hold the device to this share of the line; of sqm 95% by default."
    ),
    device: str | None = option(
        "--device",
        "DEV",
        "Its interface, for eBPF eth0 by default; with queues NODE=DEV,... by the other end.",
    ),
    overrides: list[str] | None = options.SET,
    as_json: bool = options.JSON,
) -> int:
    """Print what makes a host mark ACKs, or a router queue packets, as a scenario asks; change nothing."""
    from perhop.deploy.acks import marking_hosts

    loaded = options.load(scenario, overrides)
    if with_ not in {With.NFT, With.EBPF}:
        if hosts or flows or addresses:
            given = "--host, --flow and --address"
            raise UsageError(f"{given}: not with --with {with_}", "they are of ACK marks")
        share = queues.share_of(shape)
        node = queues.known(loaded, node, with_, share)
        queues.WRITERS[with_](queues.QueueRequest(loaded, str(scenario), node, share, device, as_json))
        return ExitCode.DONE
    if shape is not None:
        raise UsageError("--shape: with --with tc, sqm or openconfig", "marks need no rate")
    if node is not None and (with_ is With.EBPF or hosts):
        raise UsageError("--at: with --with nft, and without --host", "the eBPF program is one of receivers")
    device = queues.named(device or "eth0")
    described = loaded.describe()
    known = _addresses(addresses or [], {node.name for node in described.nodes})
    _must_be("--flow", flows or [], {flow.name for flow in described.flows})
    if node is not None:
        chosen = [_router(loaded, node, known, flows or ())]
    else:
        receivers = marking_hosts(loaded, known, flows or ())
        _must_be("--host", hosts or [], receivers)
        chosen = [host for name, host in receivers.items() if not hosts or name in hosts]
    if not chosen:
        raise UsageError(f"{scenario} has no TCP flow, and so no ACKs to mark")
    _must_ask(loaded, str(scenario))
    sheets = [_sheet(host, with_, device, str(scenario)) for host in chosen]
    if as_json:
        print_json({"with": with_, "hosts": [_as_json(sheet) for sheet in sheets]})
        return ExitCode.USAGE if any(sheet.cannot for sheet in sheets) else ExitCode.DONE
    _print(sheets, with_)
    return ExitCode.DONE


def _must_ask(scenario: Scenario, file: str) -> None:
    """Refuse a scenario that does not say how ACKs are marked: rules would set every mark to the default."""
    from perhop.experiment.shape import written

    in_file = any("marking" in one.get("ack", {}) for one in written(scenario.source).get("flow", []))
    if in_file or any(one.ack_marking for one in scenario.describe().conditioners):
        return
    if not any("marking" in one for one in scenario.overrides):
        raise UsageError(
            f"{file} does not say how ACKs are marked, so no rules are printed",
            "its queues: --with tc --at NODE; to mark ACKs, "
            "-s 'flow.NAME.ack.marking={ kind = \"copy\" }', say",
        )


def _router(scenario: Scenario, node: str, known: Addresses, flows: list[str] | tuple[()]) -> Host:
    """Return a router with the ACKs that its own conditioners mark."""
    from perhop.deploy.acks import passing

    queues.known(scenario, node, "nft", None)
    router = passing(scenario, node, known, flows)
    if not router.flows and not router.cannot:
        marked = [one.at for one in scenario.describe().conditioners if one.ack_marking]
        hint = f"they stand at {', '.join(dict.fromkeys(marked))}" if marked else "the scenario has none"
        raise UsageError(f"--at {node}: no conditioner there marks ACKs", hint)
    return router


def _print(sheets: list[Sheet], with_: With) -> None:
    """Print the one text that all hosts share; refuse if anything cannot be done."""
    cannot = [reason for sheet in sheets for reason in sheet.cannot]
    note(*(f"cannot: {reason}" for reason in cannot))
    if cannot:
        raise UsageError(
            f"{len(cannot)} of what the scenario asks cannot be done with {with_} on the host",
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
        installed = "Install with `ackmark-nft install FILE` in deploy/"
        comments.append(f"{installed}, remove with `ackmark-nft remove`.")
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
    text = None if sheet.cannot else sheet.text
    return {"host": sheet.host.name, "flows": flows, "cannot": sheet.cannot, "text": text}


def _addresses(given: list[str], nodes: Iterable[str]) -> Addresses:
    found = {}
    for one in given:
        node, _, address = one.partition("=")
        _must_be("--address", [node], nodes)
        try:
            found[node] = ip_address(address)
        except ValueError:
            hint = f"write --address {node}=192.0.2.1"
            raise UsageError(f"--address {one}: not an address", hint) from None
    return found


def _must_be(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are none; the name of several is that of each."""
    names = list(known)
    groups = {one.partition("[")[0] for one in names} if name == "--flow" else set()
    for one in given:
        if one not in names and one not in groups:
            hint = f"there are {', '.join(sorted(names)[:8])}"
            raise UsageError(f"{name} {one}: there is none of that name", hint)
