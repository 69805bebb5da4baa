"""Commands of `tc` in a shell script, and what `tc` shows, as parts of devices. Nothing is executed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from perhop.import_ns2.remarks import Refused, Remark, Remarks, shown
from perhop.import_tc.options import options

Id = tuple[int, int]
"""Major and minor number of a qdisc or class."""

ROOT: Id = (0xFFFF, 0xFFFF)
INGRESS: Id = (0xFFFF, 0xFFF1)
_NAMED = {"root": ROOT, "ingress": INGRESS, "clsact": INGRESS, "egress": INGRESS}

_OBJECTS = ("qdisc", "class", "filter")
_CHANGES = ("add", "replace", "change", "del", "delete")
_VERBS = (*_CHANGES, "show", "list", "ls", "link")
_HEAD = {word: word for word in ("dev", "parent", "handle", "protocol", "chain", "leaf", "refcnt")}
_HEAD |= {"classid": "handle", "proto": "protocol"}
_PREF = ("pref", "prio", "preference", "priority")
_STAB = ("mtu", "tsize", "mpu", "overhead", "linklayer")
_SHELL = "if then else elif fi for while until do done case esac function eval source . { } ( )"
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}$]*))?\}|(\w+))")
_BETWEEN = re.compile(r"\s*(?:\d?>{1,2}\s*(?:&\d|[^\s;&|]+)|[;&|]+)\s*")
_ARRAY = re.compile(r"\s*\[\s*(?:[\[{\]]|$)", re.MULTILINE)
_WITH_CLASSES = ("htb", "drr")
_REPLACED = ("flower", "fw")
_ONCE = "write the filter once, as it is in the end"
_BESIDE_SETTINGS = ("class", "root", "stats", *_HEAD)
_BESIDE_FILTERS = ("fh", "order", "key_ht", "bkt", "in_hw", "not_in_hw", "in_hw_count", "rule_hit", "success")


@dataclass(frozen=True, eq=False)
class Part:
    """A qdisc, class or filter of a device."""

    what: str
    kind: str
    device: str
    handle: Id
    parent: Id
    options: dict[str, Any]
    """Settings by the words of `tc`; of a filter its words as ``words``, beside ``protocol`` and the like."""
    line: int
    text: str
    is_shown: bool
    """Whether `tc` shows it: then a flag that is not there is off."""

    def remark(self, why: str, about: str = "") -> Remark:
        """Return a remark on it, or on one of its settings."""
        return Remark(self.line, f"{self.text}: {about}" if about else self.text, why)

    def stands_at(self, other: Part) -> bool:
        """Whether it goes where another part goes."""
        is_at_root = self.what == "filter" and self.parent == (0, 0) and other.parent == ROOT
        is_within = 0 < other.handle[0] == self.parent[0] and self.parent not in (ROOT, INGRESS)
        return self.device == other.device and (
            (other.what == "qdisc" and (is_within or is_at_root))
            or (other.what == "class" and self.parent == other.handle)
        )


class Reader:
    """The contents of an input: parts in order, and remarks on all else.

    It has arrays of JSON, and lines of a script or of what `tc` shows, in any order.
    """

    def __init__(self, text: str) -> None:
        self._parts: dict[object, Part] = {}
        self.refused, self.left_out = Remarks(), Remarks()
        self._variables: dict[str, str] = {}
        self._line = 1
        text, at, is_shown = text.replace("\r\n", "\n"), 0, False
        while at < len(text):
            end = at
            if _ARRAY.match(text, at):
                start = text.index("[", at)
                self._line += text.count("\n", at, start)
                try:
                    found, end = json.JSONDecoder(object_pairs_hook=_pairs).raw_decode(text, start)
                except (ValueError, RecursionError) as error:
                    why = getattr(error, "msg", "nested too deeply")
                    self.refused.add(self._line, "", f"not JSON: {why}")
                    return
                for one in found:
                    self._json(one)
                at = start
            else:
                while end < len(text) and (end == at or text.endswith("\\\n", at, end)):
                    end = text.find("\n", end) + 1 or len(text)
                line = re.sub(r"\\\n\s*", "", text[at:end])
                # statistics stand under what tc shows
                is_shown = line[:1].isspace() and is_shown
                if not is_shown and (words := line.split()):
                    is_shown = len(words) > 2 and words[0] in _OBJECTS and words[1] not in _VERBS
                    self._text(line.strip(), is_shown)
            self._line += text.count("\n", at, end)
            at = end

    @property
    def parts(self) -> list[Part]:
        """The parts that are there in the end."""
        return list(self._parts.values())

    def _text(self, line: str, is_shown: bool) -> None:
        try:
            if is_shown:
                what, kind, handle, *rest = line.split()
                self._part(what, kind, {"handle": handle}, rest, line)
                return
            for command in _BETWEEN.split(re.sub(r"(?:^|\s)#.*", "", line)):
                self._command(shlex.split(_VARIABLE.sub(self._value, command)), line)
        except (Refused, ValueError) as error:
            self.refused.add(self._line, line, str(error))

    def _value(self, found: re.Match[str]) -> str:
        known = self._variables.get(found[1] or found[3], found[2])
        if known is None:
            raise Refused(f"`{found[0]}` has no value in the script: write the value")
        return known

    def _command(self, words: list[str], line: str) -> None:
        while words[:1] == ["export"]:
            del words[0]
        if not words or words in (["true"], [":"]):
            return
        if re.search(r"[$`]", " ".join(words)):
            raise Refused("nothing is executed: write the value")
        if all(re.fullmatch(r"[A-Za-z_]\w*=.*", word, re.DOTALL) for word in words):
            self._variables |= dict(word.split("=", 1) for word in words)
            return
        if words[0] in _SHELL.split() or words[0].endswith("()"):
            raise Refused("no conditions, loops or functions: write the commands of tc out")
        tc = next((at for at, word in enumerate(words) if word.rpartition("/")[2] == "tc"), None)
        if tc is not None and words[0] not in ("echo", "printf"):
            words = words[tc + 1 :]
            while words and words[0].startswith("-"):
                del words[: 2 if words[0] in ("-n", "-netns") else 1]
        match words:
            case [what, verb, *rest] if what in _OBJECTS and verb in _CHANGES:
                self._part(what, "", {}, rest, line, verb)
            case _:
                self.left_out.add(self._line, line, "no command of tc that sets up queues")

    def _part(
        self, what: str, kind: str, head: dict[str, str], rest: list[str], line: str, verb: str = ""
    ) -> None:
        """Read a part: one that `tc` shows, or what a verb says of it."""
        words = (*_HEAD, *_NAMED, "stab", *(_PREF if what == "filter" else ()))
        while rest and rest[0] in words:
            word = rest.pop(0)
            if word in _NAMED:
                head["parent"] = word
            elif word == "stab":
                while rest[:1] and rest[0] in _STAB:
                    head["stab"] = f"{head.get('stab', '')} {' '.join(rest[:2])}"
                    del rest[:2]
            else:
                head[_HEAD.get(word, "pref")] = rest.pop(0) if rest else ""
        removes = verb in ("del", "delete")
        kind = kind or (rest.pop(0) if rest else "" if removes else head.get("parent", ""))
        place = {"qdisc": "parent", "class": "handle"}.get(what, "dev")
        if verb and not (head.get("dev") and (removes or (kind and place in head))):
            raise Refused(f"it is taken in the form `tc {what} {verb} dev DEV parent ID KIND`")
        if what == "filter" and not verb:
            raise Refused("filters are read from `tc -j filter show`")
        if removes:
            self._remove(what, kind, head, line)
            return
        if stab := head.pop("stab", ""):
            self.left_out.add(self._line, line, f"lengths are those of IP packets: stab{stab}")
        self._keep(
            what, kind, head, head | {"words": rest} if what == "filter" else options(kind, rest), line, verb
        )

    def _json(self, one: Any) -> None:
        try:
            if not isinstance(one, dict) or not isinstance(one.get("options", {}), dict):
                raise Refused("no qdisc, class or filter of `tc -j`")
            head = {key: str(one[key]) for key in (*_HEAD, "pref") if key in one}
            head |= {"parent": word for word in _NAMED if one.get(word) is True}  # noqa: B035
            kind, taken = str(one.get("class", one.get("kind"))), one.get("options", {})
            what = "class" if "class" in one else "qdisc" if "handle" in one else "filter"
            place = head.get("handle", "")
            if what == "class":
                taken = {key: value for key, value in one.items() if key not in _BESIDE_SETTINGS}
            elif what == "filter":
                words = list(_words(taken))
                if not words or "ht_divisor" in words:
                    return  # where those of one number begin
                taken = head | {"words": words}
                place = f"pref {head.get('pref')} {' '.join(words)}"
            self._keep(what, kind, head, taken, f"{what} {kind} {place}")
        except Refused as error:
            self.refused.add(self._line, json.dumps(one), str(error))

    def _keep(
        self, what: str, kind: str, head: dict[str, str], taken: dict[str, Any], text: str, verb: str = ""
    ) -> None:
        if what == "class" and not verb and kind not in _WITH_CLASSES:
            return  # a band, or a flow of which there are statistics
        handle = ident("0:" if what == "filter" else head.get("handle", "0:"))
        device, parent = head.get("dev", ""), ident(head.get("parent", f"{handle[0]:x}:"))
        if what == "class":
            parent = (handle[0], 0) if parent == ROOT else parent
            handle = handle[0] or parent[0], handle[1]
        place: object = (what, device, parent if what == "qdisc" else handle)
        if what == "filter":
            place = self._place_of_filter(kind, head, verb)
        if there := self._parts.get(place):
            if verb == "add":
                raise Refused(
                    f"line {there.line} has a {what} there already: write `replace`, or leave one out"
                )
            if verb == "change":
                taken = there.options | taken
            elif there.kind != kind:
                self._drop([there], f"line {self._line} replaces it")
        self._parts[place] = Part(
            what, kind, device, handle, parent, taken, self._line, shown(text), not verb
        )

    def _place_of_filter(self, kind: str, head: dict[str, str], verb: str) -> object:
        """Return what a later line names a filter by; none does without its `prio` and handle.

        Linux, `tc_new_tfilter`: `replace` adds one that is not there; what has no handle gets one.
        """
        is_named = verb and {"pref", "handle"} <= head.keys()
        place = frozenset(head.items()) if is_named else object()
        level = {key: text for key, text in head.items() if key != "handle"}
        numbered = (one for one in self.parts if one.options == level | {"words": one.options.get("words")})
        if there := self._parts.get(place):
            if verb != "add" and (there.kind != kind or kind not in _REPLACED):
                raise Refused(f"what a filter of {kind} keeps of line {there.line} is not followed: {_ONCE}")
        elif verb == "change" or (verb == "replace" and is_named and any(numbered)):
            raise Refused(f"no line adds one of this parent, protocol, `prio` and handle: {_ONCE}")
        return place

    def _remove(self, what: str, kind: str, head: dict[str, str], line: str) -> None:
        """Take back what a command deletes."""
        if what == "filter" and "handle" in head:
            raise Refused("filters are deleted by `prio`, or all of a parent")
        by_default = {"parent": "0:"} if what == "filter" else {}
        given = {key: ident(text) for key, text in (by_default | head).items() if key in ("parent", "handle")}
        gone = [
            one
            for one in self.parts
            if (one.what, one.device) == (what, head["dev"])
            and all(getattr(one, key) == value for key, value in given.items())
            and kind in ("", one.kind)
            and all(
                one.options.get(key, head[key]) == head[key] for key in ("pref", "protocol") if key in head
            )
        ]
        if not gone and any(one.device == head["dev"] for one in self.parts):
            self.left_out.add(self._line, line, "there is nothing to take back")
        self._drop(gone, f"line {self._line} takes it back")

    def _drop(self, gone: list[Part], why: str) -> None:
        """Drop parts with all that stands at them."""
        for part in gone:
            self.left_out.add(*part.remark(why))
            gone += [one for one in self.parts if one not in gone and one.stands_at(part)]
        self._parts = {key: one for key, one in self._parts.items() if one not in gone}


def ident(text: str) -> Id:
    """Return the number of a qdisc or class, such as ``1:10``; it is hexadecimal."""
    found = re.fullmatch(r"([0-9a-fA-F]{0,4})(?::([0-9a-fA-F]{0,4}))?", text, re.ASCII)
    if text not in _NAMED and found is None:
        raise Refused(f"`{text}` is no number of a qdisc or class, such as 1:10")
    return _NAMED[text] if found is None else (int(found[1] or "0", 16), int(found[2] or "0", 16))


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keep every `match` of a filter: `tc` shows them under one key."""
    matches = [value for key, value in pairs if key == "match"]
    return dict(pairs) | ({"match": matches} if matches else {})


def _words(taken: dict[str, Any]) -> Iterator[str]:
    """Go through the words of a command for a filter that `tc -j` shows."""
    for key, value in taken.items():
        if key == "match" and isinstance(value, list):
            for one in value:
                given = one if isinstance(one, dict) else {}
                at = f"{given.get('offmask')}{given.get('off')}"
                yield from ("match", "u32", f"0x{given.get('value')}", str(given.get("mask")), "at", at)
        elif key == "keys" and isinstance(value, dict):
            for name, one in value.items():
                mask = f"/{value.get('ip_tos_mask', 'ff')}" if name == "ip_tos" else ""
                yield from (name, f"{one}{mask}") if name not in ("ip_tos_mask", "eth_type") else ()
        elif key not in _BESIDE_FILTERS:
            yield from (key, str(value)) if key in ("flowid", "classid") else (key,)
