"""The scenario as text: each part with the line that it is from."""

from __future__ import annotations

from typing import NamedTuple

from perhop.import_ns2 import toml
from perhop.import_ns2.edges import conditioners
from perhop.import_ns2.plan import Plan, plan
from perhop.import_ns2.remarks import Refused, Remark, listed, shown
from perhop.import_ns2.script import read
from perhop.import_ns2.simulator import Direction
from perhop.import_ns2.write_flows import flows
from perhop.import_ns2.write_queues import port
from perhop.units import written_rate, written_time


class Imported(NamedTuple):
    """The result of an import."""

    text: str
    """The scenario; empty if anything is refused."""
    refused: tuple[Remark, ...]
    left_out: tuple[Remark, ...]


def imported(text: str, name: str) -> Imported:
    """Make a scenario of a script of ns-2, or name every line that is refused; nothing is executed.

    The head of the scenario calls the script by `name`.
    """
    script = read(text)
    lines = dict(enumerate(text.split("\n"), 1))
    made = plan(script)
    parts = [_network(made), conditioners(made), flows(made)]
    planned = (Remark(line, shown(lines.get(line, "")), why) for line, why in made.refused)
    left_out = [*script.left_out, *(Remark(agent.line, agent.text, why) for agent, why in made.idle)]
    left_out.sort(key=lambda remark: remark.line)
    refused = tuple(sorted(dict.fromkeys((*script.refused, *planned)), key=lambda remark: remark.line))
    if refused:
        return Imported("", refused, tuple(left_out))
    head = [
        f"# Made by `perhop import ns2` from {shown(name)}. A comment says which line a part is from, or",
        "# that a value is a default of ns-2.35; docs/import-ns2.md says what differs.",
        *listed(left_out, "Left out, as it changes no result"),
        *("", "[run]", "seed = 1", f'duration = "{written_time(script.end_ns)}"'),
    ]
    whole = "\n".join(line for part in (head, *parts) for line in part) + "\n"
    return Imported(whole, (), tuple(left_out))


def _network(made: Plan) -> list[str]:
    lines: list[str] = []
    for node in made.script.network.nodes:
        lines += ["", toml.source(node.line, node.text), "[[node]]", f'name = "{made.names[node.number]}"']
        if node.number in made.routers:
            lines.append('kind = "router"')
    directions = made.script.network.directions
    done = set()
    for (one, other), there in directions.items():
        back = directions.get((other, one))
        done.add((one, other))
        if back is not None and (other, one) not in done:
            try:
                lines += _link(made, there, back)
            except Refused as error:
                made.refuse(there.line, error)
    return lines


def _link(made: Plan, there: Direction, back: Direction) -> list[str]:
    one, other = (made.names[node.number] for node in there.ends)
    ways = {f"{one}->{other}": there, f"{other}->{one}": back}
    rates = {way: written_rate(link.bit_s) for way, link in ways.items()}
    delays = {way: written_time(link.delay_ns) for way, link in ways.items()}
    rows: list[toml.Row] = [("ends", [one, other], "")]
    for key, both in (("rate", rates), ("delay", delays)):
        rows.append((key, both if len({*both.values()}) > 1 else next(iter(both.values())), ""))
    lines = ["", toml.source(there.line, there.text)]
    if back.line != there.line:
        lines.append(toml.source(back.line, back.text))
    lines += ["[[link]]", *toml.table(rows)]
    ports = [port(there.queue), port(back.queue)]
    if ports[0] == ports[1]:
        return [*lines, "", "[[port]]", f'between = ["{one}", "{other}"]', *ports[0]]
    for (at, to), body in zip(((one, other), (other, one)), ports, strict=True):
        lines += ["", "[[port]]", f'at = "{at}"', f'to = "{to}"', *body]
    return lines
