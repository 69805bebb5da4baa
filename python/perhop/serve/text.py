"""A lesson's text, which is Markdown, as HTML."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markupsafe import Markup

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink"])
_FOLD = re.compile(r"^<details[^>]*>\s*<summary>(.*?)</summary>\n(.*?)^</details>", re.MULTILINE | re.DOTALL)


def html(text: str) -> Markup:
    r"""Return Markdown as HTML: ``<details>`` stay folds, other HTML and links stay as they are written.

    >>> html("## A & B")
    Markup('<h3>A &amp; B</h3>\n')
    >>> html("<details>\n<summary>Why</summary>\n\n*So.*\n\n</details>")
    Markup('<details><summary>Why</summary>\n<p><em>So.</em></p>\n</details>\n')
    """
    made, end = Markup(), 0
    for fold in _FOLD.finditer(text):
        made += _plain(text[end : fold.start()])
        inside = _plain(fold[2])
        made += Markup("<details><summary>{}</summary>\n{}</details>\n").format(fold[1].strip(), inside)
        end = fold.end()
    return made + _plain(text[end:])


def _plain(text: str) -> Markup:
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        # below the title of the page
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
    return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))
