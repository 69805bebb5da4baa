"""Names, classes and labels that tables of a run will have, from its scenario."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from perhop.run.tables import SCHEMA

if TYPE_CHECKING:
    from perhop.experiment.factors import Treatments
    from perhop.scenario.scenario import Scenario

Vocabulary = Mapping[str, Mapping[str, Set[str]]]
"""By table and column: every word there may be. What is known only after a run is not in it."""

NO_WORDS: Vocabulary = {}


def words(scenario: Scenario) -> Vocabulary:
    """Return the words of a scenario without mistakes."""
    meaning = scenario.describe()
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for table, flows in (("flows", meaning.flows), ("udp", meaning.udp)):
        for flow in flows:
            own = {"name": flow.name, "class": flow.class_, "from": flow.source, "to": flow.target}
            for column, word in (own | flow.labels).items():
                found[table][column].add(word)
            found["marks"]["flow"].add(flow.name)
            found["classes"]["class"].add(flow.class_)
    found["links"]["name"] = {link.name for link in meaning.links}
    return found


def words_of_design(scenario: Scenario, design: Treatments) -> Vocabulary:
    """Return the words of a scenario and of its treatments: a level may make some."""
    changed = (scenario.unread(*one.overrides) for one in design.treatments)
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in (words(scenario), *(words(each) for each in changed if not each.check())):
        for table, columns in one.items():
            for column, known in columns.items():
                found[table][column] |= known
    return found


def labels(vocabulary: Vocabulary, table: str) -> list[str]:
    """Return the columns that labels make in a table, sorted."""
    own = {column.name for column in SCHEMA[table].columns}
    return sorted(set(vocabulary.get(table, {})) - own)
