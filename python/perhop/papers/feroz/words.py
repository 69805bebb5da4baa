"""Texts of a pack with measured numbers in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping


class _Lookup:
    """What a text names in brackets, its parts with slashes between them."""

    def __init__(self, of: Callable[..., object]) -> None:
        self._of = of

    def __getitem__(self, key: str | int) -> object:
        # a name of digits alone comes as a number
        return self._of(*str(key).split("/"))


def told(
    findings: Iterable[Mapping[str, str]], named: Mapping[str, Callable[..., object]]
) -> list[tuple[str, str]]:
    """Give title and text of findings, numbers in them.

    Parameters
    ----------
    findings
        Tables with `title` and `text`; `{mean[as fitted/1 none/timeouts]:.1f}` in a text is what the
        function called `mean` gives for these three words.
    named
        The functions by their names.
    """
    lookups = {name: _Lookup(of) for name, of in named.items()}
    return [(one["title"], one["text"].format(**lookups)) for one in findings]
