"""`study.toml`: what a study in a folder is called, which claims it judges, what it draws."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from string import Formatter
from typing import Any

import msgspec

from perhop.experiment import shape
from perhop.experiment.fault import At, Fault, FileError
from perhop.experiment.kinds import STUDY
from perhop.experiment.shape import Text
from perhop.judge.grammar import Part
from perhop.judge.quantity import among

FILE = STUDY


class StudyError(FileError):
    """A study in a folder, one of whose files has mistakes."""


class RunChanges(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How runs differ from those that campaigns have: under a reading, or of the quick form.

    Attributes
    ----------
    set, change
        Settings of all runs, before those of a reading and of treatments; by level, after those of a
        treatment that has it.
    without
        Levels whose treatments are left out.
    replications
        How many each treatment has; without it as many as the campaign says.
    """

    set: list[str] = []
    change: dict[str, list[str]] = {}
    without: list[str] = []
    replications: int | None = None


class Quick(RunChanges, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The quick form: how `--quick` differs.

    Attributes
    ----------
    claims
        Ids of those that are judged; without it all.
    readings
        Whether claims are judged under the readings too, by ten replications at most.
    """

    claims: list[str] | None = None
    readings: bool = False


class CampaignPart(Part, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A quantity of a campaign, as claims have it.

    Attributes
    ----------
    campaign
        File that it is of; without it the first that a file of claims names.
    """

    campaign: Text | None = None


class Figure(CampaignPart, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A figure: a quantity for `each` of some levels, or what an analysis of a response draws.

    Attributes
    ----------
    title, caption
        Its words.
    kind
        `"means"` of what stands in `each`: along the axis what stands last, a line for each before it,
        a panel for each before that. Or `"ellipses"` of the same levels; a `"map"` over the two factors in
        `each`, one for each response; `"main"` effects, `"interactions"` or `"shares"` of the variation; or
        the `"model"` of the claims' factorial, with its residuals.
    against
        Of ellipses: the response to the right, which is to be small.
    label
        Of the vertical axis; without it the response.
    apart
        Whether each of what stands first in `each` has a drawing of its own.
    tolerance
        How far from a closed form what was measured may be, to be said of each form.
    """

    title: Text
    caption: str = ""
    kind: str = "means"
    against: str | None = None
    label: str = ""
    apart: bool = False
    tolerance: float | None = None


class Assumption(CampaignPart, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An assumption about the runs of a study; the page warns where it does not hold.

    Attributes
    ----------
    text
        What is warned of.
    """

    text: Text


class Rows(CampaignPart, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Rows of a table: a quantity for `each` of some levels and responses, printed or not.

    Attributes
    ----------
    table
        Which.
    id
        Name of a row, a template of its levels; without it those in `each`.
    made
        In place of a quantity: a function of `study.py` that makes the rows, by `parameters`.
    """

    table: Text
    id: str = ""
    made: Text | None = None


class Section(CampaignPart, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A section of the paper: a reading votes on its places if it fits what is printed there.

    Attributes
    ----------
    name
        As the paper has it.
    relative
        Whether distances count in parts of what is printed.
    resolution
        The least that a distance counts, such as half a unit of the last digit that is printed.
    """

    name: Text
    relative: bool = False
    resolution: float = 0.0


class Value(CampaignPart, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A quantity in a text.

    Attributes
    ----------
    reading
        Under which it was measured; without it as fitted.
    form
        A closed form that it is computed by, in place of what was measured.
    """

    reading: Text | None = None
    form: Text | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding beyond the claims, or a note beside some.

    Attributes
    ----------
    title, text
        Its words; `{name}` stands for a value, `{name:.3f}` for its number alone. Without a title it is a
        note alone.
    values
        Quantities by name.
    claims
        Ids of those beside whose verdicts it stands as well.
    """

    title: Text | None = None
    text: Text
    values: dict[str, Value] = {}
    claims: list[str] = []


class Citation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The paper that a study repeats, and the licence of the folder's files."""

    title: Text
    authors: list[str]
    where: str = ""
    year: int | None = None
    doi: str = ""
    url: str = ""
    licence: str = ""


class StudyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study in a folder.

    Attributes
    ----------
    title, question
        Of the page; what is asked, in a sentence or two.
    about
        What a reader needs to know to compare printed and simulated numbers.
    claims
        Files of claims; each names its campaign.
    under
        How runs under a reading differ. Where they differ by level, the fitted point is judged by such runs
        too, as if that were a reading.
    refit
        Whether `calibration.toml` has a fit to cells of the factorial: then readings are fitted again, and
        those that do not fit have no vote.
    read_by
        A factor: under a reading only those levels of it are run that the reading's claims name, in campaigns
        beside the first too. Without it the first campaign is run.
    quick
        The quick form.
    beyond
        Campaigns past the paper, about which nothing is claimed; for figures.
    row
        What stands in tables; without it what is printed.
    rows_of
        How many replications, the first, rows and figures are of, where a paper had fewer than claims need.
    told
        Tables whose rows the command prints; without it all.
    holds_on
        The printed tables, in words: beside each claim stands whether it holds on them.
    by_row
        Claims that have a verdict for each level of a factor as well, and which factor.
    section
        Parts of the paper by which readings vote; without them each votes everywhere.
    draw
        Of the first campaign, levels whose first run `study.py` is given whole; as `each` of a claim.
    trace
        Traces that those runs have.
    figure, assumption, finding
        What is drawn, assumed, and said beyond the claims.
    labels
        Words for factors and responses in figures and tables, for the levels that rows are of, and titles of
        tables.
    citation
        The paper.
    """

    title: Text
    question: Text
    about: str = ""
    claims: list[Text] = msgspec.field(default_factory=lambda: ["claims.toml"])
    under: RunChanges = RunChanges()
    refit: bool = False
    read_by: Text | None = None
    quick: Quick = Quick()
    beyond: list[Text] = []
    row: list[Rows] = []
    rows_of: int | None = None
    told: list[str] = []
    holds_on: str = ""
    by_row: dict[str, str] = {}
    section: list[Section] = []
    draw: dict[str, str | list[str]] = {}
    trace: list[str] = []
    figure: list[Figure] = []
    assumption: list[Assumption] = []
    finding: list[Finding] = []
    labels: dict[str, str] = {}
    citation: Citation | None = None


class WrittenReading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reading of what the paper leaves open.

    `against` is what in the paper speaks against it; `set` has settings of the scenario, before those of
    treatments; `change` settings by level, after those of a treatment that has it, and values of the study's
    own parameters; `claims` the ids of those that it is about, without it all.
    """

    id: Text
    meaning: Text
    against: Text | None = None
    set: list[str] = []
    change: dict[str, Any] = {}
    claims: list[str] | None = None


class WrittenPair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two readings together; without `claims` about those that both are about."""

    of: list[str]
    claims: list[str] | None = None


class ReadingsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of readings, and pairs of them."""

    reading: list[WrittenReading] = []
    pair: list[WrittenPair] = []


# at import, in one thread: several that are the first to decode a type crash msgspec (0.22)
for _kind in (CampaignPart, StudyFile, ReadingsFile):
    msgspec.json.Decoder(_kind)


def unknown(at: At, names: Sequence[str], known: Sequence[str]) -> Iterator[Fault]:
    """Yield the claims of a list that are not there."""
    for k, name in enumerate(names):
        if name not in known:
            yield Fault((*at, k), f"there is no claim `{name}`", among(name, known))


def fields(text: str) -> set[str]:
    """Return the names of the values in a text's braces."""
    names = (name for _, name, *_ in Formatter().parse(text) if name is not None)
    return {re.split(r"[.\[]", name, maxsplit=1)[0] for name in names}


def schema() -> str:
    """Return the JSON Schema of `study.toml`."""
    return shape.schema(StudyFile)
