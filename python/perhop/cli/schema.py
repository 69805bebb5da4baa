"""`perhop schema`: the JSON Schema of scenario, campaign, claims or study files, for editors."""

from __future__ import annotations

from pathlib import Path

from perhop.cli import options
from perhop.cli.exit import UsageError
from perhop.cli.options import flag, option


def command(
    campaign: bool = flag("--campaign", "Of campaign files instead."),
    claims: bool = flag("--claims", "Of claims files instead."),
    study: bool = flag("--study", "Of study.toml instead."),
    out: Path | None = option("-o --out", None, "Write to this file instead; - is stdout."),
    force: bool = options.FORCE,
    as_json: bool = options.JSON,
) -> None:
    """Print the JSON Schema of scenario files (JSON, with or without --json)."""
    from perhop import _core
    from perhop.judge import grammar
    from perhop.papers import form
    from perhop.run.folder import write_file

    kinds = {
        "--campaign": (campaign, _core.campaign_schema),
        "--claims": (claims, grammar.schema),
        "--study": (study, form.schema),
    }
    asked = [name for name, (is_asked, _) in kinds.items() if is_asked]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)}: of which files?", "give one of them")
    text = (kinds[asked[0]][1] if asked else _core.schema)().rstrip() + "\n"
    if out is None or str(out) == "-":
        print(text, end="")
    else:
        write_file(out, text, options.target(out, force))
