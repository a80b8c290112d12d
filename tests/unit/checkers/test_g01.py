"""G1 is broken in each way it can be, and found each time."""

import pytest

from ringcast.checkers import Finding, judge
from ringcast.model import Kind, ViewId
from ringcast.trace.story import Story, address


def fifo(story: Story, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings["G1"]


def sentence(story: Story, cut: str = "") -> str:
    finding = fifo(story, cut)
    assert finding.verdict == "violated" and finding.violation_count == 1, finding
    return finding.violations[0].sentence


def pair() -> Story:
    return Story("ab").view("ab").send("a", 9)


def test_a_clean_exchange_is_held_and_counted() -> None:
    finding = fifo(pair().deliver("b", "a", 1, 4).deliver("b", "a", 5, 5).deliver("a", "a", 1, 9))
    assert (finding.verdict, finding.examined, finding.violations) == ("held", 18, [])


def test_a_gap_is_named_with_its_seqnos() -> None:
    assert "5..6 missing" in sentence(pair().deliver("b", "a", 1, 4).deliver("b", "a", 7, 3))


def test_a_first_message_that_is_not_the_next_after_the_offset_is_a_gap() -> None:
    assert "1 missing" in sentence(pair().deliver("b", "a", 2, 8))


def test_a_repeated_run_is_a_duplicate() -> None:
    assert "3..4 again" in sentence(pair().deliver("b", "a", 1, 4).deliver("b", "a", 3, 4))


def test_a_late_run_is_found_although_nothing_is_missing_in_the_end() -> None:
    finding = fifo(pair().deliver("b", "a", 4, 6).deliver("b", "a", 1, 3))
    assert finding.violation_count == 2


def test_streams_are_judged_apart() -> None:
    story = pair().deliver("b", "a", 1, 9).send("a", 2, stream=5).deliver("b", "a", 1, 2, stream=5, ordinal=0)
    assert fifo(story).verdict == "held"
    assert "1 missing" in sentence(pair().send("a", 2, stream=5).deliver("b", "a", 2, 1, stream=5))


def test_what_was_never_sent_cannot_be_delivered() -> None:
    assert "sent only up to 9" in sentence(pair().deliver("b", "a", 1, 10))


def test_what_a_cut_sender_sent_is_unknown() -> None:
    assert fifo(pair().deliver("b", "a", 1, 10), cut="a").verdict == "held"


def test_without_the_senders_recording_it_is_unjudged() -> None:
    story = Story("b").view("b").deliver("b", "a", 1, 2)
    finding = fifo(story)
    assert finding.verdict == "unjudged" and "no recording of a#1" in finding.missing[0]


def test_a_sender_that_skips_a_seqno_is_found() -> None:
    assert "not the next seqno" in sentence(pair().send("a", 2, first=12))


def test_a_receiver_that_joins_begins_at_its_offset() -> None:
    story = Story("ab").view("a").passed("a", "a", 5)
    second = ViewId(2, address("a"))
    story.offset("b", "a", 5, "join", view=second).view("ab", 2).send("a", 1).deliver("b", "a", 6, 1)
    assert fifo(story).verdict == "held"


def test_an_offset_may_stand_right_behind_its_view() -> None:
    story = Story("ab").view("ab").offset("b", "a", 0, "join").send("a", 1).deliver("b", "a", 1, 1)
    assert fifo(story).verdict == "held"


def test_an_offset_never_goes_back() -> None:
    story = pair().deliver("b", "a", 1, 9).view("b", 2, at="b").view("ab", 3).offset("b", "a", 4)
    assert "back from 9 to 4" in sentence(story)


def test_an_offset_without_a_view_is_found() -> None:
    story = pair().deliver("b", "a", 1, 2).offset("b", "a", 5).deliver("b", "a", 6, 4)
    assert "without a view" in sentence(story)


def test_an_offset_for_another_view_than_the_one_that_comes_is_found() -> None:
    story = pair().deliver("b", "a", 1, 2).offset("b", "a", 5, view=ViewId(7, address("b"))).view("ab", 2)
    assert "without a view" in sentence(story)


def test_an_offset_whose_view_may_have_been_cut_off_is_not_blamed() -> None:
    story = pair().deliver("b", "a", 1, 2).offset("b", "a", 5, view=ViewId(2, address("a")))
    assert fifo(story, cut="b").verdict == "held"
    assert "without a view" in sentence(story)


def test_delivery_ordinals_count_up() -> None:
    assert "number 7" in sentence(pair().deliver("b", "a", 1, 4).deliver("b", "a", 5, 5, ordinal=7))


@pytest.mark.parametrize("field", ["peer", "count"])
def test_an_event_that_lacks_something_makes_it_unjudged_and_nothing_else(field: str) -> None:
    fields = {"first": 1, "count": 0} if field == "count" else {"first": 1, "count": 1}
    story = pair().deliver("b", "a", 1, 9).event("b", Kind.DELIVER, "a" if field == "count" else None, **fields)
    finding = fifo(story)
    assert finding.verdict == "unjudged" and "DELIVER" in finding.missing[0]


def test_many_violations_are_counted_and_some_are_kept() -> None:
    story = pair()
    for _ in range(500):
        story.deliver("b", "a", 1, 1)
    finding = fifo(story)
    assert finding.violation_count == 499 and len(finding.violations) == 100


def carried(story: Story, *contents: int) -> Story:
    """b delivers a's messages one by one, with these digests."""
    for seqno, content in enumerate(contents, 1):
        story.deliver("b", "a", seqno, 1, content=content)
    return story


def test_other_content_than_was_sent_is_found_between_common_ends() -> None:
    told = Story("ab", self_delivery=False).view("ab").send("a", 2, content=30).send("a", 2, content=70)
    assert fifo(carried(told, 10, 20, 30, 40)).verdict == "held"
    told = Story("ab", self_delivery=False).view("ab").send("a", 2, content=30).send("a", 2, content=70)
    assert "b#1 delivered 3..4 from a#1 with other content than was sent" in sentence(carried(told, 10, 20, 30, 41))


def test_a_receiver_without_digests_is_not_blamed() -> None:
    assert fifo(carried(Story("ab", self_delivery=False).view("ab").send("a", 2, content=30), 0, 0)).verdict == "held"


def test_runs_that_end_nowhere_together_are_not_compared() -> None:
    told = Story("ab", self_delivery=False).view("ab").send("a", 4, content=100)
    assert fifo(carried(told, 10, 20, 31), "a").verdict == "held"
