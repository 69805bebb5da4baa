"""The frame of a study on real packets: which runs, what is put beside what. The runs here are simulated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from conftest import Cli
from perhop.cli.reproduce import PAPERS
from perhop.experiment import ledger
from perhop.papers import kernel
from perhop.papers.campaigns import short
from perhop.papers.error import PackError
from perhop.papers.folder import own_folder, own_study
from perhop.papers.form import StudyError
from perhop.papers.reproduce import run_campaigns
from perhop.run import machine
from perhop.run.live import Host, Live, Quantiles

PREPARED = [key for key in PAPERS if (own_folder(key) / kernel.FILE).is_file()]


LATE = Quantiles(1e-4, 2e-4, 3e-4, 4e-4)
HOW = Live(
    **dict.fromkeys(("checksums", "sizes", "foreign", "unread", "unwritten", "unsent", "cpu_s"), 0),
    **dict.fromkeys(("lateness_s", "applications_late_s", "sources_late_s"), LATE),
    **{name: [] for name in ("retransmissions_differ", "over_budget", "options_lacking")},
    priority="SCHED_FIFO",
    differences=["timers expire on jiffies"],
    hosts={"s[0]": Host({"tcp_sack": "0"}, {"quickack": "1"}, 1500)},
)


def made(stores: Iterable[Path]) -> dict[str, tuple[str, str | None]]:
    """Give what is kept of runs as if those of the store `kernel.runs` had been on real packets."""
    found: dict[str, tuple[str, str | None]] = {}
    for store in sorted(stores):
        with ledger.read(store) as book:
            told = msgspec.json.encode(HOW).decode() if store.stem == "kernel" else None
            found |= {key: (digest, told) for key, digest, *_ in book.made()}
    return found


@pytest.mark.parametrize("key", PREPARED)
def test_the_arms_of_a_study_differ_in_the_clock_and_in_what_a_variant_says(key: str) -> None:
    simulator, live, *variants = kernel.arms(own_study(key))
    assert [arm.is_live for arm in (simulator, live, *variants)] == [False, True] + [True] * len(variants)
    for arm in (simulator, live, *variants):
        assert arm.plan.read == arm.plan.beyond == arm.plan.drawn == ()
        for campaign in arm.plan.fitted:
            assert campaign.design.replications >= 10
            assert campaign.scenario.core.live == arm.is_live
    (one,), (other,) = ([arm.plan.fitted[0].scenario.overrides] for arm in (simulator, live))
    *common, last = other
    assert last == kernel.LIVE
    assert list(one[: len(common)]) == common
    # only how long the simulator is warmed up may differ
    assert {change.partition("=")[0] for change in one[len(common) :]} <= {"run.duration", "run.warmup"}


def test_claims_that_short_runs_cannot_judge_are_named_and_must_be_there(tmp_path: Path) -> None:
    study = own_study("papagiannaki")
    assert all({*arm.plan.unjudged} == {"P14", "P25", "P26", "P27"} for arm in kernel.arms(study))
    why = "real packets do not judge it: it is about what runs of 600 s leave over"
    assert {why} == {*kernel.arms(study)[0].plan.unjudged.values()}
    elsewhere = replace(study, folder=tmp_path)
    whole = (study.folder / kernel.FILE).read_text()
    for text, instead, told in (
        ('"P27"]', '"P99"]', r"unjudged\[0\]\.claims\[3\]: there is no claim `P99`"),
        ("replications = 10", "replications = 9", "nothing can be judged below 10 replications"),
        (
            "campaigns = 1",
            'campaigns = 1\nwithout = ["x"]',
            r"kernel\.without\[0\]: no factor has a level `x`",
        ),
        ("campaigns = 1", "", r"kernel: `campaigns` is missing"),
    ):
        assert text in whole
        (tmp_path / kernel.FILE).write_text(whole.replace(text, instead))
        with pytest.raises(StudyError, match=told):
            kernel.arms(elsewhere)


def test_rows_and_verdicts_of_the_arms_stand_side_by_side(tmp_path: Path) -> None:
    study = own_study("laatu")
    simulator, live = kernel.arms(study)[:2]
    measured = []
    for arm, settings in ((simulator, ()), (live, ("run.clock=virtual", "run.interval=5s"))):
        fitted = tuple(short(one, ("run.duration=15s", *settings)) for one in arm.plan.fitted)
        plan = replace(arm.plan, fitted=fitted)
        frames = run_campaigns("laatu", plan.campaigns, tmp_path / f"{arm.id}.runs", 2)
        measured.append((replace(arm, plan=plan), plan.results(frames, ())))
    found = kernel.document(
        study, measured, made(tmp_path.glob("*.runs")), "perhop reproduce laatu --on kernel", 5
    )
    assert list(found["arms"]) == ["simulator", "kernel"]
    assert {row["table"] for row in found["rows"]} >= {"throughput", "fairness"}
    assert all(row["simulator"] == row["kernel"] for row in found["rows"])
    assert any(row["published"] is not None and row["kernel"]["n"] == 10 for row in found["rows"])
    assert [claim["id"] for claim in found["claims"]] == [f"L{k}" for k in range(1, 7)]
    assert all(claim["simulator"] == claim["kernel"] for claim in found["claims"])
    page = kernel.render(study, found)
    assert "perhop reproduce laatu --on kernel" in page
    assert len(list(kernel.lines(found))) == 6
    live = [one for one in found["runs"] if one["arm"] == "kernel"]
    assert len(live) == len(found["runs"]) / 2 == 20
    assert all(one["lateness_s"]["p99"] == 2e-4 and one["event_digest"] for one in live)
    assert live[0]["values"] == found["runs"][0]["values"]
    hosts = ("kernel", "s[0]", "all 2", "tcp_sack 0", "quickack 1", "1500")
    assert kernel.host_settings(found) == [hosts]
    assert {"commit", "date", "cpu", "hz"} <= found["made"].keys()
    for text in ("tcp_sack 0", "quickack 1", "timers expire on jiffies", "0.20 ms", "0.40 ms"):
        assert text in page


def test_what_a_kernel_cannot_do_is_left_out_and_its_claims_are_not_judged(tmp_path: Path) -> None:
    study = own_study("kalampoukas")
    simulator, live = kernel.arms(study)
    measured = []
    for arm in (simulator, live):
        settings = ("run.duration=3s", "run.warmup=1s", "run.clock=virtual")
        plan = replace(arm.plan, fitted=tuple(short(one, settings) for one in arm.plan.fitted))
        frames = run_campaigns("kalampoukas", plan.campaigns, tmp_path / "runs", 2)
        measured.append((replace(arm, plan=plan), plan.results(frames, ())))
    found = kernel.document(
        study, measured, made([tmp_path / "runs"]), "perhop reproduce kalampoukas --on kernel", 5
    )
    rows = {row["id"]: row for row in found["rows"]}
    assert rows["5.3"]["kernel"] is None
    assert rows["5.3"]["simulator"]["n"] == 10
    assert rows["6.2"]["kernel"] == rows["6.2"]["simulator"]
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert {id_ for id_, one in claims.items() if one["kernel"]["verdict"] == "not judged"} == {
        "K3",
        "K7",
        "K8",
        "K11",
        "K15",
    }
    assert claims["K3"]["kernel"]["reason"].startswith("outside of ")
    assert found["claims"][0]["kernel"]["reason"] is None
    page = kernel.render(study, found)
    assert "backpressure" in page
    assert claims["K3"]["kernel"]["reason"] in page


def test_what_the_machine_lacks_is_told_before_any_arm(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        machine, "look", lambda: [machine.Looked("tun", None, "perhop emulate", "modprobe tun")]
    )
    done = cli("reproduce", "laatu", "--on", "kernel", "-o", str(tmp_path / "out" / "laatu"))
    assert done.code == 7
    assert "tun: modprobe tun" in done.err
    assert not (tmp_path / "out").exists()


def test_a_study_that_is_not_prepared_says_so(cli: Cli) -> None:
    with pytest.raises(PackError, match="not prepared"):
        kernel.arms(own_study("feroz"))
    done = cli("reproduce", "feroz", "--on", "kernel")
    assert done.code == 3
    assert "prepared are kalampoukas, laatu, papagiannaki" in done.err
    done = cli("reproduce", "laatu", "--on", "moon")
    assert done.code == 2
    assert "kernel" in done.err
