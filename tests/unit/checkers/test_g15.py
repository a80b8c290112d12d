"""G15 is broken in each way it can be, and found each time."""

from typing import Any

from ringcast.checkers import Finding, judge
from ringcast.model import Kind
from ringcast.trace.story import Story

PRIVATE = 5  # epoch 1, the channel of private messages
STATE = 7


def handed(story: Story, member: str, sender: str, first: int, count: int, **fields: Any) -> Story:
    return story.event(member, Kind.HANDED, sender, first=first, count=count, **fields)


def unread(story: Story, member: str, sender: str | None, first: int = 0, count: int = 0, **fields: Any) -> Story:
    fields.setdefault("detail", {"why": "ended", "told": "closed"})
    return story.event(member, Kind.UNREAD, sender, first=first, count=count, **fields)


def spooled(story: Story, member: str, sender: str, first: int, count: int, **fields: Any) -> Story:
    return story.event(member, Kind.SPOOLED, sender, first=first, count=count, **fields)


def told(story: Story, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings["G15"]


def sentence(story: Story) -> str:
    finding = told(story)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def two(count: int = 10) -> Story:
    """b has delivered ten messages of a."""
    return Story("ab").view("ab").send("a", count).deliver("b", "a", 1, count)


def test_what_is_handed_over_and_then_counted_as_taken_holds() -> None:
    story = handed(two(), "b", "a", 1, 4).taken("b", "a", 1, 4)
    handed(story, "b", "a", 5, 6).taken("b", "a", 5, 6)
    finding = told(story)
    assert (finding.verdict, finding.examined) == ("held", 10)


def test_a_run_that_was_taken_and_only_begun_is_found() -> None:
    """Y01: a loop was left after one message of ten, and the acks report all of them."""
    story = handed(two(), "b", "a", 1, 1).taken("b", "a", 1, 10)
    assert "counts 1..10 of a#1 as taken, which its application was not given" in sentence(story)


def test_a_recording_from_before_these_events_is_unjudged() -> None:
    finding = told(two().taken("b", "a", 1, 10))
    assert finding.verdict == "unjudged" and "does not say what its application was given" in finding.missing[0]


def test_a_gap_is_found() -> None:
    story = handed(handed(two(), "b", "a", 1, 3), "b", "a", 5, 6)
    assert "handed messages 5..10 of a#1 to its application, but 4 stands before them" in sentence(story)


def test_a_repetition_is_found() -> None:
    story = handed(handed(two(), "b", "a", 1, 10), "b", "a", 10, 1)
    assert "handed messages 10 of a#1 to its application, which were not delivered, or handed over" in sentence(story)


def test_more_than_was_delivered_is_found() -> None:
    assert "of which 11..12 were not delivered" in sentence(handed(two(), "b", "a", 1, 12))


def test_what_was_delivered_and_forgotten_is_found_at_the_end() -> None:
    story = handed(two(), "b", "a", 1, 7).taken("b", "a", 1, 7)
    assert "neither handed over nor reported as unread what it delivered: 8..10 of a#1" in sentence(story)


def test_nothing_is_asked_of_a_cut_or_crashed_recording() -> None:
    story = handed(two(), "b", "a", 1, 7)
    assert told(story, cut="b").verdict == "held"
    crashed = handed(two(), "b", "a", 1, 7)
    crashed.recorders["b"].close(crashed.now_ns, "crashed")
    assert told(crashed).verdict == "held"


def test_what_is_left_unread_at_the_end_must_be_told() -> None:
    story = unread(handed(two(), "b", "a", 1, 7), "b", "a", 8, 3)
    assert told(story).verdict == "held"
    silent = unread(handed(two(), "b", "a", 1, 7), "b", "a", 8, 3, detail={"why": "excluded"})
    assert "without an error that says so" in sentence(silent)


def test_what_is_not_for_the_application_is_not_asked_for() -> None:
    """Pieces and items of the one order: counted as taken at once. And streams of control and state."""
    story = handed(two(), "b", "a", 1, 10)
    story.send("a", 2).deliver("b", "a", 11, 2).taken("b", "a", 11, 2, value=1)
    story.deliver("b", "a", 1, 3, stream=STATE).taken("b", "a", 1, 3, stream=STATE)
    assert told(story).verdict == "held"


def test_private_streams_are_judged_each_on_its_own() -> None:
    story = two().deliver("b", "a", 1, 2, stream=PRIVATE)
    handed(handed(story, "b", "a", 1, 2, stream=PRIVATE), "b", "a", 1, 10)
    assert told(story).verdict == "held"
    story = two().deliver("b", "a", 1, 2, stream=PRIVATE)
    handed(story, "b", "a", 1, 10)
    assert "1..2 of a#1" in sentence(story)


def ordered(story: Story, sender: str, first: int, count: int) -> Story:
    return story.event("b", Kind.DEQUEUE, sender, first=first, count=count, value=first)


def test_ordered_messages_are_handed_over_in_the_one_order() -> None:
    story = ordered(ordered(Story("ab").view("ab"), "a", 1, 3), "b", 1, 1)
    handed(handed(story, "b", "a", 1, 2, value=1), "b", "a", 3, 1, value=1)
    assert told(handed(story, "b", "b", 1, 1, value=1)).verdict == "held"
    story = ordered(ordered(Story("ab").view("ab"), "a", 1, 3), "b", 1, 1)
    assert "but 1..3 of a#1 stand before them" in sentence(handed(story, "b", "b", 1, 1, value=1))
    story = ordered(ordered(Story("ab").view("ab"), "a", 1, 3), "b", 1, 1)
    assert "neither handed over" in sentence(handed(story, "b", "a", 1, 3, value=1))


def test_what_a_joiner_spools_may_be_taken_before_it_is_handed_over() -> None:
    story = spooled(two(), "b", "a", 1, 10).taken("b", "a", 1, 10)
    assert told(handed(story, "b", "a", 1, 10)).verdict == "held"
    lost = spooled(two(), "b", "a", 1, 10).taken("b", "a", 1, 10)
    assert "neither handed over" in sentence(lost)
    void = spooled(two(), "b", "a", 1, 10).taken("b", "a", 1, 10)
    unread(void, "b", None, detail={"why": "it is part of the state that is loaded", "told": "state"})
    assert told(void).verdict == "unjudged" and not told(void).violations


def test_what_came_to_a_joiner_alone_is_in_no_state() -> None:
    """It was thrown away with the spool, and nobody was told."""
    state = {"why": "it is part of the state that is loaded", "told": "state"}
    story = Story("ab").view("ab").deliver("b", "a", 1, 2, stream=PRIVATE)
    spooled(story, "b", "a", 1, 2, stream=PRIVATE).taken("b", "a", 1, 2, stream=PRIVATE)
    unread(story, "b", None, detail=state)
    assert told(handed(story, "b", "a", 1, 2, stream=PRIVATE)).verdict == "held"
    lost = Story("ab").view("ab").deliver("b", "a", 1, 2, stream=PRIVATE)
    spooled(lost, "b", "a", 1, 2, stream=PRIVATE).taken("b", "a", 1, 2, stream=PRIVATE)
    unread(lost, "b", None, detail=state)
    assert "neither handed over" in sentence(lost)
    refused = Story("ab").view("ab").deliver("b", "a", 1, 2, stream=PRIVATE)
    spooled(refused, "b", "a", 1, 2, stream=PRIVATE).taken("b", "a", 1, 2, stream=PRIVATE)
    unread(refused, "b", None, detail={"why": "no state", "told": "StateError"})
    assert not told(refused).violations


def test_what_a_joiner_spooled_of_the_order_to_some_members_stays_until_it_is_named() -> None:
    """A state may not have it: thrown away with the spool it was lost, and nobody was told."""
    state = {"why": "it is part of the state that is loaded", "told": "state"}

    def story() -> Story:
        told = ordered(ordered(Story("ab").view("ab"), "a", 1, 2), "a", 3, 1)
        spooled(told, "b", "a", 1, 2, value=1)
        spooled(told, "b", "a", 3, 1, value=1, other=1)
        unread(told, "b", None, detail=state)
        return told

    assert told(handed(story(), "b", "a", 3, 1, value=1)).verdict == "held"
    assert "neither handed over" in sentence(story())
    named = story()
    unread(named, "b", "a", 3, 1, value=1, detail=state)
    assert not told(named).violations
    closed = story()
    unread(closed, "b", None, detail={"why": "the group is closed", "told": "closed"})
    assert not told(closed).violations
