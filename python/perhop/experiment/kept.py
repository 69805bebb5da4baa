"""A campaign as the ledger keeps it, so that a store needs no file beside itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping

import msgspec

from perhop.experiment.definition import Campaign
from perhop.experiment.design import Design
from perhop.experiment.factors import Factor, Treatment
from perhop.experiment.fractions import Fraction, Generator
from perhop.experiment.response import Response
from perhop.experiment.rules import Select, Stop
from perhop.scenario.files import Files
from perhop.scenario.scenario import Scenario

# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
for _kind in (Factor, Treatment, Stop, Select):
    msgspec.json.Decoder(_kind)


CAMPAIGN = "campaign"
"""What a ledger calls the campaign."""

_FUNCTION = "function "
"""What it calls the file of a function, before its hash."""


def functions(responses: Iterable[Response], meta: Mapping[str, str]) -> dict[str, str]:
    """Return files of functions by what a ledger calls them, also those that its values are of."""
    before = {name: text for name, text in meta.items() if name.startswith(_FUNCTION)}
    return before | {_FUNCTION + one.digest: one.source for one in responses if one.source is not None}


def encode(campaign: Campaign) -> str:
    """Return a campaign as text, whole but for files of functions: its own may change, or not be there."""
    scenario, design = campaign.scenario, campaign.design
    stop = None if campaign.stop is None else msgspec.to_builtins(campaign.stop)
    if stop and not stop["each"]:
        del stop["each"]  # stores had it so before it was there
    files = {name: base64.b64encode(content).decode() for name, content in scenario.files.held.items()}
    return json.dumps(
        {
            "name": campaign.name,
            "source": _text(campaign.source),
            "scenario": [_text(scenario.source), scenario.name, scenario.overrides],
            "factors": msgspec.to_builtins(design.factors),
            "treatments": msgspec.to_builtins(design.treatments),
            "design": [design.replications, design.seeds, design.order_seed],
            "generators": design.fraction
            and [[one.factor, sorted(one.of), one.sign] for one in design.fraction.generators],
            "responses": [
                [one.name, one.text, one.given, *([] if one.source is None else [one.digest])]
                for one in campaign.responses
            ],
            "stop": stop,
            **({"select": msgspec.to_builtins(campaign.select)} if campaign.select else {}),
            **({"files": files} if files else {}),
        }
    )


def decode(meta: Mapping[str, str]) -> Campaign:
    """Return the campaign that `encode` wrote, from what a ledger has of it and of its functions."""
    found = json.loads(meta[CAMPAIGN])
    source, name, overrides = found["scenario"]
    replications, seeds, order_seed = found["design"]
    factors = msgspec.convert(found["factors"], tuple[Factor, ...])
    fraction = found["generators"] and Fraction(
        tuple(factor.name for factor in factors),
        tuple(Generator(factor, frozenset(of), sign) for factor, of, sign in found["generators"]),
    )
    held = {name: base64.b64decode(content) for name, content in found.get("files", {}).items()}
    return Campaign(
        name=found["name"],
        scenario=Scenario(_bytes(source), name, tuple(overrides), Files(held=held)),
        design=Design(
            factors,
            msgspec.convert(found["treatments"], tuple[Treatment, ...]),
            replications=replications,
            seeds=seeds,
            order_seed=order_seed,
            fraction=fraction,
        ),
        responses=tuple(
            Response.parse(name, text, given, *(meta[_FUNCTION + digest] for digest in digests))
            for name, text, given, *digests in found["responses"]
        ),
        stop=found["stop"] and msgspec.convert(found["stop"], Stop),
        source=_bytes(found["source"]),
        select=msgspec.convert(found["select"], Select) if "select" in found else None,
    )


def _text(source: bytes) -> str:
    return source.decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
