"""`perhop analyze`: effects, comparisons and claims on the runs of a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perhop.cli import comparing, options
from perhop.cli.exit import UsageError
from perhop.cli.options import argument, flag, option
from perhop.cli.output import json_text, note, print_json
from perhop.say.document import Part
from perhop.say.terminal import show

if TYPE_CHECKING:
    from perhop.experiment.analysis import Analysis
    from perhop.experiment.store import Store


def command(
    store: Path = argument("STORE", "Folder of a campaign."),
    response: list[str] | None = option(
        "--response", "NAME", "Response to show; may be repeated. Default: all."
    ),
    keep: str | None = option("--keep", "EFFECTS", "Effects of a trimmed model, such as C,P,C:P."),
    order: int | None = option("--order", "N", "Show effects of up to N factors, such as 3.", min=1),
    level: float = options.LEVEL,
    pairs: bool = flag("--pairs", "Compare all pairs of treatments (Tukey) instead."),
    compare: tuple[str, str] | None = option(
        "--compare", "A B", "Compare two treatments, replication by replication, instead."
    ),
    margin: str | None = option(
        "--margin", "WIDTH", "With --compare: are both the same within it, 2% or a number?"
    ),
    claims: list[Path] | None = option("--claims", "FILE", "Judge the claims of a file (TOML) instead."),
    where: list[str] | None = options.WHERE,
    csv: bool = flag("--csv", "Print the means, or with --claims the verdicts, as CSV."),
    out: Path | None = option("-o --out", "FILE", "Write the JSON there as well."),
    force: bool = options.FORCE,
    whole: bool = options.ALL,
    as_json: bool = options.JSON,
) -> None:
    """Say what mattered in a campaign, and how sure that is: effects, shares of variation, residuals."""
    from perhop.judge.promises import judge_promises
    from perhop.run.folder import write_file
    from perhop.say import analysis, comparisons, promises
    from perhop.say.campaign import warm_up, without_values

    options.check_level(level)
    may_replace = options.target(out, force)
    if margin is not None and compare is None:
        raise UsageError(f"--margin {margin}: of which treatments?", "add --compare A B")
    if csv or claims:
        others = {"--pairs": pairs, "--compare": compare, "--response": response, "--keep": keep is not None}
        others |= {"--order": order is not None, "--level": level != 0.95}
        _refuse_beside("--claims" if claims else "--csv", others)
        _refuse_beside("--csv", {"--json": csv and as_json, "-o": csv and out is not None})
    file = options.once("--claims", claims, "judge one file after the other") if claims else None
    opened = options.opened(store, where)
    if csv or file:
        judged = _judge(opened, file, csv, as_json)
        if out is not None:
            write_file(out, json_text(judged), may_replace)
        return
    names = comparing.known(opened, response or [])
    promised = judge_promises(opened)
    document: dict[str, Any] = _of(opened) | promises.document(promised)
    parts: list[Part] = []
    found = [] if pairs or compare else _analyses(opened, keep, level, order, names)
    if pairs:
        paired = comparing.pairs_of(opened, level, names)
        document["pairs"] = [comparisons.pairs_document(one) for one in paired]
        parts += comparisons.of_pairs(paired, level)
    if compare:
        compared = comparing.comparisons_of(opened, compare, margin, level, names)
        document["comparisons"] = [comparisons.comparison_document(one) for one in compared]
        parts += comparisons.of_two(compared, level)
    if not (pairs or compare):
        document["analyses"] = [analysis.document(one) for one in found]
    if out is not None:
        write_file(out, json_text(document), may_replace)
    if as_json:
        print_json(document)
    else:
        runs = opened.runs()
        note(*(f"warning: {text}" for text in (*without_values(opened, runs), *warm_up(opened, runs))))
        show(
            *([] if response else promises.parts(promised)),
            *analysis.printed(opened, found),
            *parts,
            whole=whole,
        )


def _refuse_beside(option: str, others: Mapping[str, object]) -> None:
    """Refuse options that would be ignored beside another."""
    for name, given in others.items():
        if given:
            raise UsageError(f"{option} does not go with {name}")


def _judge(store: Store, file: Path | None, as_csv: bool, as_json: bool) -> dict[str, Any]:
    """Print a store's means as CSV, or claims judged on it; return these as JSON has them."""
    import csv
    import sys

    from perhop.experiment.analyze import mean_rows
    from perhop.judge.campaign import COLUMNS, judge_store, rows
    from perhop.papers.claims import as_measured, claim_entry
    from perhop.say.claims import of_claims

    table = csv.writer(sys.stdout, lineterminator="\n")
    if file is None:
        table.writerows(mean_rows(store.scalars()))
        return {}
    judged = judge_store(file, store)
    entries = [claim_entry(one.claim, one.parts) for one in judged]
    for entry, one in zip(entries, judged, strict=True):
        for part, measured, unit in zip(entry["parts"], one.parts, one.units, strict=True):
            part |= {"unit": unit, **as_measured(measured)}
    document = _of(store) | {"claims": entries}
    if as_csv:
        table.writerows([COLUMNS, *rows(judged)])
    elif as_json:
        print_json(document)
    else:
        show(*([] if store.only is None else [f"Only {store.only}.", ""]), *of_claims(judged))
    return document


def _of(store: Store) -> dict[str, Any]:
    """Return what a document is about."""
    return {"store": str(store.folder)} | ({} if store.only is None else {"where": store.only.conditions})


def _analyses(
    store: Store, keep: str | None, level: float, order: int | None, names: list[str]
) -> list[Analysis]:
    from perhop.experiment.analyze import analyze, asked_of

    campaign = store.campaign
    effects = None if keep is None else tuple(part.strip() for part in keep.split(","))
    try:
        found = analyze(store.scalars(), asked_of(campaign, effects, level, order, apart=keep is None))
    except ValueError as error:
        if keep is None:
            raise
        hint = "write effects as C,P,C:P, with the names of factors"
        raise UsageError(f"--keep {keep}: {error}", hint) from error
    return [one for one in found if not names or one.response in names]
