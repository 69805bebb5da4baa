"""The port that the parts of a device make: shaper, scheduler, classes and what they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perhop.import_ns2.remarks import Refused, Remarks
from perhop.import_tc.filters import ALL, taken, target
from perhop.import_tc.quantities import WRITTEN, count, rate, size, time
from perhop.import_tc.queues import FIFO, KINDS, Table, leave, queue
from perhop.import_tc.reading import INGRESS, Part, ident
from perhop.units import written_rate

if TYPE_CHECKING:
    from perhop.import_tc.filters import Kind
    from perhop.import_tc.reading import Id

_PRIOMAP = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
_PRIORITIES = (0, 2, 6, 4)
"""`skb->priority` by two bits of the DS field, as IPv4 forwarding sets it: `ip_tos2prio`; Linux, route.c."""
_SPARE = range(3, 64, 4)
"""Code points for local use (RFC 2474 section 6, pool 2)."""
_OF_HTB = {"rate": "rate", "ceil": "rate", "burst": "bytes", "cburst": "bytes", "quantum": "bytes"}


@dataclass
class Class:
    """A class of a port: its settings, where they are from, and what it takes."""

    ident: Id
    settings: Table
    sources: list[Part]
    takes: set[Kind] = field(default_factory=set)


class Port:
    """The port that the parts of a device make.

    Attributes
    ----------
    settings, sources
        Its shaper and its scheduler, and the parts that they are from.
    rate_bit_s
        What it is held to; 0 where nothing holds it.
    at
        The part that was looked at last: the one that is refused.
    """

    def __init__(self, root: Part, parts: list[Part]) -> None:
        self.parts, self.at = parts, root
        self.settings: Table = {}
        self.sources: list[Part] = []
        self.classes: list[Class] = []
        self.rate_bit_s = 0
        self.left_out = Remarks()
        self._used = set[Part]()

    def take(self, part: Part) -> None:
        """Take a qdisc that all packets pass, with all below it: the root, or one behind a shaper.

        Raises
        ------
        Refused
            Perhop has nothing for a part, or `tc` would not take it.
        """
        self._at(part)
        (major, _), kind = part.handle, part.kind
        classes = [one for one in self.parts if (one.what, one.kind, one.handle[0]) == ("class", kind, major)]
        if kind in KINDS:
            self.classes = [Class(part.handle, {"queue": queue(part, self.left_out)}, [part], set(ALL))]
            if "rate" in self.classes[0].settings["queue"]:
                self.rate_bit_s = rate(part.options["bandwidth"])
        elif kind == "mq":
            self._transmit_queues(part)
        elif kind == "tbf" or (kind == "htb" and len(classes) == 1):
            self._shaper(part, classes[0] if kind == "htb" else part)
        elif kind in ("prio", "pfifo_fast"):
            self._bands(part)
        elif kind == "htb" and classes:
            self._htb(part, classes)
        elif kind == "drr" and classes:
            self._schedule(part, "drr", [self._class(one, self._drr(one)) for one in classes], lambda _: None)
        else:
            raise Refused(
                f"perhop has nothing like {kind}" if kind not in ("htb", "drr") else "it has no classes"
            )

    def leave_rest(self) -> None:
        """Name the parts that no packet comes to."""
        for part in self.parts:
            if part not in self._used:
                why = (
                    "it stands at nothing that is taken" if part.what == "filter" else "no packet comes to it"
                )
                if INGRESS[0] in (part.parent[0], part.handle[0]):
                    why = "what comes in has no queue here"
                self.left_out.add(*part.remark(why))

    def _at(self, part: Part) -> None:
        self.at = part
        self._used.add(part)

    def _below(self, *parents: Id) -> list[Part]:
        return [one for one in self.parts if one.what == "qdisc" and one.parent in parents]

    def _leave(self, part: Part, *taken_: str) -> None:
        leave(part, part.options, self.left_out, "a port of perhop has no such setting", taken_)

    def _leaf(self, parent: Id, limit: int = 1000) -> tuple[Table, list[Part]]:
        """Return the queue of a class, and its qdisc if it has one."""
        found, made = self._below(parent), FIFO | {"limit": f"{limit}p"}
        for part in found:
            self._at(part)
            if part.kind not in KINDS:
                raise Refused("a class of perhop has a queue, and no classes or shaper of its own")
            made = queue(part, self.left_out)
        return {"queue": made}, found

    def _class(self, part: Part, settings: Table, limit: int = 1000) -> Class:
        queue_, leaf = self._leaf(part.handle, limit)
        return Class(part.handle, settings | queue_, [part, *leaf])

    def _transmit_queues(self, part: Part) -> None:
        found = [one for one in self.parts if one.what == "qdisc" and one.parent[0] == part.handle[0]]
        found = [one for one in found if one.parent[1] and one not in self._used]
        if not found:
            raise Refused("no qdisc of its transmit queues")
        self._used.update(found)
        self.left_out.add(*part.remark(f"of {len(found)} transmit queues the first stands for all"))
        self.take(min(found, key=lambda one: one.parent))

    def _shaper(self, part: Part, source: Part) -> None:
        """Take tbf, or htb with one class, as the shaper of the port."""
        if "shaper" in self.settings:
            raise Refused("a port of perhop has one shaper")
        self._at(source)
        given = source.options
        self.rate_bit_s = rate(given.get("rate", 0))
        limit, burst = size(given.get("limit", 0)), size(given.get("burst", 0))
        if "lat" in given:
            limit = self.rate_bit_s * time(given["lat"]) // 8_000_000_000 + burst
        sizes = {word: size(given.get(word, given.get(f"{word}_rate", 0))) for word in ("overhead", "mpu")}
        made = {word: f"{length}B" for word, length in ({"burst": burst} | sizes).items() if length}
        self.settings["shaper"] = {"rate": written_rate(self.rate_bit_s)} | made
        self.sources += dict.fromkeys((part, source))
        self._leave(source, "rate", "limit", "burst", "lat", *sizes, "mpu_rate", *_OF_HTB, "prio")
        if source is not part:
            goals = [self._default(part)((0, False))]
            for one, goal in self._filters(part):
                goals += [goal] if goal else []
                if goal != source.handle:
                    self.left_out.add(*one.remark("all packets pass the one class here"))
            if source.handle not in goals:
                self.left_out.add(
                    *part.remark("nothing leads to its class in Linux; here all packets pass it")
                )
        inner = self._below(part.handle, (part.handle[0], 1), source.handle)
        if inner:
            self.take(inner[0])
        else:
            own = {"kind": "fifo", "limit": f"{limit}B"} if source is part else FIFO
            self.classes = [Class(source.handle, {"queue": own}, [], set(ALL))]

    def _bands(self, part: Part) -> None:
        bands, major = count(part.options.get("bands", 3)), part.handle[0]
        priomap = [*map(count, part.options.get("priomap", ())), *_PRIOMAP][:16]
        if not max(priomap) < bands <= 16:
            raise Refused("it has from 1 to 16 bands, and more than its priomap names")
        self._leave(part, "bands", "priomap")
        classes = [Class(one, *self._leaf(one)) for one in ((major, n) for n in range(1, bands + 1))]
        default = [(major, 1 + priomap[priority]) for priority in _PRIORITIES]
        self._schedule(part, "strict-priority", classes, lambda kind: default[kind[0] >> 1 & 3])

    def _drr(self, part: Part) -> Table:
        self._at(part)
        self._leave(part, "quantum")
        if part.is_shown and "quantum" not in part.options:
            raise Refused("`tc -j` has no quantum of drr: give what `tc class show` prints")
        return {"quantum": f"{size(part.options.get('quantum', 1514))}B"}

    def _htb(self, part: Part, parts: list[Part]) -> None:
        parents = {one.parent for one in parts}
        inner = [one for one in parts if one.handle in parents]
        leaves = [one for one in parts if one.handle not in parents]
        for one in inner:
            self._at(one)
            if any(other.parent != one.handle for other in leaves) or len(inner) > 1:
                raise Refused("perhop's htb has one level: all classes have the same parent, or none")
        self._leave(part, "default", "r2q")
        more = self._htb_class(inner[0], 10, borrows=False) if inner else {}
        promised = sum(rate(one.options.get("rate", 0)) for one in leaves)
        whole = rate(inner[0].options["rate"]) if inner else promised
        if promised > whole:
            raise Refused(f"its classes have {written_rate(promised)}, and more is not promised in perhop")
        self.rate_bit_s = self.rate_bit_s or whole
        r2q = count(part.options.get("r2q", 10))
        # by default it is the device's txqueuelen, too
        limit = count(part.options.get("direct_qlen", 1000)) if part.is_shown else 1000
        classes = [self._class(one, self._htb_class(one, r2q, bool(inner)), limit) for one in leaves]
        own: Table = {word: more[word] for word in ("rate", "burst") if word in more}
        self._schedule(part, "htb", classes, self._default(part), own, inner)

    def _htb_class(self, part: Part, r2q: int, borrows: bool) -> Table:
        self._at(part)
        given = {"rate": 0} | part.options
        self._leave(part, *_OF_HTB, "prio")
        made = {word: WRITTEN[unit](given[word]) for word, unit in _OF_HTB.items() if word in given}
        if not borrows:
            # nothing is lent without a parent, so that its own bucket is all that counts
            made = {word: made[word] for word in made if word not in ("ceil", "cburst")}
            made |= {"cburst": made["burst"]} if "burst" in made else {}
        if "quantum" not in made and r2q not in (0, 10):
            made["quantum"] = f"{min(max(rate(given['rate']) // 8 // r2q, 1000), 200_000)}B"
        priority = min(count(given.get("prio", 0)), 7)
        return made | ({"priority": priority} if priority else {})

    def _schedule(
        self,
        part: Part,
        kind: str,
        classes: list[Class],
        default: Callable[[Kind], Id | None],
        settings: Table | None = None,
        more: Iterable[Part] = (),
    ) -> None:
        self.settings["scheduler"] = {"kind": kind} | (settings or {})
        self.sources += [part, *more]
        self.classes = classes
        self._assign(part, classes, default)

    def _default(self, part: Part) -> Callable[[Kind], Id]:
        found = (part.handle[0], ident(str(part.options.get("default", "0")).removeprefix("0x"))[0])
        return lambda _: found

    def _assign(self, part: Part, classes: list[Class], default: Callable[[Kind], Id | None]) -> None:
        """Give each kind of packets to the class of the first filter that takes it, or to its default."""
        given: dict[Kind, Id] = {}
        own = {one.ident: one for one in classes}
        for one, goal in self._filters(part):
            try:
                kinds = taken(one)
            except Refused as error:
                self.left_out.add(*one.remark(f"a port knows marks and ACKs without data: {error}"))
                continue
            if goal in own:
                given |= {kind: goal for kind in kinds if kind not in given}
            else:
                self.left_out.add(*one.remark("it leads to no class that has a queue"))
        self.at = part
        whole = {kind: given.get(kind, default(kind)) for kind in ALL}
        spare = [mark for mark in _SPARE if (mark, False) not in given]
        for goal in [one for one in own if one not in whole.values()]:
            source = (own[goal].sources or [part])[0]
            why = f"no filter that is taken leads to {goal[0]:x}:{goal[1]:x}"
            if spare:
                mark = spare.pop(0)
                whole |= {(mark, False): goal} | {(mark, True): given.get((mark, True), goal)}
                self.left_out.add(*source.remark(f"{why}: mark {mark} does"))
            else:
                classes.remove(own[goal])
                self.left_out.add(*source.remark(f"{why}, and all marks lead elsewhere: it is left out"))
        if set(whole.values()) - own.keys():
            what = "goes past all classes" if part.kind == "htb" else "is dropped"
            self.left_out.add(*part.remark(f"what has no class {what} in Linux; here none is without"))
        for one_class in classes:
            one_class.takes = {kind for kind in ALL if whole[kind] == one_class.ident}
        if part.kind in ("htb", "drr"):
            order = [*dict.fromkeys(given.values()), *own]
            classes.sort(key=lambda one: (one.ident == default((0, False)), order.index(one.ident)))

    def _filters(self, part: Part) -> list[tuple[Part, Id | None]]:
        """Return filters in order, with where they lead; of those without a number the last is the first."""
        found: list[tuple[int, Part, Id | None]] = []
        for one in self.parts:
            if one.what == "filter" and one.parent in ((part.handle[0], 0), (0, 0)):
                self.at, goal = one, target(one)
                if one.parent == (0, 0) and (goal or part.handle)[0] != part.handle[0]:
                    continue
                self._used.add(one)
                pref = one.options.get("pref", min((at for at, _, _ in found), default=49153) - 1)
                found.append((count(pref), one, goal))
        return [(one, goal) for _, one, goal in sorted(found, key=lambda each: each[0])]
