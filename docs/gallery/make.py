"""Make the gallery: run every command of gallery.toml, keep a thumbnail of each figure, and write the page.

.venv/bin/python docs/gallery/make.py            the page and the thumbnails
.venv/bin/python docs/gallery/make.py --check    change nothing; fail where the page is not that of the table
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
TABLE: dict[str, Any] = tomllib.loads((HERE / "gallery.toml").read_text(encoding="utf-8"))
WIDTH = 480
HEAD = """# Gallery

Figures that perhop draws, each with the commands that make it, from the folder of the checkout.
`-o NAME.pdf`, `.png` or `.csv` gives the same for a paper, a slide or another program
([more](../figures.md)). This page and its pictures are made by `docs/gallery/make.py`.
"""


def title(figure: dict[str, str]) -> str:
    """Give the name of a figure in the gallery, which its file has too."""
    return f"{figure['of']}-{figure['name']}"


def draws(figure: dict[str, str], end: str = "svg") -> str:
    """Give the command that draws a figure."""
    options = f" {figure['options']}" if "options" in figure else ""
    return f"perhop figure out/{figure['of']} {figure['name']}{options} -o {title(figure)}.{end}"


def page() -> str:
    """Give the text of the page."""
    parts = [HEAD]
    for figure in TABLE["figure"]:
        commands = "\n".join([*TABLE["run"][figure["of"]]["make"], draws(figure)])
        sentence, name = figure["shows"], title(figure)
        parts.append(f"## {name}\n\n{sentence}\n\n![{sentence}]({name}.png)\n\n```\n{commands}\n```\n")
    return "\n".join(parts)


def execute(command: str) -> None:
    """Run a command of perhop in this process.

    Raises
    ------
    RuntimeError
        It did not end with 0.
    """
    from perhop.cli.__main__ import run

    if run(shlex.split(command)[1:]) != 0:
        raise RuntimeError(f"failed: {command}")


def thumbnail(drawn: Path, kept: Path) -> None:
    """Keep a small copy of a picture."""
    from PIL import Image

    with Image.open(drawn) as image:
        image.thumbnail((WIDTH, WIDTH))
        image.convert("RGB").quantize(64).save(kept, optimize=True)


def main() -> int:
    """Make the page and the pictures, or say what is out of date and return 1."""
    file = HERE / "README.md"
    if "--check" in sys.argv:
        missing = [title(one) for one in TABLE["figure"] if not (HERE / f"{title(one)}.png").exists()]
        stale = not file.exists() or file.read_text(encoding="utf-8") != page()
        if stale or missing:
            print(f"docs/gallery: run docs/gallery/make.py (missing: {missing})", file=sys.stderr)
        return int(stale or bool(missing))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("examples").symlink_to(TOP / "examples")
        for one in TABLE["run"].values():
            for command in one["make"]:
                execute(command)
        for figure in TABLE["figure"]:
            execute(draws(figure, "png"))
            thumbnail(Path(f"{title(figure)}.png"), HERE / f"{title(figure)}.png")
    file.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
