"""The first screen of a study: yes or no to each claim, the part it is shown by, and the forest of claims."""

from __future__ import annotations

from typing import Any

import pytest

from perhop.plot import forest
from perhop.report.answer_study import deciding, of_study, on_record, questions, stand


def part(
    mean: float | None, claimed: tuple[float | None, float | None], verdict: str, **more: Any
) -> dict[str, Any]:
    half = more.pop("half", 0.01)
    ends = None if mean is None else [mean - half, mean + half]
    return {"quantity": f"q{mean}", "mean": mean, "ci95": ends, "claimed": list(claimed), "verdict": verdict}


def claim(id: str, verdict: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "verdict": verdict, "statement": f"{id} is so.", "parts": list(parts)}


NO = claim(
    "C2",
    "contradicted",
    part(0.9, (0.0, 1.0), "supported"),
    part(2.0, (0, 1), "contradicted"),
    part(5.0, (0, 1), "contradicted"),
)
YES = claim(
    "C1", "supported", part(5.0, (0.0, None), "supported"), part(0.1, (0.0, None), "supported", half=0.09)
)
DOCUMENT: dict[str, Any] = {
    "command": "perhop reproduce x --quick",
    "claims": [
        YES,
        NO,
        claim("C2/row", "supported"),
        claim("C3", "not judged", part(None, (0.0, None), "not judged")),
    ],
}


def test_a_claim_is_shown_by_its_worst_part_of_its_own_verdict() -> None:
    shown = [deciding(one) for one in (YES, NO)]
    assert [one["mean"] for one in shown if one is not None] == [0.1, 5.0]
    assert deciding(DOCUMENT["claims"][3]) is None


def test_each_claim_is_a_question_with_two_numbers_and_a_way_to_its_parts() -> None:
    yes, no, unjudged = questions(DOCUMENT, "x/report.html")
    assert (yes.pill.text, yes.pill.target, yes.pill.look) == (
        "C1 Yes",
        "x/report.html#claim-C1",
        "supported",
    )
    assert no.pill.text == "C2 No"
    assert no.numbers == "Clearest miss of its 3 parts: q5.0. Claimed 0 to 1, simulated 5."
    assert (unjudged.pill.text, unjudged.numbers) == ("C3 Not judged", "")
    short = claim("C4", "not judged", part(0.5, (0.0, None), "not judged")) | {"reason": "runs are too short"}
    (one,) = questions({"claims": [short]})
    assert one.numbers == "Q0.5. Claimed more than 0, simulated 0.5. Not judged: runs are too short."


def test_the_claims_are_counted_by_verdict() -> None:
    stands = "Of 3 claims 1 holds here, 1 does not, 1 is not judged."
    shorter = (
        "These runs are shorter than the study's, too short for some verdicts: "
        "perhop reproduce x has them in full."
    )
    assert of_study(DOCUMENT).sentences == (stands, shorter)
    assert of_study(DOCUMENT | {"command": "perhop reproduce x"}).sentences == (stands,)
    assert of_study(DOCUMENT | {"claims": [YES, NO]}).sentences == ("Of 2 claims 1 holds here, 1 does not.",)
    assert stand([YES, YES], " of 2 papers") == "All 2 claims of 2 papers hold here."
    unjudged = DOCUMENT["claims"][3]
    assert stand([unjudged, unjudged]) == "None of 2 claims is judged."
    assert of_study({"claims": []}).sentences == ()


def test_the_forest_has_a_row_for_each_claim_with_numbers() -> None:
    figure = of_study(DOCUMENT).figure
    assert figure is not None
    for text in (">C1<", ">C2<", ">supported<", ">contradicted<"):
        assert text in figure.svg
    assert ">C3<" not in figure.svg
    assert "C2 contradicted: 5; claimed 0 to 1" in figure.svg


@pytest.mark.parametrize(
    ("claimed", "value", "said"),
    [
        ((0.0, 1.0), 0.5, 1.0),  # the middle
        ((0.0, 1.0), 1.0, 0.0),
        ((-0.03, 0.03), 0.33, -10.0),
        ((None, 4.0), 2.0, 0.5),
        ((4.0, None), 2.0, -0.5),
        ((1e-9, None), -0.1, -1.0),  # above 0
        ((2.0, 2.0), 2.0, 0.0),
        ((0.0, 0.0), 0.0, 0.0),
    ],
)
def test_a_margin_is_the_distance_inside_the_claim_over_its_tolerance(
    claimed: tuple[float | None, float | None], value: float, said: float
) -> None:
    row = forest.ForestRow("C", "", "supported", claimed, value, None)
    assert forest.margin(row, value) == pytest.approx(said)


def test_without_a_margin_there_is_no_chart() -> None:
    assert forest.draw([forest.ForestRow("C", "", "not judged", (None, None), 0.5, None)], "Claims") is None


def test_what_was_made_again_of_a_record_follows_how_the_claims_stand() -> None:
    made = {"commit": f"{'0123456789' * 4}-dirty", "date": "2026-11-25"}
    of_record = {"command": "perhop reproduce x", "results_version": 9, "made": made, "claims": [YES]}
    sample = {"runs": 12, "of": 2930, "drawn": 12, "seed": 7, "results_version": 9}
    stands, recorded, again = of_study(of_record | {"verified": sample}).sentences
    assert stands == "Of 1 claim 1 holds here."
    assert recorded == (
        "These verdicts are of 2,930 runs on record, made by perhop reproduce x --record on 2026-11-25, "
        "at results_version 9 and commit 012345678901-dirty."
    )
    assert again == (
        "Just now 12 of them were rerun, and each came out equal. "
        "Rerun these 12: perhop reproduce x --verify 12 --seed 7."
    )
    recorded, again = on_record(of_record | {"verified": sample | {"results_version": 10}})
    assert "at results_version 9 and commit" in recorded
    assert "Just now 12 of them were rerun under results_version 10, and each came out equal." in again
    _, again = on_record(of_record | {"verified": sample | {"runs": 54}})
    assert again == (
        "Just now 54 of them were rerun, and each came out equal: 12 drawn by chance, and 42 whose "
        "course in time the study needs. Rerun these 54: perhop reproduce x --verify 12 --seed 7."
    )
    made["commit"] = None  # type: ignore[assignment]
    recorded, _ = on_record(of_record | {"verified": sample})
    assert recorded.endswith(" on 2026-11-25, at results_version 9.")
    whole = {"runs": 2930, "of": 2930}
    assert on_record(DOCUMENT | {"verified": whole}) == (
        "All 2,930 runs on record were rerun just now; each came out equal.",
    )
    assert on_record(of_record) == ()
