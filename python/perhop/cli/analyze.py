"""`perhop analyze`: what the runs of a store say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perhop.cli import comparing, options
from perhop.cli.exit import CommandError, ExitCode

if TYPE_CHECKING:
    from perhop.experiment.analysis import Analysis
    from perhop.experiment.store import Store


def command(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Folder of a campaign.")],
    response: Annotated[
        list[str] | None,
        typer.Option("--response", metavar="NAME", help="Response to show; may be repeated. Default: all."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="EFFECTS", help="Effects of a trimmed model, such as C,P,C:P."),
    ] = None,
    level: Annotated[float, typer.Option("--level", metavar="SHARE", help="Confidence of intervals.")] = 0.95,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Compare all pairs of treatments (Tukey) instead.")
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--compare", metavar="A B", help="Compare two treatments, replication by replication, instead."
        ),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            "--margin", metavar="WIDTH", help="With --compare: are both the same within it, 2% or a number?"
        ),
    ] = None,
    claims: Annotated[
        Path | None,
        typer.Option("--claims", metavar="FILE", help="Judge the claims of a file (TOML) instead."),
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print the means, or with --claims the verdicts, as CSV.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the JSON there as well.")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Say what mattered in a campaign, and how sure that is: effects, shares of variation, residuals."""
    import msgspec

    from perhop.cli.output import print_json
    from perhop.cli.told import warn_of_none
    from perhop.experiment.store import Store
    from perhop.run.folder import always, never, write_file

    if not 0.0 < level < 1.0:
        raise CommandError(ExitCode.USAGE, f"--level {level:g}: must lie inside (0, 1)", "such as 0.95")
    if out is not None:
        options.check_target(out, always if force else never)
    if margin is not None and compare is None:
        raise CommandError(ExitCode.USAGE, f"--margin {margin}: of which treatments?", "add --compare A B")
    opened = Store.open(store)
    if csv or claims is not None:
        if pairs or compare or as_json or out is not None:
            raise CommandError(ExitCode.USAGE, "--csv and --claims print nothing else beside")
        _judge(opened, claims, csv)
        return
    names = _known(opened, response or [])
    document: dict[str, Any] = {"store": str(store)}
    paired = comparing.pairs_of(opened, level, names) if pairs else []
    compared = comparing.comparisons_of(opened, compare, margin, level, names) if compare else []
    found = [] if pairs or compare else _analyses(opened, keep, level, names)
    if pairs:
        document["pairs"] = [comparing.pairs_document(one) for one in paired]
    if compare:
        document["comparisons"] = [comparing.comparison_document(one) for one in compared]
    if not (pairs or compare):
        document["analyses"] = [_document(one) for one in found]
    if out is not None:
        text = msgspec.json.format(msgspec.json.encode(document), indent=2)
        write_file(out, text + b"\n", always if force else never)
    if as_json:
        print_json(document)
    else:
        warn_of_none(opened)
        _print(opened, found)
        comparing.print_pairs(paired, level)
        comparing.print_comparisons(compared, level)


def _judge(store: Store, claims: Path | None, as_csv: bool) -> None:
    """Print the means of a store as CSV, or claims judged on it."""
    import sys

    from perhop.cli.output import print_table
    from perhop.papers.beyond import CLAIMS, claims_of, judged_rows, write_rows, write_table

    if claims is None:
        write_table(store.scalars(), sys.stdout)
        return
    rows = judged_rows(claims_of(claims, store), store.scalars())
    if as_csv:
        write_rows(rows, sys.stdout)
    else:
        print_table("Claims", CLAIMS, [tuple(map(str, row)) for row in rows], "with --csv", most=60)


def _known(store: Store, names: list[str]) -> list[str]:
    """Refuse responses that there are not."""
    known = [one.name for one in store.campaign.responses]
    for name in names:
        if name not in known:
            raise CommandError(
                ExitCode.USAGE, f"--response {name}: no such response", f"choose among {', '.join(known)}"
            )
    return names


