"""G11, G12 and G13 are broken in each way they can be, and found each time; what is not promised is not asked for."""

import pytest

from ringcast.checkers import Finding, judge
from ringcast.model import Kind
from ringcast.trace import TraceError
from ringcast.trace.story import Story


class OrderStory(Story):
    def starts(self, member: str, first: int, count: int = 1) -> "OrderStory":
        self.event(member, Kind.QUEUE_START, first=first, count=count, detail={"to": "view"})
        return self

    def finishes(self, member: str, first: int, seq: int, count: int = 1) -> "OrderStory":
        self.event(member, Kind.QUEUE_FINISH, first=first, count=count, value=seq)
        return self

    def dequeues(self, member: str, sender: str, first: int, seq: int, count: int = 1) -> "OrderStory":
        self.event(member, Kind.DEQUEUE, sender, first=first, count=count, value=seq)
        return self

    def change(self, members: str, number: int = 1, at: str | None = None) -> "OrderStory":
        self.view(members, number, at)
        return self

    def ends(self, member: str, how: str) -> "OrderStory":
        self.recorders[member].close(self.now_ns, how)
        return self


def trio() -> OrderStory:
    return OrderStory("abc").change("abc")


def found(story: Story, guarantee: str, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings[guarantee]


def sentence(story: Story, guarantee: str) -> str:
    finding = found(story, guarantee)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def told_right() -> OrderStory:
    """a and b send one message each; c reads a batch of two in between."""
    story = trio().starts("a", 1).starts("b", 1, 2)
    story.finishes("a", 1, 1).finishes("b", 1, 2, 2)
    for member in "abc":
        story.dequeues(member, "a", 1, 1).dequeues(member, "b", 1, 2, 2)
    return story


def test_one_order_is_held_and_counted() -> None:
    story = told_right()
    assert [(found(story, g).verdict, found(story, g).examined) for g in ("G11", "G12", "G13")] == [
        ("held", 12),
        ("held", 9),
        ("held", 2),
    ]


def test_nothing_ordered_is_unjudged() -> None:
    assert {found(trio(), g).verdict for g in ("G11", "G12", "G13")} == {"unjudged"}


# ---- G11


def test_g11_a_receiver_that_dequeues_a_senders_messages_backwards_is_found() -> None:
    story = trio().dequeues("b", "a", 2, 1).dequeues("b", "a", 1, 2)
    assert sentence(story, "G11") == "b#1 dequeued number 1 of a#1 after 2"


def test_g11_a_message_dequeued_twice_is_found() -> None:
    assert "number 1 of a#1 after 1" in sentence(trio().dequeues("b", "a", 1, 1).dequeues("b", "a", 1, 2), "G11")


def test_g11_gaps_are_no_violation() -> None:
    assert found(trio().dequeues("b", "a", 1, 1).dequeues("b", "a", 7, 2), "G11").verdict == "held"


def test_g11_a_sender_that_uses_a_number_again_is_found() -> None:
    assert "began to queue its number 2 after 3" in sentence(trio().starts("a", 1, 3).starts("a", 2), "G11")


def test_g11_a_senders_numbers_with_places_the_other_way_round_are_found() -> None:
    story = trio().starts("a", 1).starts("a", 2).finishes("a", 1, 5).finishes("a", 2, 4)
    assert "number 2 has the place (1, 4), its number 1 the place (1, 5)" in sentence(story, "G11")


# ---- G12


def test_g12_two_members_with_two_orders_are_found() -> None:
    story = trio().dequeues("b", "a", 1, 1).dequeues("b", "c", 1, 2).dequeues("c", "c", 1, 1).dequeues("c", "a", 1, 2)
    assert "does not fit the order of the others" in sentence(story, "G12")


def test_g12_a_circle_over_three_members_of_which_no_two_disagree_is_found() -> None:
    story = trio()
    for member, (first, second) in {"a": "ab", "b": "bc", "c": "ca"}.items():
        story.dequeues(member, first, 1, 1).dequeues(member, second, 1, 2)
    assert "does not fit" in sentence(story, "G12")


def test_g12_other_seqs_in_the_same_order_are_no_violation() -> None:
    story = trio().dequeues("b", "a", 1, 1).dequeues("b", "c", 1, 2).dequeues("c", "a", 1, 5).dequeues("c", "c", 1, 9)
    assert found(story, "G12").verdict == "held"


def test_g12_a_message_inside_two_runs_is_named() -> None:
    torn = trio().dequeues("b", "a", 1, 1, count=5).dequeues("b", "a", 5, 2, count=2)
    assert "dequeued a#1's 5 twice" in sentence(torn, "G12")


def test_g12_more_messages_than_can_be_compared_one_by_one_are_refused() -> None:
    story = trio()
    for place in range(1, 18):  # the same ones under other places: no order by place
        story = story.dequeues("b", "a", 1, 20 - place, count=2**22)
    with pytest.raises(TraceError, match="more than can be compared"):
        sentence(story, "G12")


def test_g12_a_message_dequeued_twice_is_found() -> None:
    assert "dequeued a#1's 1 twice" in sentence(trio().dequeues("b", "a", 1, 1).dequeues("b", "a", 1, 2), "G12")


def test_g12_a_batch_handed_out_in_parts_is_one_place() -> None:
    story = trio().dequeues("b", "a", 1, 1, 2).dequeues("b", "a", 3, 1, 2).dequeues("c", "a", 1, 1, 4)
    assert found(story, "G12").verdict == "held"


def test_g12_is_not_asked_of_one_that_was_cut_off_but_of_those_who_went_on_together() -> None:
    story = trio().dequeues("a", "b", 1, 1).dequeues("a", "c", 1, 2)
    for member in "bc":
        story.dequeues(member, "c", 1, 1).dequeues(member, "b", 1, 2)
    story.change("bc", 2).change("a", 2, at="a")
    assert found(story, "G12").verdict == "held"
    story.dequeues("b", "b", 2, 1).dequeues("b", "c", 2, 2).dequeues("c", "c", 2, 1).dequeues("c", "b", 2, 2)
    assert "in view b#1|2" in sentence(story, "G12")


def test_g12_is_not_asked_of_one_that_crashed() -> None:
    story = trio().dequeues("a", "b", 1, 1).dequeues("a", "c", 1, 2).dequeues("b", "c", 1, 1).dequeues("b", "b", 1, 2)
    assert found(story, "G12", cut="a").verdict == "held"
    assert found(story.ends("a", "crashed"), "G12").verdict == "held"


def test_g12_on_a_bus_without_views_everybody_is_compared() -> None:
    story = OrderStory("ab").dequeues("a", "a", 1, 1).dequeues("a", "b", 1, 2)
    story.dequeues("b", "b", 1, 1).dequeues("b", "a", 1, 2)
    assert "on the bus" in sentence(story, "G12")


# ---- G13


def test_g13_a_message_started_after_another_was_dequeued_at_the_same_member_comes_behind_it() -> None:
    story = trio().dequeues("b", "a", 1, 7).starts("b", 1).finishes("b", 1, 3)
    assert sentence(story, "G13") == (
        "in view a#1|1 b#1 began to queue its 1 when b#1 already had seq 7, yet it got seq 3"
    )


def test_g13_a_message_started_after_another_was_finished_elsewhere_comes_behind_it() -> None:
    story = trio().starts("a", 1).finishes("a", 1, 7).starts("b", 1).finishes("b", 1, 3)
    assert "b#1 began to queue its 1 when a#1 already had seq 7" in sentence(story, "G13")


def test_g13_messages_that_overlap_in_time_may_come_either_way() -> None:
    story = trio().starts("a", 1).starts("b", 1).finishes("a", 1, 7).finishes("b", 1, 3)
    assert found(story, "G13").verdict == "held"


def test_g13_what_a_member_knew_that_crashed_binds_nobody() -> None:
    story = trio().dequeues("a", "c", 1, 7).starts("b", 1).finishes("b", 1, 3)
    assert found(story, "G13").verdict == "violated"
    story = trio().dequeues("a", "c", 1, 7).starts("b", 1).finishes("b", 1, 3).change("bc", 2)
    assert found(story, "G13", cut="a").verdict == "held"


def test_g13_a_start_in_the_old_view_after_a_place_in_the_new_one_is_found() -> None:
    story = trio().change("abc", 2, at="a").starts("a", 1).finishes("a", 1, 1).starts("b", 1)
    story.finishes("b", 1, 9).change("abc", 2, at="bc")
    assert "when a#1 already had a place in a#1|2" in sentence(story, "G13")


def test_g13_without_a_common_clock_only_a_members_own_knowledge_counts() -> None:
    story = trio().starts("a", 1).finishes("a", 1, 7).starts("b", 1).finishes("b", 1, 3)
    story.recorders["a"].events[0].detail["clock"] = "another"  # type: ignore[index]
    assert found(story, "G13").verdict == "held"
