"""The first screen of a study: each claim's answer, the claimed range and the outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perhop.plot import forest
from perhop.report import page
from perhop.report.answer import Answer, Pill
from perhop.units import counted

_WORDS = {
    "supported": ("Yes", "All {} hold here.", "holds here", "hold here"),
    "contradicted": ("No", "None of {} holds here.", "does not", "do not"),
    "inconclusive": ("Open", "All {} are open.", "is open", "are open"),
    "not judged": ("Not judged", "None of {} is judged.", "is not judged", "are not judged"),
}
"""By verdict: the answer to a claim's question; how all claims stand, or one, or some."""


@dataclass(frozen=True)
class Question:
    """A claim as a question: the pill with its answer, and the numbers that decide it."""

    pill: Pill
    statement: str
    numbers: str


def main_claims(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the claims without the verdicts on single rows, ``K9/2.3``."""
    return [claim for claim in document["claims"] if "/" not in claim["id"]]


def of_study(document: Mapping[str, Any]) -> Answer:
    """Return the answer of a study: how its claims stand, and each of them drawn.

    The document is as ``perhop reproduce --json`` prints it.
    """
    claims = main_claims(document)
    if not claims:
        return Answer((), None, ())
    return Answer(of_claims(document), _picture(claims), ())


def of_claims(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe how a study's claims stand, what was made again, the command that judges more of them."""
    claims = main_claims(document)
    return (stand(claims), *on_record(document), *_shorter(document, claims))


def on_record(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe when a study was recorded, and which of its runs were made again and came out equal.

    Nothing of one that is not compared with its record.
    """
    verified = document.get("verified")
    if verified is None:
        return ()
    if "seed" not in verified:
        return (f"All {verified['of']:,} runs on record were rerun just now; each came out equal.",)
    command, made, version = document["command"], document["made"], document["results_version"]
    now, runs, drawn = verified["results_version"], verified["runs"], verified["drawn"]
    name, dirty, _ = (made["commit"] or "").partition("-dirty")
    commit = f" and commit {name[:12]}{dirty}" if name else ""
    one = runs == 1
    under = "" if now == version else f" under results_version {now}"
    which = f": {drawn:,} drawn by chance, and {runs - drawn:,} whose course in time the study needs"
    return (
        f"These verdicts are of {verified['of']:,} runs on record, made by {command} --record on "
        f"{made['date']}, at results_version {version}{commit}.",
        f"Just now {runs:,} of them {'was' if one else 'were'} rerun{under}, and {'' if one else 'each '}"
        f"came out equal{which if runs > drawn else ''}. Rerun {'it' if one else f'these {runs:,}'}: "
        f"{command} --verify {drawn} --seed {verified['seed']}.",
    )


def _shorter(document: Mapping[str, Any], claims: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Describe the command that judges the claims that shorter runs do not."""
    whole, quick, _ = document["command"].partition(" --quick")
    if not quick or all(claim["verdict"] != "not judged" for claim in claims):
        return ()
    shorter = "These runs are shorter than the study's, too short for some verdicts"
    return (f"{shorter}: {whole} has them in full.",)


def stand(claims: Sequence[Mapping[str, Any]], of: str = "") -> str:
    """Describe how many claims, one or more, have which verdict; `of` is as `` of 4 studies``."""
    tally = Counter(claim["verdict"] for claim in claims)
    together = f"{counted(len(claims), 'claim')}{of}"
    if len(tally) == 1 < len(claims):
        return _WORDS[claims[0]["verdict"]][1].format(together)
    alone = "" if tally["supported"] else " hold here"
    counts = [
        f"{tally[verdict]} {one if tally[verdict] == 1 else many}{alone if verdict == 'contradicted' else ''}"
        for verdict, (_, _, one, many) in _WORDS.items()
        if tally[verdict]
    ]
    return f"Of {together} {', '.join(counts)}."


def questions(document: Mapping[str, Any], page: str = "") -> list[Question]:
    """Return each claim as a question with its answer; pills lead to `page`, or to where they are."""
    found = []
    for claim in main_claims(document):
        id, verdict, part = claim["id"], claim["verdict"], deciding(claim)
        pill = Pill(f"{id} {_WORDS[verdict][0]}", f"{page}#claim-{id}", verdict)
        found.append(Question(pill, claim["statement"], "" if part is None else numbers(claim, part)))
    return found


def deciding(claim: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the part that a claim is shown by, one with its verdict; None where no part has a number.

    Of a contradicted claim it is the one whose interval is farthest outside what is claimed, of another the
    one that is nearest to an end of it, relative to the largest of the part's numbers.
    """
    known = [part for part in claim["parts"] if part["mean"] is not None]
    own = [part for part in known if part["verdict"] == claim["verdict"]] or known
    return min(own, key=_margin, default=None)


def _margin(part: Mapping[str, Any]) -> float:
    """Return an interval's relative distance from the claimed range's ends; negative outside."""
    low, high = part["ci95"] or (part["mean"], part["mean"])
    least, most = part["claimed"]
    inside = [low - least] if least is not None else []
    inside += [most - high] if most is not None else []
    return min(inside, default=0.0) / size(low, high, least, most)


def size(*numbers: float | None) -> float:
    """Return the largest of a part's numbers, the unit of its distances; 1 where all are 0."""
    return max((abs(one) for one in numbers if one is not None), default=0.0) or 1.0


_RISE = 1e-5
"""Claims that something rises allow for the last digits of a number; the words do not name them."""


def numbers(claim: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """Describe which part a claim is shown by, its numbers, and why the claim is open or not judged."""
    which = "Clearest miss" if claim["verdict"] == "contradicted" else "The closest"
    parts, quantity, by = len(claim["parts"]), part["quantity"], claim.get("decided_by")
    said = [
        f"{which} of its {parts} parts: {quantity}" if parts > 1 else quantity[:1].upper() + quantity[1:],
        f"Claimed {_claimed(part)}, simulated {part['mean']:.4g}",
    ]
    if by and claim["verdict"] == "inconclusive":
        said.append(f"Open, because it depends on how the paper is read: {', '.join(by)}")
    if claim.get("reason"):
        said.append(f"Not judged: {claim['reason']}")
    return ". ".join(said) + "."


def _claimed(part: Mapping[str, Any]) -> str:
    least, most = part["claimed"]
    if least is not None and most is not None:
        return f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
    if least is not None:
        return "more than 0" if 0 <= least < _RISE else f"at least {least:.4g}"
    return (f"at most {most:.4g}" if most else "less than 0") if most is not None else "no range"


def _picture(claims: Sequence[Mapping[str, Any]]) -> page.Drawing | None:
    rows = [
        forest.ForestRow(
            claim["id"],
            f"{part['mean']:.4g}; claimed {_claimed(part)}",
            claim["verdict"],
            tuple(part["claimed"]),
            part["mean"],
            tuple(part["ci95"]) if part["ci95"] else None,
        )
        for claim in claims
        if (part := deciding(claim)) is not None
    ]
    title = "Claims against what was simulated"
    picture = forest.draw(rows, title)
    caption = (
        "Each claim by its most critical part: the mean and its 95 % interval, as fitted, from the edge of "
        "the claimed range (shaded), as a part of half its width, or of its only end. Colours show the "
        "verdict over all parts and readings."
    )
    return page.drawing("forest", title, picture, caption) if picture else None
