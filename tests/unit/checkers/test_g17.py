"""G17 is broken in each way it can be, and found each time."""

from typing import Any

from ringcast.checkers import Finding, judge
from ringcast.trace.story import Story, address


def find(story: Story, name: str = "G17") -> Finding:
    return judge(story.recordings()).findings[name]


def sentence(story: Story) -> str:
    finding = find(story)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


class Tale(Story):
    """A story of primary views."""

    def primary(self, members: str, number: int, at: str | None = None, creator: str = "", **detail: Any) -> "Tale":
        self.view(members, number, at, creator, primary=True, **detail)
        return self


def test_a_chain_is_held_also_if_it_shrinks_to_half_with_the_first_and_grows_again() -> None:
    story = Tale("abcde").primary("abcde", 1).primary("abc", 2).primary("ab", 3).primary("a", 4).primary("abcde", 9)
    finding = find(story)
    assert (finding.verdict, finding.examined) == ("held", 5)


def test_without_the_policy_nothing_is_judged() -> None:
    assert find(Tale("ab").view("ab")).verdict == "unjudged"


def test_views_that_are_not_primary_do_not_count() -> None:
    story = Tale("abcde").primary("abcde", 1).view("de", 2, primary=False).primary("abc", 2)
    assert find(story).verdict == "held"


def test_a_view_with_less_than_half_of_the_one_before_is_found() -> None:
    story = Tale("abcde").primary("abcde", 1).primary("de", 2)
    assert "is primary with 2 of the 5 voters of" in sentence(story)


def test_half_without_the_first_is_found() -> None:
    assert "with 1 of the 2 voters" in sentence(Tale("ab").primary("ab", 1).primary("b", 2))


def test_two_successors_of_one_view_are_found() -> None:
    """Each has a majority of the five, but they know nothing of each other."""
    story = Tale("abcde").primary("abcde", 1).primary("abc", 2, at="ab").primary("cde", 2)
    assert "with 1 of the 3 voters of" in sentence(story)


def test_observers_do_not_vote() -> None:
    watching = {"observers": [address("c"), address("d"), address("e")]}
    story = Tale("abcde").primary("abcde", 1, **watching).primary("bcde", 2, **watching)
    assert "with 1 of the 2 voters" in sentence(story)


def test_a_process_that_remembers_votes_as_before() -> None:
    story = Tale("abc").primary("abc", 1).primary("c", 2, votes=[[address("c"), address("a")]])
    assert "with 1 of the 3 voters" in sentence(story)
    votes = [[address("c"), address("b")]]
    assert find(Tale("abc").primary("ab", 1).primary("ac", 2, votes=votes)).verdict == "held"


def test_with_a_quorum_each_view_has_so_many_and_any_two_share_somebody() -> None:
    assert find(Tale("abcde").primary("abc", 5, quorum=3).primary("cde", 2, quorum=3)).verdict == "held"
    assert "less than the quorum of 3" in sentence(Tale("abc").primary("ab", 1, quorum=3))
    apart = Tale("abcd").primary("ab", 1, quorum=2).primary("cd", 2, quorum=2)
    assert "have nobody in common" in sentence(apart)


def test_what_a_stale_primary_sent_is_not_delivered_in_a_later_one() -> None:
    story = Tale("abc").primary("abc", 1)
    story.send("c", 2).primary("ab", 2)
    assert find(story).verdict == "held"
    story.deliver("a", "c", 2, 1)
    assert "delivered 2 from c#1 in a#1|2, a primary view later than a#1|1" in sentence(story)


def test_one_id_is_primary_everywhere_or_nowhere() -> None:
    story = Tale("ab").primary("ab", 1, at="a")
    story.view("ab", 1, at="b", primary=False)
    assert find(story, "G4").verdict == "violated"
