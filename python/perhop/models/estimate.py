"""Closed forms of a scenario, before anything is run: values of those that hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from perhop.models import estimate_links, estimate_tcp
from perhop.models.form import Estimate
from perhop.models.network import Network
from perhop.scenario.scenario import LinkView, Scenario


def estimates(scenario: Scenario) -> Sequence[Estimate]:
    """Return every form's estimate for a scenario.

    Returns
    -------
    sequence
        Form by form; flows of a group with the same value, or the same reason, are one.

    Raises
    ------
    ScenarioError
        It has mistakes.
    """
    network = Network(scenario)
    found: list[Estimate] = []
    for given in (*estimate_tcp.of_flows(network), *estimate_links.of_links(network)):
        found += _grouped(given)
    why = next((why for link in network.described.links if (why := _not_its_rate(network, link))), None)
    return [replace(one, value=None, holds=False, why_not=why) for one in found] if why else found


def _not_its_rate(network: Network, link: LinkView) -> str:
    """Return why what waits for a link does not have its rate."""
    if link.trace:
        return f"the rate of {link.name} follows a trace"
    queues = [one["queue"] for table in network.ports(link.port) for one in table["class"]]
    shaped = any(one["kind"] == "cake" and "rate" in one for one in queues)
    if link.port.shaper or link.port.scheduler.kind == "htb" or shaped:
        return f"{link.port.path} holds packets to a rate of its own"
    return ""


def _grouped(every: Sequence[Estimate]) -> list[Estimate]:
    """Write flows of one group that have the same answer once."""
    groups: dict[tuple[str, str, float | None, str], list[Estimate]] = {}
    sizes = Counter(one.of.partition("[")[0] for one in every)
    for one in every:
        base = one.of.partition("[")[0] if one.flows else one.of
        groups.setdefault((one.form, base, one.value, one.why_not), []).append(one)
    found = []
    for (_, base, *_), members in groups.items():
        of = f"{base}[*]" if len(members) == sizes[base] else f"{len(members)} of {base}[*]"
        merged = replace(members[0], of=of, flows=tuple(one.of for one in members))
        found.append(merged if len(members) > 1 else members[0])
    return found
