"""G5 is broken in each way it can be, and found each time (X7)."""

import pytest

from ringcast.checkers import Finding, judge
from ringcast.checkers.runs import Runs
from ringcast.trace.story import Story


def cut(story: Story, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings["G5"]


def sentence(story: Story, cut_members: str = "") -> str:
    finding = cut(story, cut_members)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def test_the_same_messages_before_the_next_view_are_held() -> None:
    finding = cut(Story("abc").view("abc").passed("abc", "a", 5).passed("abc", "b", 2).view("abc", 2))
    assert (finding.verdict, finding.examined) == ("held", 2)


def test_without_a_second_view_nothing_is_examined() -> None:
    assert cut(Story("ab").view("ab").passed("ab", "a", 5)).verdict == "unjudged"


def test_a_message_that_only_one_survivor_delivered_is_found() -> None:
    """X7: the sender crashes, its last message reached only b."""
    story = Story("abc").view("abc").send("a", 3).deliver("b", "a", 1, 3).deliver("c", "a", 1, 2).view("bc", 2)
    assert "c#1 delivered 1..2 from a#1, b#1 delivered 1..3" in sentence(story, "a")


def test_members_that_part_may_differ() -> None:
    story = Story("ab").view("ab").send("a", 3).deliver("a", "a", 1, 3).deliver("b", "a", 1, 2)
    assert cut(story.view("a", 2).view("b", 2)).violation_count == 0


def test_a_sender_that_nobody_else_heard_is_found() -> None:
    story = Story("ab").view("ab").send("a", 1).deliver("a", "a", 1, 1).view("ab", 2)
    assert "b#1 delivered nothing from a#1" in sentence(story)


def test_a_member_without_self_delivery_counts_what_it_sent() -> None:
    story = Story("ab", self_delivery=False).view("ab").send("a", 3).deliver("b", "a", 1, 3).view("ab", 2)
    assert cut(story).verdict == "held"
    story = Story("ab", self_delivery=False).view("ab").send("a", 3).deliver("b", "a", 1, 2).view("ab", 2)
    assert cut(story).verdict == "violated"


def test_a_message_delivered_in_a_later_view_is_found() -> None:
    story = Story("ab").view("ab").send("a", 2).view("ab", 2).deliver("a", "a", 1, 2).deliver("b", "a", 1, 2)
    assert "delivered 1 from a#1 in a#1|2, but it was not sent in that view" in sentence(story)


def test_what_a_cut_sender_sent_last_is_unknown() -> None:
    story = Story("ab").view("ab").send("a", 2).deliver("b", "a", 1, 4)
    assert cut(story, "a").violation_count == 0
    assert cut(story).violation_count == 1


@pytest.mark.parametrize("order", [[(1, 3), (4, 6), (9, 9)], [(9, 9), (1, 3), (4, 6)], [(1, 6), (2, 4), (9, 9)]])
def test_runs_are_equal_however_they_were_added(order: list[tuple[int, int]]) -> None:
    runs = Runs()
    for first, last in order:
        runs.add(first, last)
    assert runs.pairs() == [(1, 6), (9, 9)] and len(runs) == 7
    assert runs.first_missing(2, 6) is None and runs.first_missing(5, 9) == 7 and runs.first_missing(0, 1) == 0


def test_the_same_seqnos_with_different_content_are_found() -> None:
    for content, verdict in ((7, "held"), (8, "violated"), (0, "held")):
        story = Story("abc").view("abc").send("a", 3)
        story.deliver("a", "a", 1, 3).deliver("b", "a", 1, 1, content=3).deliver("b", "a", 2, 2, content=4)
        story.deliver("c", "a", 1, 3, content=content).view("bc", 2)
        assert cut(story).verdict == verdict
        if verdict == "violated":
            assert "c#1 and b#1 delivered 1..3 from a#1 with different content" in sentence(story)


def test_a_run_of_which_not_all_was_taken_is_not_compared() -> None:
    story = Story("abc").view("abc").send("a", 3)
    story.deliver("a", "a", 1, 3).deliver("b", "a", 1, 1, content=3).deliver("b", "a", 2, 2, content=-1)
    assert cut(story.deliver("c", "a", 1, 3, content=9).view("bc", 2)).verdict == "held"
