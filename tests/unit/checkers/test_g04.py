"""G4 is broken in each way it can be, and found each time (V18)."""

import pytest

from ringcast.checkers import Finding, judge
from ringcast.trace.story import Story, addresses


def views(story: Story) -> Finding:
    return judge(story.recordings()).findings["G4"]


def sentence(story: Story) -> str:
    finding = views(story)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def test_growing_views_are_held() -> None:
    finding = views(Story("abc").view("ab").view("abc", 2).view("ac", 4))
    assert (finding.verdict, finding.examined) == ("held", 7)


def test_several_views_may_coexist_in_a_partition() -> None:
    assert views(Story("ab").view("ab").view("a", 2).view("b", 2)).verdict == "held"


def test_an_id_that_does_not_grow_is_found() -> None:
    assert "ids only grow" in sentence(Story("ab").view("ab", 3).view("ab", 2))
    assert "ids only grow" in sentence(Story("ab").view("ab", 3).view("ab", 3))


def test_the_creator_decides_between_equal_numbers() -> None:
    assert views(Story("ab").view("ab", 3).view("ab", 3, creator="b")).verdict == "held"
    assert "ids only grow" in sentence(Story("ab").view("ab", 3, creator="b").view("ab", 3))


def test_a_view_without_its_member_is_found() -> None:
    assert "of which it is not a member" in sentence(Story("abc").view("ab", at="abc"))


def test_one_id_with_two_contents_is_found() -> None:
    assert "a#1|1 means" in sentence(Story("abc").view("ab", at="a").view("abc", at="b"))
    assert "capacity" in sentence(Story("ab").view("ab", at="a").view("ab", at="b", capacity=5))
    groups = [addresses("a"), addresses("b")]
    assert "subgroups" in sentence(Story("ab").view("ab", at="a").view("ab", at="b", subgroups=groups))


def test_a_wrong_previous_view_is_found() -> None:
    story = Story("ab").view("ab")
    story.view("ab", 3, previous=[2, list(addresses("a")[0])])
    assert "but it was in a#1|1" in sentence(story)


@pytest.mark.parametrize("detail", [{"window_bytes": 7}, {"primary": True}], ids=["window bytes", "primary mark"])
def test_one_id_with_another_window_or_another_mark_is_found(detail: dict[str, object]) -> None:
    """Both were left out of what a view means."""
    usual = {"window_bytes": 9, "primary": False}
    story = Story("ab").view("ab", at="a", **usual).view("ab", at="b", **(usual | detail))
    finding = judge(story.recordings()).findings["G4"]
    assert finding.verdict == "violated"
    assert "7 window bytes" in finding.violations[0].sentence or ", primary" in finding.violations[0].sentence
