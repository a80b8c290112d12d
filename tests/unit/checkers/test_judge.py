"""The verdict words, as the contract has them."""

import pytest

from ringcast.checkers import GUARANTEES, judge, parse_require
from ringcast.errors import UsageError
from ringcast.model import Event, Kind
from ringcast.trace import Recording
from ringcast.trace.story import Story


def clean() -> Story:
    return Story("ab").view("ab").passed("ab", "a", 4)


def test_a_clean_run_is_held_and_names_what_was_not_exercised() -> None:
    judgement = judge(clean().recordings())
    assert (judgement.verdict, judgement.exit_code) == ("held", 0)
    assert list(judgement.findings) == list(GUARANTEES)
    assert "G14" in judgement.reasons[0]


def test_any_violation_decides() -> None:
    judgement = judge(clean().deliver("b", "a", 9, 1).recordings())
    assert (judgement.verdict, judgement.exit_code) == ("violated", 1)
    assert judgement.to_json()["guarantees"]["G1"]["violations"] > 0


def test_dropped_events_leave_it_unjudged() -> None:
    whole = clean().recordings()
    hurt = Recording.of(whole[1].header, list(whole[1].events), closed=True, dropped=3)
    judgement = judge([whole[0], hurt])
    assert (judgement.verdict, judgement.exit_code, judgement.dropped_events) == ("unjudged", 2, 3)


def test_what_comes_after_a_hole_is_not_judged() -> None:
    recordings = clean().deliver("b", "a", 9, 1).recordings()
    hurt = Recording.of(recordings[1].header, list(recordings[1].events), closed=True, dropped=3)
    hurt.hole = 4
    assert judge([recordings[0], hurt]).verdict == "unjudged"


def test_a_view_member_without_a_recording_leaves_it_unjudged() -> None:
    judgement = judge(clean().recordings()[:1])
    assert judgement.verdict == "unjudged" and "no recording of b#1" in judgement.reasons[0]


def test_nothing_at_all_is_unjudged() -> None:
    assert judge([]).verdict == "unjudged"
    assert judge(Story("a").recordings()).reasons == ["no guarantee was examined"]


def test_a_required_guarantee_that_was_not_exercised_leaves_it_unjudged() -> None:
    judgement = judge(clean().recordings(), require=["G1,g8"])
    assert judgement.verdict == "unjudged"
    assert judgement.reasons == ["G8 is required and unjudged: nothing was examined"]


def test_an_unknown_guarantee_cannot_be_required() -> None:
    with pytest.raises(UsageError, match="G19"):
        parse_require(["G19"])


def test_a_cut_recording_alone_is_no_reason_for_doubt() -> None:
    assert judge(clean().recordings(cut="ab")).verdict == "held"


def test_any_event_with_a_broken_detail_is_survived() -> None:
    story = clean()
    for kind in Kind:
        story.recorders["a"].append(Event(kind, 1, detail={"members": 3, "digest": [1], "config": 7, "previous": "x"}))
        story.recorders["a"].append(Event(kind, 1))
    judge(story.recordings())
