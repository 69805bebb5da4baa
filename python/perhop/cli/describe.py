"""`perhop describe`: what a scenario means: names resolved, counts expanded, defaults filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perhop.cli import options

if TYPE_CHECKING:
    from perhop.scenario import Description, LinkView


def command(
    scenario: options.ScenarioFile,
    overrides: options.Set = None,
    seed: options.Seed = None,
    until: options.Until = None,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="Print the resolved scenario, itself a valid file.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show what a scenario means: nodes, links, ports, conditioners and flows."""
    from perhop.cli.output import print_json

    loaded = options.load(scenario, overrides, seed, until)
    if as_toml:
        print(loaded.resolve(), end="")
    elif as_json:
        print_json(loaded.describe())
    else:
        _print(loaded.describe())


def _print(meaning: Description) -> None:
    from perhop.cli.output import print_table
    from perhop.units import bit_rate, duration, size

    run = meaning.run
    print(
        f"{run.duration_s:g} s simulated, measured from {run.warmup_s:g} s, "
        f"a sample every {run.interval_s:g} s, seed {run.seed}, replication {run.replication}\n"
    )
    more = "(--json shows all)"
    print_table("Nodes", ("node", "kind"), [(node.name, node.kind) for node in meaning.nodes], more)
    print_table(
        "Links",
        ("link", "rate", "delay", "pure ACK"),
        [
            (link.name, bit_rate(link.rate_bit_s), duration(link.delay_s), size(link.pure_ack_bytes))
            for link in meaning.links
        ],
        more,
    )
    print_table(
        "Ports",
        ("port", "scheduler", "classes", "backpressure"),
        [
            (link.port.path, str(link.port.scheduler), _classes(link), str(link.port.backpressure or "-"))
            for link in meaning.links
        ],
        more,
    )
    if meaning.conditioners:
        print_table(
            "Conditioners",
            ("conditioner", "at", "meter", "per", "marker"),
            [(one.path, one.at, one.meter or "-", one.per, str(one.marker)) for one in meaning.conditioners],
            more,
        )
    if meaning.udp:
        print_table(
            "UDP flows",
            ("flow", "class", "mark", "from", "to", "rate", "packet"),
            [
                (
                    *(flow.name, flow.class_, flow.mark, flow.source, flow.target),
                    bit_rate(flow.rate_bit_s),
                    size(flow.packet_bytes),
                )
                for flow in meaning.udp
            ],
            more,
        )
    print_table(
        "Flows",
        ("flow", "class", "mark", "from", "to", "start", "segment", "header", "window"),
        [
            (
                flow.name,
                flow.class_,
                flow.mark,
                flow.source,
                flow.target,
                f"{flow.start_s:g} s",
                size(flow.mss_bytes),
                size(flow.header_bytes),
                size(flow.window_bytes),
            )
            for flow in meaning.flows
        ],
        more,
    )


def _classes(link: LinkView) -> str:
    return ", ".join(
        f"{one.name} ({' '.join(one.matches)}): {one.queue} {one.limit}" for one in link.port.classes
    )
