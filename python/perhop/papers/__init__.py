"""Reproduction packs: published numbers, the scenarios that repeat them, verdicts on the claims."""

from perhop.papers.pack import Claim, Pack, PackError, load_pack, pack_dir
from perhop.papers.verdict import Part, Verdict, compound, judge, part

__all__ = [
    "Claim",
    "Pack",
    "PackError",
    "Part",
    "Verdict",
    "compound",
    "judge",
    "load_pack",
    "pack_dir",
    "part",
]
