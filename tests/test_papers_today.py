"""The study of our own: what its page says of real packets and of when thresholds were fixed."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from conftest import Cli
from perhop import Scenario
from perhop.experiment.definition import Campaign
from perhop.papers import on_record
from perhop.papers.folder import own_folder, own_study
from perhop.papers.folder_page import figure_of
from perhop.papers.plan import plan_of
from perhop.plot import maps
from perhop.run.run import run
from reproduced import quick_page

PACK = own_folder("today")
ROOT = PACK.parents[1]


@pytest.mark.long
def test_the_quick_reproduction_is_the_one_on_record(cli: Cli) -> None:
    page = quick_page(cli, "today")
    assert "<title>Which treatment for which asymmetry" in page


def meet(row: dict[str, Any]) -> bool:
    """Say whether the intervals of both clocks meet."""
    ours, kernels = (row[arm]["ci95"] for arm in ("simulator", "kernel"))
    return bool(ours[0] <= kernels[1] and kernels[0] <= ours[1])


def test_real_packets_agree_as_often_as_the_page_says() -> None:
    kernel = json.loads((PACK / "recorded" / "kernel.json").read_text())
    rows = [row for row in kernel["rows"] if row["kernel"] and row["kernel"]["mean"]]
    told = re.search(r"\*\*(\d+) of (\d+) means the intervals meet\*\*", (PACK / "README.md").read_text())
    assert told is not None
    assert (sum(map(meet, rows)), len(rows)) == (int(told[1]), int(told[2]))
    differing = [claim["id"] for claim in kernel["claims"] if differ(claim) and "/" not in claim["id"]]
    assert differing == ["H7", "H10"]
    assert (
        len([claim for claim in kernel["claims"] if claim["id"][0] == "H" and "/" not in claim["id"]]) == 10
    )


def differ(claim: dict[str, Any]) -> bool:
    """Say whether the simulator's verdict on a claim that both judged is not the kernel's."""
    ours, kernels = claim["simulator"]["verdict"], claim["kernel"]["verdict"]
    return "not judged" not in (ours, kernels) and ours != kernels


def test_every_claim_of_a_sender_is_judged_for_each() -> None:
    document = json.loads((PACK / "recorded" / "results.json").read_text())
    verdicts = {claim["id"]: claim["verdict"] for claim in document["claims"]}
    for claim in ("M1", "F1", "Q1"):
        own = {name.partition("/")[2] for name in verdicts if name.startswith(f"{claim}/")}
        assert own == {"Reno", "CUBIC", "BBR", "Prague"}
    assert "not judged" not in verdicts.values()


OTHERS = ("laatu/aggregate.toml", "feroz/baseline.toml", "papagiannaki/y.toml")
"""Networks of other studies that three of the five campaigns run, from copies in this folder."""


def test_commands_on_record_name_scenarios_by_their_place_in_the_project() -> None:
    document = json.loads((PACK / "recorded" / "results.json").read_text())
    named = {one["command"].split()[2] for one in document["runs"]}
    assert named == {"papers/today/line.toml", *(f"papers/{other}" for other in OTHERS)}


@pytest.mark.parametrize("other", OTHERS)
def test_a_network_of_another_study_is_that_of_the_study(other: str) -> None:
    own, theirs = (Scenario.load(path) for path in (PACK / Path(other).name, PACK.parent / other))
    assert own.key() == theirs.key()


def measured(claim: str, of: str) -> float:
    """Give the mean of the only part of a claim whose quantity begins so, as fitted."""
    document = json.loads((PACK / "recorded" / "results.json").read_text())
    (own,) = (one for one in document["claims"] if one["id"] == claim)
    (mean,) = (part["mean"] for part in own["parts"] if part["quantity"].startswith(of))
    return float(mean)


def said() -> str:
    return " ".join((PACK / "README.md").read_text().split())


def test_the_answer_has_the_numbers_on_record() -> None:
    text = said()
    kept = [100 * measured("H1", f"download at FIFO, {one}") for one in ("CUBIC", "Prague", "BBR")]
    assert "CUBIC keeps {:.0f} % of it, Prague {:.0f}, BBR {:.0f} (H1)".format(*kept) in text
    wait = measured("H6", "delay at FQ-CoDel, CUBIC") - 15
    assert f"whoever sends, and a call waits {wait:.0f} ms (H6)" in text
    short = [100 * measured("H5", f"download at FIFO of 16 kB, {one}") for one in ("CUBIC", "BBR")]
    assert "with 16 kB CUBIC keeps {:.0f} % of its download, BBR {:.0f} (H5)".format(*short) in text
    senders = ("Reno", "CUBIC", "Prague", "BBR")
    metered = sorted(100 * measured("M5", f"throughput at FQ-CoDel, {one}") for one in senders)
    assert f"It gives the customer {metered[0]:.0f} to {metered[-1]:.0f} % of what his meters give" in text
    assured = [
        measured("Q2", f"assured at as their data, RIO, the way of the ACKs congested, {one}")
        for one in senders
    ]
    assert "Assured has {:.1f}, {:.1f}, {:.1f} and {:.1f} times as much with Reno".format(*assured) in text
    blind = 100 * measured("H7", "download at FQ-CoDel and ACK filter, Prague")
    assert f"even in FQ-CoDel (H7: {blind:.0f} %)" in text
    page = " ".join((ROOT / "docs/elements/ack-filter.md").read_text().split())
    assert f"by {100 - blind:.0f} % on one line" in page


def test_an_ack_filter_costs_as_much_as_the_answer_says() -> None:
    rows = json.loads((PACK / "recorded" / "results.json").read_text())["rows"]
    of = {row["id"]: row["simulated"]["mean"] for row in rows if row["table"] == "download"}
    filters, ratios = ("ACK filter", "aggressive ACK filter"), (4, 10, 20, 50)
    costs = [100 * (1 - of[f"ACK filter; {ratio} to 1"] / of[f"FIFO; {ratio} to 1"]) for ratio in ratios]
    assert all(of[f"{one}; {ratio} to 1"] < of[f"FIFO; {ratio} to 1"] for one in filters for ratio in ratios)
    assert f"from four on, by {min(costs):.0f} to {max(costs):.0f} % (G2" in said()


def test_time_outs_are_those_that_the_page_tells() -> None:
    with (PACK / "recorded" / "runs.csv").open() as file:
        lines = [row for row in csv.DictReader(file) if row["of"] == "as fitted, marker"]

    def mean(sender: str, marker: str) -> float:
        treatment = f"sender={sender} marker={marker}"
        return fmean(float(row["timeouts"]) for row in lines if row["treatment"] == treatment)

    senders = ("Reno", "CUBIC", "BBR", "Prague")
    for sender in senders:
        assert mean(sender, "FQ-CoDel") < 3
    few = max(mean(sender, one) for sender in senders for one in ("tcp-friendly", "token-bucket"))
    assert f"senders of today have {few:.1f} in 100 s at most" in said()
    told = f"have {mean('Reno', 'DualPI2'):.0f} and {mean('CUBIC', 'DualPI2'):.0f} in 100 s"
    assert told in said()


def flows(file: str, *settings: str) -> dict[str, dict[str, Any]]:
    result = run(Scenario.load(ROOT / "papers" / file).override(*settings))
    return {row["name"]: row for row in result.flows.to_dicts()}


def test_two_bbr_flows_hold_each_other_down_and_one_does_not() -> None:
    def download(up: str, down: str) -> dict[str, Any]:
        settings = f"flow.upload.tcp.cc={up}", f"flow.download.tcp.cc={down}"
        return flows("today/line.toml", *settings)["download"]

    own, beside = download("bbr", "bbr"), download("cubic", "bbr")
    mixed = sorted(one["goodput_bit_s"] / 1e6 for one in (beside, download("bbr", "cubic")))
    alone = own["goodput_bit_s"] / 1e6
    text = said()
    assert f"the download has {mixed[0]:.0f} or {mixed[1]:.0f} Mbit/s instead of {alone:.0f}" in text
    least, mean = (1e3 * beside[name] for name in ("rtt_min_s", "srtt_s"))
    assert f"that is {least:.0f} ms of the {mean:.0f} that it has on average" in text
    least, mean = (1e3 * own[name] for name in ("rtt_min_s", "srtt_s"))
    assert f"it is {least:.0f} of {mean:.0f} (`rtt_min_s`" in text


def test_a_paced_sender_without_marks_loses_nothing_by_the_filter() -> None:
    queue = '{ kind = "fq", queue = { kind = "codel", ecn = true, ack_filter = "conservative" } }'
    reno = "flow.download.tcp.cc=reno", "flow.download.tcp.pacing=true"
    own = flows("today/line.toml", *reno, f"port.home-isp.class.all.queue={queue}")["download"]
    told = f"Reno with pacing on the same line loses nothing ({own['goodput_bit_s'] / 1e6:.1f} Mbit/s)"
    assert told in said()


def test_the_target_is_what_costs_time_outs_on_a_slow_link() -> None:
    tcp = 'flow.bulk.tcp={ profile = "linux", mss = "1024B", header = "0B" }'

    def timeouts(queue: str) -> int:
        settings = tcp, "flow.bulk.ack.policy=delayed", f"port.r2-r3.class.all.queue={{ {queue} }}"
        return sum(row["timeouts"] for row in flows("feroz/baseline.toml", *settings).values())

    dualpi2 = 'kind = "dualpi2", limit = "250p"'
    slow, fast = timeouts(f'{dualpi2}, target = "100ms"'), timeouts(dualpi2)
    pie = timeouts('kind = "pie", limit = "250p"')
    told = f"CUBIC has {slow} instead of {fast} (one run of each), and PIE with the same 15 ms has {pie}"
    assert told in said()


def test_it_is_premiums_acks_that_cost_assured_behind_cake() -> None:
    campaign = Campaign.load(PACK / "acks.toml")
    sender, _, rest = campaign.design.factors
    chosen = [factor.level(name) for factor, name in ((sender, "Reno"), (rest, "CAKE"))]
    settings = [one for level in chosen if level for one in level.set]
    base = campaign.scenario.override(*settings, "run.duration=60s")

    def assured(premium: str, assured: str) -> tuple[float, float]:
        marks = f'premium = "{premium}", assured = "{assured}", best-effort = "BE"'
        marking = f'ack_marking={{ kind = "per-class", marks = {{ {marks} }} }}'
        own = []
        for replication in range(3):
            marked = base.override(f"conditioner.acks.{marking}", f"conditioner.acks-3.{marking}")
            made = run(marked.override(f"run.replication={replication}"))
            own += [row for row in made.flows.to_dicts() if row["name"].startswith("assured-r")]
        return fmean(row["goodput_bit_s"] for row in own), fmean(row["retransmissions"] for row in own)

    (plain, few), (marked, many) = assured("BE", "BE"), assured("EF", "BE")
    assert assured("BE", "AF11") == (plain, few)
    text = said()
    assert f"a flow loses {many:.0f} packets a minute instead of {few:.0f}" in text
    assert f"Reno pays {100 * (1 - marked / plain):.0f} % for that" in text


def test_the_map_names_its_treatments(monkeypatch: pytest.MonkeyPatch) -> None:
    study = own_study("today")
    plan = plan_of(study)
    record = on_record.read(plan.study)
    assert record is not None
    results = plan.results(on_record.scalars_of(plan, record), ())
    measured = dict(zip([one.name for one in plan.fitted], results.campaigns, strict=False))
    (figure,) = (one for one in study.file.figure if one.kind == "map")
    (drawn,) = figure_of(study, figure, {"grid.toml": measured["grid"]}).values()
    axes: list[maps.Axis] = []
    monkeypatch.setattr(maps, "draw", lambda two, *_: axes.extend(two) or "")
    drawn.map()
    assert [one.label for one in axes] == ["way up", "how much slower the way up is"]
    assert axes[0].ticks[:3] == ["FIFO", "FIFO, no upload", "ACK filter"]
    assert axes[1].ticks == ["1", "4", "10", "20", "50"]
