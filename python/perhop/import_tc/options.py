"""Settings of qdiscs and classes as words of `tc`: iproute2 7.1, `tc/q_*.c`."""

from __future__ import annotations

from typing import Any

from perhop.deploy.words import SETTINGS
from perhop.import_ns2.remarks import Refused
from perhop.import_tc.quantities import size

_KINDS = "pfifo bfifo pfifo_fast codel fq_codel pie fq_pie red sfq cake dualpi2 prio tbf htb drr"
_ALONE = """
harddrop nodrop adaptive headdrop offload unlimited autorate-ingress nat nonat wash nowash ingress
egress split-gso no-split-gso ptm atm noatm raw via-ethernet precedence split_gso no_split_gso l4s_ect any_ect
overflow drop_on_overload drop_enqueue drop_dequeue
"""
_CHOICES = {
    kind: {word for one in kinds if isinstance(one.unit, dict) for word in one.unit.values()}
    for kind, kinds in SETTINGS.items()
}
_MEANINGS = """
latency=lat buffer=burst maxburst=burst cbuffer=cburst cmaxburst=cburst minburst=mtu adaptative=adaptive
datacentre=rtt,100us lan=rtt,1ms metro=rtt,10ms regional=rtt,30ms internet=rtt,100ms oceanic=rtt,300ms
satellite=rtt,1s interplanetary=rtt,1000s docsis=overhead,18,mpu,64 ethernet=overhead,38,mpu,84
ether-vlan=overhead,4 pppoe-ptm=overhead,30,ptm bridged-ptm=overhead,22,ptm conservative=overhead,48,atm
ipoa-vcmux=overhead,8,atm ipoa-llcsnap=overhead,16,atm bridged-vcmux=overhead,24,atm
bridged-llcsnap=overhead,32,atm pppoa-vcmux=overhead,10,atm pppoa-llc=overhead,14,atm
pppoe-vcmux=overhead,32,atm pppoe-llcsnap=overhead,40,atm
"""
_MEANS = {word: meaning.split(",") for word, _, meaning in (one.partition("=") for one in _MEANINGS.split())}


def options(kind: str, words: list[str]) -> dict[str, Any]:
    """Return settings by word; flags are True. Those of kinds that are not taken are not read."""
    found: dict[str, Any] = {}
    rest = list(words) if kind in _KINDS.split() else []
    alone = {*_ALONE.split(), *_CHOICES["pie"], *_CHOICES.get(kind, ())}
    while rest:
        word = rest.pop(0)
        if word in _MEANS:
            rest[:0] = _MEANS[word]
        elif word in alone:
            found[word] = True
        elif word == "priomap":
            found[word] = [rest.pop(0) for _ in range(16) if rest and rest[0].isdigit()]
        elif not rest:
            raise Refused(f"`{word}` has no value, or is no word of {kind}")
        elif word == "overhead":
            # those of cake's frames add up
            found[word] = size(found.get(word, 0)) + size(rest.pop(0))
        else:
            found[word] = rest.pop(0)
    return found
