"""The port that the parts of a device make: shaper, scheduler, classes and what they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from perhop.import_ns2.remarks import Refused, Remarks
from perhop.import_tc.classify import Classifier, written
from perhop.import_tc.filters import ALL, Kind, compared
from perhop.import_tc.htb import Leaf, Tree, rates
from perhop.import_tc.quantities import count, rate, size, time
from perhop.import_tc.queues import FIFO, KINDS, Table, leave, queue
from perhop.import_tc.reading import INGRESS, Id, Part, ident
from perhop.units import written_rate

_PRIOMAP = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
_PRIORITIES = (0, 2, 6, 4)
"""`skb->priority` by two bits of the DS field, as IPv4 forwarding sets it: `ip_tos2prio`; Linux, route.c."""
_OF_HTB = ("rate", "ceil", "burst", "cburst", "quantum")


@dataclass
class Class:
    """A class of a port: its settings, where they are from, and what it takes."""

    ident: Id
    settings: Table
    sources: list[Part]
    takes: set[Kind] = field(default_factory=set)


class Port:
    """The port that the parts of a device make; `at` is the part that is refused, the last one looked at."""

    def __init__(self, root: Part, parts: list[Part], left_out: Remarks) -> None:
        self.parts, self.at, self.left_out = parts, root, left_out
        self.settings: Table = {}
        self.sources: list[Part] = []
        """Where the settings are from: shaper and scheduler."""
        self.classes: list[Class] = []
        self.rate_bit_s = 0
        """What it is held to; 0 where nothing holds it."""
        self._used = set[Part]()

    def check(self) -> None:
        """Refuse what `tc` would not take in commands: a parent that was never made, a match of no number."""
        made = {one.handle for one in self.parts if one.what != "filter"}
        with_classes = {one.handle[0] for one in self.parts if one.what == "class"}
        majors = {major for major, _ in made}
        for part in self.parts:
            self.at, (major, minor) = part, part.parent
            if part.what == "filter":
                compared(part)
            elif part.is_shown or major in (0, INGRESS[0]) or part.parent in made:
                continue
            elif major not in majors or (minor and major in with_classes):
                what = "class" if minor else "qdisc"
                raise Refused(f"its parent is not there: there is no {what} {written(part.parent)}")

    def take(self, part: Part) -> None:
        """Take a qdisc that all packets pass, with all below it: the root, or one behind a shaper."""
        self._at(part)
        (major, _), kind = part.handle, part.kind
        classes = [one for one in self.parts if (one.what, one.kind, one.handle[0]) == ("class", kind, major)]
        if kind in KINDS:
            self.classes = [Class(part.handle, {"queue": queue(part, self.left_out)}, [part], set(ALL))]
            if "rate" in self.classes[0].settings["queue"]:
                self.rate_bit_s = rate(part.options["bandwidth"])
        elif kind == "mq":
            self._transmit_queues(part)
        elif kind == "dsmark":
            self.left_out.add(*part.remark("marks are for a conditioner to set"))
            self._inside(part, FIFO, (major, 0), part.handle)
        elif kind == "tbf" or (kind == "htb" and len(classes) == 1):
            self._shaper(part, classes[0] if kind == "htb" else part)
        elif kind in ("prio", "pfifo_fast"):
            self._bands(part)
        elif kind == "htb":
            self._htb(part, classes)
        elif kind == "drr" and classes:
            self._schedule(part, {"kind": kind}, [self._class(one, self._drr(one)) for one in classes], {})
        else:
            raise Refused(f"{kind} is not taken" if kind != "drr" else "it has no classes")

    def leave_rest(self) -> None:
        """Name the parts that no packet comes to."""
        for part in self.parts:
            if part not in self._used:
                why = "no packet comes to it"
                if INGRESS[0] in (part.parent[0], part.handle[0]):
                    why = "what comes in has no queue here"
                elif part.what == "filter":
                    why = "it stands at nothing that is taken"
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
                raise Refused(
                    f"a class of perhop has a queue of its own, and {part.kind} is not taken as one"
                )
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
        self.rate_bit_s, _ = rates(source)
        # a ceiling below the rate has its own bucket
        bucket = "cburst" if self.rate_bit_s < rate(given["rate"]) else "burst"
        limit, burst = size(given.get("limit", 0)), size(given.get(bucket, 0))
        if "lat" in given:
            limit = self.rate_bit_s * time(given["lat"]) // 8_000_000_000 + burst
        sizes = {word: size(given.get(word, given.get(f"{word}_rate", 0))) for word in ("overhead", "mpu")}
        made = {word: f"{length}B" for word, length in ({"burst": burst} | sizes).items() if length}
        self.settings["shaper"] = {"rate": written_rate(self.rate_bit_s)} | made
        self.sources += dict.fromkeys((part, source))
        self._leave(source, "rate", "limit", "burst", "lat", *sizes, "mpu_rate", *_OF_HTB, "prio")
        if source is not part:
            self._classified(part, {source.handle: source}, (), self._default(part))
        own = {"kind": "fifo", "limit": f"{limit}B"} if source is part else FIFO
        self._inside(source, own, part.handle, (part.handle[0], 1), source.handle)

    def _inside(self, part: Part, own: Table, *parents: Id) -> None:
        """Take the qdisc within another one that has no classes, or its own queue."""
        if inner := self._below(*parents):
            self.take(inner[0])
        else:
            self.classes = [Class(part.handle, {"queue": own}, [], set(ALL))]

    def _bands(self, part: Part) -> None:
        bands, major = count(part.options.get("bands", 3)), part.handle[0]
        priomap = [*map(count, part.options.get("priomap", ())), *_PRIOMAP][:16]
        if not max(priomap) < bands <= 16:
            raise Refused("it has from 1 to 16 bands, and more than its priomap names")
        self._leave(part, "bands", "priomap")
        classes = [Class(one, *self._leaf(one)) for one in ((major, n) for n in range(1, bands + 1))]
        default = {kind: (major, 1 + priomap[_PRIORITIES[kind[0] >> 1 & 3]]) for kind in ALL}
        self._schedule(part, {"kind": "strict-priority"}, classes, default)

    def _drr(self, part: Part) -> Table:
        self._at(part)
        self._leave(part, "quantum")
        if part.is_shown and "quantum" not in part.options:
            raise Refused("`tc -j` has no quantum of drr: give what `tc class show` prints")
        return {"quantum": f"{size(part.options.get('quantum', 1514))}B"}

    def _htb(self, part: Part, parts: list[Part]) -> None:
        tree = Tree((part.handle[0], 0), parts, self.left_out, self._at)
        self._leave(part, "default", "r2q")
        made: Table = {"kind": "htb"}
        for one in tree.inner:
            self.at = one
            is_top = one is tree.top
            self._leave(one, "rate", "ceil", "prio", "quantum", *(("burst", "cburst") if is_top else ()))
            made |= {"burst": f"{size(one.options['burst'])}B"} if is_top and "burst" in one.options else {}
        if self.settings and tree.rate > self.rate_bit_s:
            raise Refused(f"its classes have {written_rate(tree.rate)}, and its shaper less")
        made |= {"rate": written_rate(tree.rate)} if tree.inner else {}
        self.rate_bit_s = self.rate_bit_s or tree.rate
        r2q = count(part.options.get("r2q", 10))
        # by default it is the device's txqueuelen, too
        limit = count(part.options.get("direct_qlen", 1000)) if part.is_shown else 1000
        classes = [self._class(leaf.part, self._htb_class(leaf, r2q), limit) for leaf in tree.leaves]
        self._schedule(part, made, classes, self._default(part), tree.inner)

    def _htb_class(self, leaf: Leaf, r2q: int) -> Table:
        part = leaf.part
        self._at(part)
        self._leave(part, *_OF_HTB, "prio")
        made = {"rate": written_rate(int(leaf.rate))}
        made |= {"ceil": written_rate(leaf.ceil)} if leaf.ceil > int(leaf.rate) else {}
        sizes = {word: f"{size(part.options[word])}B" for word in _OF_HTB[2:] if word in part.options}
        if not part.parent[1]:
            # nothing is lent without a parent, so that its own bucket is all that counts
            sizes["cburst"] = sizes.get("burst", "")
        made |= {word: length for word, length in sizes.items() if length}
        if "quantum" not in made and r2q not in (0, 10):
            made["quantum"] = f"{min(max(rate(part.options['rate']) // 8 // r2q, 1000), 200_000)}B"
        priority = min(count(part.options.get("prio", 0)), 7)
        return made | ({"priority": priority} if priority else {})

    def _schedule(
        self,
        part: Part,
        settings: Table,
        classes: list[Class],
        default: Mapping[Kind, Id],
        inner: Iterable[Part] = (),
    ) -> None:
        """Take a scheduler with its classes, and give each kind of packets to one."""
        self.settings["scheduler"] = settings
        self.sources += [part, *inner]
        own = {one.ident: (one.sources or [part])[0] for one in classes}
        found = self._classified(part, own, inner, default)
        kinds = found.kinds()
        order = found.first if part.kind in ("htb", "drr") else list(own)
        self.classes = [replace(one, takes=kinds[one.ident]) for one in classes if kinds[one.ident]]
        self.classes.sort(key=lambda one: order.index(one.ident))

    def _classified(
        self, part: Part, own: dict[Id, Part], inner: Iterable[Part], default: Mapping[Kind, Id]
    ) -> Classifier:
        self.at = part
        found = Classifier(part, self.parts, own, {one.handle for one in inner}, default, self.left_out)
        self._used.update(found.filters)
        return found

    def _default(self, part: Part) -> dict[Kind, Id]:
        minor = ident(str(part.options.get("default", "0")).removeprefix("0x"))[0]
        return dict.fromkeys(ALL, (part.handle[0], minor))
