"""The notebook of `perhop init --notebook`: the same cells for marimo and for Jupyter."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """Prose (Markdown) or code."""

    text: str
    is_code: bool


def cells(scenario: str, chance: str = "", beside: str = "") -> list[Cell]:
    """Return the cells of a first look at a scenario that lies beside the notebook.

    `chance` is an override that lets seeds matter, where nothing in the scenario is random; `beside` is code
    before the file's name, where a notebook does not run in its own folder.
    """
    prose, arguments, table, index = "", "", "classes", "class"
    if chance:
        prose = f"Nothing here is random, so other seeds change nothing; with `{chance}` they do. "
        arguments, table, index = f'"{chance}", ', "flows", "name"
    return [
        Cell(
            f"# Who gets what?\n\nA first look at `{scenario}`: one run, "
            "what each class of flows got; then the same network with other seeds, to see how much of it is "
            "chance. Change the file or the settings, and run the cells again.",
            False,
        ),
        Cell(
            f'import perhop\n\nscenario = perhop.Scenario.load({beside}"{scenario}")\nscenario.check()', True
        ),
        Cell("An empty list: no mistakes. The run shows the first screen of its page.", False),
        Cell('result = scenario.override(run__duration="30s", run__warmup="5s").run()\nresult', True),
        Cell(
            "Figures have names, which `dir(result.plot)` lists; `save` takes pdf, svg, png or csv.",
            False,
        ),
        Cell("result.plot.goodput()", True),
        Cell('result.plot.goodput().save("goodput.pdf")', True),
        Cell("Tables are polars frames; `result.pandas()` gives pandas.", False),
        Cell('result.flows.select("name", "class", "goodput_bit_s", "retransmissions", "timeouts")', True),
        Cell(f"How much of that is chance? {prose}Three seeds, goodput in bit/s.", False),
        Cell(
            "import polars as pl\n\n"
            "again = []\n"
            "for seed in (1, 2, 3):\n"
            f'    other = scenario.override({arguments}run__duration="30s", run__warmup="5s", '
            "run__seed=seed)\n"
            f"    again.append(other.run().{table}.with_columns(seed=seed))\n"
            f'pl.concat(again).pivot("seed", index="{index}", values="goodput_bit_s")',
            True,
        ),
        Cell(
            "More than three, with intervals, is a sweep or a campaign: "
            f"`perhop sweep {scenario} --replications 10 --measure 'sum(flows.goodput_bit_s)'`.",
            False,
        ),
    ]


def jupyter(content: list[Cell]) -> str:
    """Return cells as a notebook of Jupyter (nbformat 4.5), without outputs."""

    def one(number: int, cell: Cell) -> dict[str, Any]:
        shared = {"id": f"cell-{number}", "metadata": {}, "source": cell.text.splitlines(keepends=True)}
        if cell.is_code:
            return {"cell_type": "code", "execution_count": None, "outputs": [], **shared}
        return {"cell_type": "markdown", **shared}

    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "cells": [one(number, cell) for number, cell in enumerate(content)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def marimo(content: list[Cell]) -> str:
    """Return cells as a notebook of marimo: a Python file with a function for each cell."""
    trees = [ast.parse(cell.text) if cell.is_code else None for cell in content]
    made = [set() if tree is None else _made(tree) for tree in trees]
    everywhere = {"mo"}.union(*made)
    parts = [
        "import marimo\n\napp = marimo.App()\n",
        "@app.cell\ndef _():\n    import marimo as mo\n    return (mo,)\n",
    ]
    for cell, tree, own in zip(content, trees, made, strict=True):
        if tree is None:
            parts.append(f"@app.cell(hide_code=True)\ndef _(mo):\n    mo.md({cell.text!r})\n    return\n")
            continue
        used = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        takes = ", ".join(sorted((used & everywhere) - own))
        body = "".join(f"    {line}\n" if line else "\n" for line in cell.text.splitlines())
        gives = "".join(f"{name}, " for name in sorted(own))
        parts.append(f"@app.cell\ndef _({takes}):\n{body}    return{f' ({gives.strip()})' if own else ''}\n")
    parts.append('if __name__ == "__main__":\n    app.run()\n')
    return "\n\n".join(parts)


def _made(tree: ast.Module) -> set[str]:
    """Return the names that the statements of a cell bind at its top."""
    found: set[str] = set()
    for one in tree.body:
        if isinstance(one, ast.Import):
            found |= {(name.asname or name.name).partition(".")[0] for name in one.names}
        elif isinstance(one, ast.Assign):
            found |= {target.id for target in one.targets if isinstance(target, ast.Name)}
    return found
