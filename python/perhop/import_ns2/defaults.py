"""Settings of ns-2's classes: ns-2.35's defaults, and the settings that are imported.

The values are those that ``CLASS set NAME`` prints in ns-2.35 (the Debian package ns2).
"""

from __future__ import annotations

from typing import NamedTuple

from perhop.import_ns2.quantities import same
from perhop.import_ns2.remarks import LeftOut, Refused

_TCP = """
CoarseTimer_=0 EnblRTTCtr_=0 LimTransmitFix_=false QOption_=0 SetCWRonRetransmit_=true
aggressive_maxburst_=1 bugFix_=true bugFix_ack_=false bugFix_ts_=false bugfix_ss_=1
control_increase_=0 cwnd_range_=0 decrease_num_=0.5 delay_growth_=true ecn_=0 eln_=0
exitFastRetrans_=true frto_enabled_=0 increase_num_=1.0 lessCareful_=false max_ssthresh_=0
maxburst_=0 maxcwnd_=0 maxrto_=60 minrto_=0.2 noFastRetrans_=false numdupacksFrac_=-1 numdupacks_=3
oldCode_=false old_ecn_=0 overhead_=0 packetSize_=1000 partial_ack_=false precisionReduce_=true
qs_enabled_=false rate_request_=0 restart_bugfix_=true rfc2988_=true rtxcur_init_=3.0 rttvar_exp_=2
rttvar_init_=12 sfrto_enabled_=0 singledup_=1 slow_start_restart_=true spurious_response_=1
srtt_init_=0 syn_=true T_RTTVAR_BITS=2 T_SRTT_BITS=3 tcpTick_=0.01 tcpip_base_hdr_size_=40
timerfix_=true timestamps_=false ts_option_size_=10 ts_resetRTO_=false updated_rttvar_=true
useHeaders_=true windowConstant_=4 windowInitOption_=1 windowInit_=2 windowOption_=1
windowThresh_=0.002 window_=20
"""
_SINK = """
RFC2581_immediate_ack_=true SYN_immediate_ack_=true ecn_syn_=false generateDSacks_=false
maxSackBlocks_=3 packetSize_=40 qs_enabled_=false ts_echo_bugfix_=true ts_echo_rfc1323_=false
"""
_RED = """
adaptive_=0 bytes_=true cautious_=0 doubleq_=false drop_front_=false drop_rand_=false
drop_tail_=true feng_adaptive_=0 gentle_=true linterm_=10 mark_p_=0.1 maxthresh_=0 mean_pktsize_=500
ns1_compat_=false q_weight_=-1 queue_in_bytes_=true setbit_=false thresh_=0 use_mark_p_=true
wait_=true
"""


def _read(text: str) -> dict[str, str]:
    return dict(one.split("=", 1) for one in text.split())


NS2: dict[str, dict[str, str]] = {
    "Agent": {"prio_": "0"},
    "Agent/TCP": _read(_TCP),
    "Agent/TCP/Reno": {},
    "Agent/TCP/Newreno": _read(
        "exit_recovery_fix_=0 newreno_changes1_=1 newreno_changes_=0 partial_window_deflation_=1"
    ),
    "Agent/TCP/Sack1": {},
    "Agent/TCPSink": _read(_SINK),
    "Agent/TCPSink/DelAck": {"interval_": "100ms"},
    "Agent/TCPSink/Sack1": {},
    "Agent/TCPSink/Sack1/DelAck": {"interval_": "100ms"},
    "Agent/UDP": {"packetSize_": "1000"},
    "Agent/Null": {},
    "Agent/LossMonitor": {},
    "Application": {},
    "Application/FTP": {},
    "Application/Traffic": {},
    "Application/Traffic/CBR": _read("maxpkts_=268435456 packetSize_=210 random_=0 rate_=448Kb interval_=0"),
    "Application/Traffic/Exponential": _read("burst_time_=.5 idle_time_=.5 packetSize_=210 rate_=64Kb"),
    "Queue": {"limit_": "50"},
    "Queue/DropTail": _read("drop_front_=false queue_in_bytes_=false mean_pktsize_=500"),
    "Queue/RED": _read(_RED),
    "Queue/dsRED": _read("ecn_=0 numQueues_=4"),
    "Queue/dsRED/edge": {},
    "Queue/dsRED/core": {},
}
"""Classes and their settings in ns-2.35. `interval_` of CBR is 0 here where `rate_` counts."""

TAKEN = {
    "Agent": "prio_",
    "Agent/TCP": "window_ windowInit_ packetSize_ useHeaders_ tcpTick_ minrto_ maxrto_ rtxcur_init_ "
    "singledup_ precisionReduce_ bugFix_ timestamps_ syn_ delay_growth_",
    "Agent/TCPSink": "packetSize_ SYN_immediate_ack_ maxSackBlocks_",
    "Agent/TCPSink/DelAck": "interval_",
    "Agent/TCPSink/Sack1/DelAck": "interval_",
    "Agent/UDP": "packetSize_",
    "Application/Traffic/CBR": "packetSize_ rate_ interval_",
    "Application/Traffic/Exponential": "burst_time_ idle_time_ packetSize_ rate_",
    "Queue": "limit_",
    "Queue/RED": "thresh_ maxthresh_ linterm_ q_weight_ mean_pktsize_ gentle_ wait_ bytes_ queue_in_bytes_",
    "Queue/dsRED": "numQueues_",
}
"""What becomes something in the scenario; every other setting must stay as it is in ns-2.35."""

_WITHOUT_EFFECT = "fid_ flowid_ class_ type_ trace_all_oneline_ nam_tracevar_ summarystats_ debug_"
"""Settings that change no packet."""

_ECN = "perhop's `ecn` has not been held to ns-2's: set `ecn = true` in flows and queues yourself"
_WHY = {
    "ecn_": _ECN,
    "setbit_": _ECN,
    "random_": 'perhop\'s `cbr` is not dithered; `pattern = { kind = "poisson" }` is what comes nearest',
    "adaptive_": "perhop's `max_p` does not adapt",
    "maxpkts_": "perhop's UDP flows send until the end of the run",
    "slow_start_restart_": "perhop's profile `ns235` does not restart after idle time",
}


class Setting(NamedTuple):
    """A value, and the line that gave it; None where it is ns-2.35's default."""

    value: str
    line: int | None


def chain(kind: str) -> list[str]:
    """Return a class and those above it, the nearest first."""
    parts = kind.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]


def check(kind: str, name: str, value: str) -> None:
    """Refuse a setting that is not taken, unless it is as in ns-2.35; leave out one that changes nothing."""
    if name in _WITHOUT_EFFECT.split():
        raise LeftOut(f"`{name}` changes no packet")
    default = next((NS2[one][name] for one in chain(kind) if name in NS2.get(one, {})), None)
    if default is None and not any(name in settings for one, settings in NS2.items() if kind in chain(one)):
        raise Refused(f"`{name}` is no setting of {kind} that is known here")
    if any(name in TAKEN.get(one, "").split() for one in NS2 if kind in chain(one) or one in chain(kind)):
        return
    if default is None or not same(value, default):
        raise Refused(_WHY.get(name, f"perhop has nothing for `{name}` other than {default}, ns-2's default"))
