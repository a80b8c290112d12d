"""G2 is broken in each way it can be, and found each time."""

from ringcast.checkers import Finding, judge
from ringcast.model import Kind
from ringcast.trace.story import Story


def bound(story: Story) -> Finding:
    return judge(story.recordings()).findings["G2"]


def sentence(story: Story) -> str:
    finding = bound(story)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def test_a_window_may_be_exactly_full() -> None:
    story = Story("ab", capacity=8).view("ab").send("a", 8).purge("a", 8).send("a", 8)
    finding = bound(story)
    assert finding.verdict == "held" and finding.examined == 2


def test_one_more_than_capacity_is_found() -> None:
    assert "held 9, its capacity is 8" in sentence(Story("ab", capacity=8).view("ab").send("a", 9))


def test_overrunning_is_found_although_the_member_claims_less() -> None:
    assert "held 9" in sentence(Story("ab", capacity=8).view("ab").send("a", 5).send("a", 4, value=4))


def test_a_false_claim_is_found() -> None:
    assert "claims to hold 3, its events say 5" in sentence(Story("ab", capacity=8).view("ab").send("a", 5, value=3))


def test_the_capacity_that_the_view_agreed_on_binds() -> None:
    assert "capacity is 4" in sentence(Story("ab", capacity=8).view("ab", capacity=4).send("a", 5))


def test_a_ring_that_holds_something_is_not_shrunk() -> None:
    story = Story("ab", capacity=8).view("ab").send("a", 6).view("ab", 2, capacity=4).send("a", 2)
    assert bound(story).verdict == "held"
    story.purge("a", 8)
    assert "capacity is 4" in sentence(story.send("a", 5))


def test_a_receive_window_that_holds_too_much_is_found() -> None:
    story = Story("ab", capacity=8).view("ab").deliver("b", "a", 1, 1, value=9)
    assert "receive window for a#1 held 9" in sentence(story)


def test_a_window_event_that_holds_too_much_is_found() -> None:
    story = Story("ab", capacity=8).view("ab").event("b", Kind.WINDOW, "a", value=9, other=8)
    assert "held 9" in sentence(story)


def test_a_receive_ring_larger_than_anything_agreed_is_found() -> None:
    story = Story("ab", capacity=8).view("ab").deliver("b", "a", 1, 1, other=16)
    assert "more than the agreed 8" in sentence(story)


def test_a_view_that_agrees_on_more_than_a_member_has_is_found() -> None:
    assert "agrees on a window of 16 messages, this member was configured with 8" in sentence(
        Story("ab", capacity=8).view("ab", capacity=16)
    )
    assert "agrees on a window of 9 bytes, this member was configured with 8" in sentence(
        Story("ab", window_bytes=8).view("ab", window_bytes=9)
    )


def test_other_streams_have_their_own_capacity() -> None:
    story = Story("ab", capacity=8, stream_capacity=2).view("ab").send("a", 3, stream=4)
    assert "of stream 4 held 3, its capacity is 2" in sentence(story)


def test_without_a_known_capacity_it_is_unjudged() -> None:
    story = Story("ab", capacity=0, stream_capacity=0).view("ab").send("a", 3)
    finding = bound(story)
    assert finding.verdict == "unjudged" and "the capacity of" in finding.missing[0]
