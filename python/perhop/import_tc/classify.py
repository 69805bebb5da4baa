"""Which class each kind of packets comes to: filters are followed in order, then the default."""

from __future__ import annotations

from collections.abc import Mapping

from perhop.import_ns2.remarks import Refused, Remarks
from perhop.import_tc.filters import ALL, Kind, taken, target
from perhop.import_tc.quantities import count
from perhop.import_tc.reading import Id, Part

_SPARE = range(3, 64, 4)
"""Code points for local use (RFC 2474 section 6, pool 2)."""
_ALONE = "perhop cannot match ports, addresses and the like, only marks (DSCP) and ACKs without data"


class Classifier:
    """The filters at a qdisc (`part`) and at its inner classes.

    `classes` are those that have queues, with the part that a remark names; `inner` have classes. A kind of
    packets that no filter takes goes where `default` has it. `first` has the classes in the order in which
    filters lead to them, then the others; the default class is the last.
    """

    def __init__(
        self,
        part: Part,
        parts: list[Part],
        classes: dict[Id, Part],
        inner: set[Id],
        default: Mapping[Kind, Id],
        left_out: Remarks,
    ) -> None:
        self._at, self._classes, self._left_out = part, classes, left_out
        self._all = [one for one in parts if one.what == "filter"]
        self._made = {one.handle for one in parts if one.what == "class"}
        last = [*classes][-1]
        self._default = {kind: default[kind] if default.get(kind) in classes else last for kind in ALL}
        self.filters: list[Part] = []
        self._not_taken: dict[Id | None, list[Part]] = {}
        self._free: dict[Id | None, set[int]] = {}
        self._meant: set[int] = set()
        self._given = self._led(part.handle, inner)
        if any(default.get(kind) not in classes for kind in ALL - self._given.keys()):
            what = "goes past all classes" if part.kind == "htb" else "is dropped"
            why = f"what has no class {what} in Linux, and comes to {written(last)} here"
            left_out.add(*part.remark(why))
        order = [*dict.fromkeys(self._given.values()), *classes]
        self.first = sorted(classes, key=lambda one: (one == self._default[0, False], order.index(one)))

    def kinds(self) -> dict[Id, set[Kind]]:
        """Return what comes to each class; one that nothing comes to has a mark that nothing else uses."""
        whole = self._default | self._given
        spare = [mark for mark in _SPARE if mark not in self._meant]
        for goal in [one for one in self._classes if one not in whole.values()]:
            why = f"no filter leads to {written(goal)}"
            if goal in self._free:
                why = f"the filters before leave {written(goal)} nothing"
            if lines := sorted({one.line for one in self._not_taken.get(goal, ())}):
                lead = "the filter that leads" if len(lines) == 1 else "the filters that lead"
                are = "is" if len(lines) == 1 else "are"
                why = f"{lead} to {written(goal)} {are} not taken (line {', '.join(map(str, lines))})"
            mark = next((mark for mark in spare if mark in self._free.get(goal, spare)), None)
            if mark is None:
                why += ", and all marks lead elsewhere: it is left out"
            else:
                spare.remove(mark)
                before = whole[(mark, False)]
                whole |= {(mark, ack): goal for ack in (False, True) if whole[(mark, ack)] == before}
                why += f": here it gets the packets with mark {mark} instead"
            self._left_out.add(*self._classes[goal].remark(why))
        return {goal: {kind for kind in ALL if whole[kind] == goal} for goal in self._classes}

    def _led(self, at: Id, inner: set[Id]) -> dict[Kind, Id]:
        """Return where the filters at a qdisc or class lead the kinds of packets that they take.

        Those at an inner class decide on what is led there; what they do not take has the default.
        """
        given: dict[Kind, Id] = {}
        for one, goal in self._in_order(at):
            free = {mark for mark in _SPARE if (mark, False) not in given}
            try:
                kinds = taken(one)
            except Refused as error:
                self._not_taken.setdefault(goal, []).append(one)
                self._free.setdefault(goal, free)
                self._left_out.add(*one.remark(f"{_ALONE}: {error}"))
                continue
            marks = {mark for mark, ack in kinds if not ack}
            self._meant |= marks if len(marks) < 64 else set()
            kinds -= given.keys()
            if goal in self._classes:
                given |= dict.fromkeys(kinds, goal)
                self._free.setdefault(goal, free - marks)
            elif goal in inner:
                further = self._led(goal, inner - {goal})
                given |= {kind: further.get(kind, self._default[kind]) for kind in kinds}
            else:
                why = "it leads to no class that has a queue"
                if goal is not None and goal[0] == self._at.handle[0] and goal not in self._made:
                    why = f"there is no class {written(goal)}"
                self._left_out.add(*one.remark(why))
        return given

    def _in_order(self, at: Id) -> list[tuple[Part, Id | None]]:
        """Return filters in order, with where they lead; of those without a number the last is the first."""
        found: list[tuple[int, Part, Id | None]] = []
        for one in self._all:
            goal = target(one)
            is_at_root = at == self._at.handle and one.parent == (0, 0) and (goal or at)[0] == at[0]
            if one.parent == at or is_at_root:
                self.filters.append(one)
                pref = one.options.get("pref", min((number for number, _, _ in found), default=49153) - 1)
                found.append((count(pref), one, goal))
        return [(one, goal) for _, one, goal in sorted(found, key=lambda each: each[0])]


def written(goal: Id) -> str:
    """Return the number of a qdisc or class as `tc` has it."""
    return f"{goal[0]:x}:{goal[1]:x}"