def _analyses(store: Store, keep: str | None, level: float, names: list[str]) -> list[Analysis]:
    from perhop.experiment.analyze import analyze, asked_of

    campaign = store.campaign
    effects = None if keep is None else tuple(part.strip() for part in keep.split(","))
    try:
        found = analyze(store.scalars(), asked_of(campaign, effects, level))
    except ValueError as error:
        if keep is None:
            raise
        raise CommandError(
            ExitCode.USAGE, f"--keep {keep}: {error}", "write effects as C,P,C:P, with the names of factors"
        ) from error
    return [one for one in found if not names or one.response in names]


def _document(one: Analysis) -> dict[str, Any]:
    """Return an analysis as JSON has it: numbers in the response's own unit, null where there is none."""
    from perhop.say.analysis import how_sure, what_mattered

    return {
        "response": one.response,
        "unit": one.unit,
        "of": dict(one.of),
        "factors": one.factors,
        "within_runs": one.within,
        "method": one.method,
        "remarks": one.remarks,
        "what_mattered": what_mattered(one),
        "how_sure": how_sure(one),
        "level": one.level,
        "mean": {"mean": one.mean.mean, "low": one.mean.low, "high": one.mean.high},
        "tests": one.tests.to_dicts(),
        "found": sorted(one.found),
        "effects": [] if one.effects is None else one.effects.table.to_dicts(),
        "means": one.means.to_dicts(),
        "checks": [{"name": each.name, "holds": each.holds, "said": each.sentence} for each in one.checks],
    }


def _print(store: Store, found: list[Analysis]) -> None:
    from perhop.experiment.stopping import described
    from perhop.say.analysis import how_sure, varied, what_mattered

    runs = store.runs()
    print(varied(store.campaign, runs))
    for state in ("failed", "missing"):
        count = runs.filter(state=state).height
        if count:
            print(f"{count} {state}: perhop campaign status {store.folder}")
    stop, stopped = store.campaign.stop, store.stopped
    if stop is not None and stopped is not None:
        print(described(stop, stopped))
    for one in found:
        print(f"\n{one.name}")
        for sentence in [*what_mattered(one), *how_sure(one)]:
            print(f"  {sentence}")
        print()
        _print_tests(one)
        _print_effects(one)
    if store.scalars().is_empty():
        print("nothing has been measured yet")


def _print_tests(one: Analysis) -> None:
    from perhop.cli.output import print_table
    from perhop.say.analysis import effect_name

    if one.tests.is_empty():
        return
    rows = [
        (
            effect_name(row["source"]),
            _number(row["df"], "d"),
            _number(row["percent"], ".2f"),
            _number(row["f"], ".4g"),
            _number(row["p"], ".2g"),
            _number(row["q"], ".2g"),
            "*" if row["source"] in one.found else "",
            row["against"] or "",
        )
        for row in one.tests.to_dicts()
    ]
    columns = ("source", "df", "% of variation", "F", "p", "p of all tests", "found", "held against")
    print_table("Sources of variation", columns, rows, "with --json", most=40)


def _print_effects(one: Analysis) -> None:
    from perhop.cli.output import print_table
    from perhop.say.analysis import effect_name, scale

    unit = scale(one)
    title = f" in {unit.unit}" if unit.unit else ""
    interval = f"{100 * one.level:.3g} % interval"
    if one.effects is not None and len(one.factors) > 1:
        rows = [
            (
                effect_name(row["term"]),
                row["level"].replace(":", ", "),
                _number(row["effect"], "+.4g", unit.factor),
                _number(row["low"], ".4g", unit.factor),
                _number(row["high"], ".4g", unit.factor),
            )
            for row in one.effects.table.to_dicts()
        ]
        print_table(f"Effects{title}", ("of", "at", "effect", "from", interval), rows, "with --json", most=12)
    rows = [
        (
            *(row[name] for name in one.factors),
            _number(row["mean"], ".4g", unit.factor),
            _number(row["low"], ".4g", unit.factor),
            _number(row["high"], ".4g", unit.factor),
            str(row["n"]),
        )
        for row in one.means.to_dicts()
    ]
    columns = (*one.factors, "mean", "from", interval, "values")
    print_table(f"Means{title}", columns, rows, "with --json", most=12)


def _number(value: float | None, form: str, factor: float = 1.0) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return format(value, form) if form == "d" else format(value / factor, form)
