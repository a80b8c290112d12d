"""G6 and G7 are broken in each way they can be, and found each time."""

from typing import Any

import pytest

from ringcast.checkers import Finding, judge
from ringcast.model import Kind
from ringcast.trace.story import MS, Story, addresses


class Tale(Story):
    """A story about one view handler."""

    def roll(self, step: str, **detail: Any) -> "Tale":
        self.event("a", Kind.ROLL_CALL, detail={"step": step, **detail})
        return self

    def merge(self, step: str, merge_id: str = "m1") -> "Tale":
        self.event("a", Kind.MERGE, detail={"step": step, "merge_id": merge_id})
        return self

    def suspend(self, cause: str, number: int = 1, resumer_ns: int = 1) -> "Tale":
        merge_id = None if cause == "view" else "m1"
        self.event("a", Kind.SUSPEND, value=number, other=resumer_ns, detail={"cause": cause, "merge_id": merge_id})
        return self

    def resume(self, cause: str, number: int = 1, **detail: Any) -> "Tale":
        self.event("a", Kind.RESUME, value=number, detail={"cause": cause, **detail})
        return self


def find(story: Story, name: str, cut: str = "") -> Finding:
    return judge(story.recordings(cut)).findings[name]


def sentence(story: Story, name: str) -> str:
    finding = find(story, name)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def test_g6_one_after_the_other_is_held() -> None:
    story = Tale("a").roll("start", purpose="view").roll("end").merge("start").roll("start", purpose="merge")
    finding = find(story.roll("end").merge("end").roll("start", purpose="view"), "G6")
    assert (finding.verdict, finding.examined) == ("held", 3)


@pytest.mark.parametrize("step", ["start", "accept"])
def test_g6_a_merge_inside_a_view_change_is_found(step: str) -> None:
    assert "merge m1 while a view change ran" in sentence(Tale("a").roll("start", purpose="view").merge(step), "G6")


def test_g6_a_view_change_inside_a_merge_is_found() -> None:
    story = Tale("a").merge("accept").roll("start", purpose="merge").roll("start", purpose="view")
    assert "a view change while merge m1 ran" in sentence(story, "G6")


def test_g6_another_merge_that_ended_does_not_end_the_first() -> None:
    story = Tale("a").merge("start", "m1").merge("end", "m2").roll("start", purpose="view")
    assert "m1" in sentence(story, "G6")


@pytest.mark.parametrize(
    ("cause", "end"),
    [("view", "view-installed"), ("view", "resumer"), ("merge", "merge-ended"), ("merge-request", "leader-gone")],
)
def test_g7_each_cause_may_end_its_suspension(cause: str, end: str) -> None:
    story = Tale("a").suspend(cause)
    if end == "view-installed":
        story.view("a")
    elif end == "merge-ended":
        story.merge("end")
    finding = find(story.resume(end), "G7")
    assert (finding.verdict, finding.examined) == ("held", 1)


@pytest.mark.parametrize(
    ("cause", "end"),
    [("view", "view-installed"), ("merge", "merge-ended"), ("merge", "merge-view"), ("merge-request", "leader-gone")],
)
def test_g7_a_cause_that_did_not_happen_is_found(cause: str, end: str) -> None:
    detail = {"cause": cause, "leader": addresses("b")[0]}
    story = Tale("a").event("a", Kind.SUSPEND, value=1, other=1, detail=detail)
    assert "which had not happened" in sentence(story.event("a", Kind.RESUME, value=1, detail={"cause": end}), "G7")


@pytest.mark.parametrize("cause", ["merge", "merge-request"])
def test_g7_it_is_this_merge_that_has_to_end(cause: str) -> None:
    story = Tale("a").suspend(cause).merge("end", "m2").resume("merge-ended")
    assert "which had not happened: merge m1 went on" in sentence(story, "G7")


@pytest.mark.parametrize("is_later", [False, True])
def test_g7_the_end_of_a_merge_may_stand_behind_the_resume_of_the_same_moment(is_later: bool) -> None:
    """A view overtook the part of this coordinator: it resumes, and its part is over."""
    story = Tale("a").suspend("merge-request").resume("merge-ended")
    story.now_ns -= 0 if is_later else MS  # Each event comes a millisecond after the one before.
    story.merge("end")
    story.roll("start", purpose="view")
    assert find(story, "G7").verdict == ("violated" if is_later else "held")


def test_g7_a_suspension_without_a_resumer_is_found() -> None:
    story = Tale("a").suspend("view", resumer_ns=0).view("a")
    story.event("a", Kind.RESUME, value=1, detail={"cause": "view-installed"})
    assert "suspended its view handler for view without a Resumer" in sentence(story, "G7")


def test_g7_the_resumer_does_not_come_before_its_moment() -> None:
    story = Tale("a").suspend("view", resumer_ns=5_000 * MS)
    assert "which had not happened" in sentence(story.resume("resumer"), "G7")


def test_g7_a_cause_that_does_not_belong_is_found() -> None:
    assert "with 'leader-gone'" in sentence(Tale("a").suspend("view").resume("leader-gone"), "G7")
    assert "no known cause" in sentence(Tale("a").suspend("boredom").resume("resumer"), "G7")


def test_g7_a_suspension_inside_a_suspension_is_found() -> None:
    story = Tale("a").suspend("view").suspend("merge", 2).resume("merge-ended", 2)
    assert "while suspended for view" in sentence(story, "G7")


def test_g7_resuming_what_is_not_suspended_is_found() -> None:
    assert "which was not open" in sentence(Tale("a").resume("resumer"), "G7")
    assert "which was not open" in sentence(Tale("a").suspend("view", 1).resume("resumer", 2), "G7")


def test_g7_ending_without_a_view_cancels_all_who_hold() -> None:
    asked = addresses("abc")
    story = Tale("a").suspend("view").roll("start", purpose="view", asked=asked)
    story.resume("view-failed", cancelled=addresses("b"))
    assert "sent no cancel to c#1" in sentence(story, "G7")
    story = Tale("a").suspend("view").roll("start", purpose="view", asked=asked)
    assert find(story.resume("view-failed", cancelled=addresses("bc")), "G7").verdict == "held"
    story = Tale("a").suspend("view").roll("start", purpose="view", asked=asked)
    story.view("a")
    story.resume("view-installed")
    assert find(story, "G7").verdict == "held"


def test_g7_a_suspension_that_never_ends_is_found() -> None:
    late = Tale("a").suspend("view", resumer_ns=5 * MS)
    late.now_ns = 2000 * MS
    assert "never ended" in sentence(late, "G7")


def test_g7_one_that_was_stopped_until_it_crashed_could_not_end_its_suspension() -> None:
    """Simulated seed 422 (any): frozen with a suspension open, and crashed three seconds later."""
    story = Tale("a").suspend("view", resumer_ns=5 * MS)
    story.recorders["a"].close(2000 * MS, "crashed")
    assert find(story, "G7").verdict == "held"
    story = Tale("a").suspend("view", resumer_ns=5 * MS)
    story.now_ns = 2000 * MS
    story.merge("refuse").recorders["a"].close(story.now_ns, "crashed")
    assert "never ended" in sentence(story, "G7"), "it went on after the Resumer's moment"


def test_g7_what_may_still_have_ended_is_not_blamed() -> None:
    assert find(Tale("a").suspend("view", resumer_ns=900 * MS), "G7", cut="a").verdict == "held"
    assert find(Tale("a").suspend("view", resumer_ns=900 * MS), "G7").verdict == "held"


def test_g6_a_merge_before_the_view_has_reached_everybody_is_found() -> None:
    """The roll call is over, the view is still on its way: the change has not ended."""
    story = Tale("a").suspend("view").roll("start", purpose="view").roll("end").merge("accept")
    assert "merge m1 while a view change ran" in sentence(story, "G6")


def held_until_its_limit(lasted_ns: int) -> Story:
    """a's roll call ends without a view after this time; b holds until its limit, and goes on with a."""
    limit_ns = 2_000 * MS
    story = Story("ab", resumer_ns=limit_ns).view("ab")
    call = {"id": "a#1|1/0.1"}
    asked = addresses("ab")
    story.event("a", Kind.SUSPEND, value=1, other=story.now_ns + 2 * limit_ns, detail={"cause": "view"})
    story.event("a", Kind.ROLL_CALL, detail={"step": "start", "asked": asked, "going": [], **call})
    story.event("b", Kind.ROLL_CALL, detail={"step": "promise", **call})
    release_ns = story.now_ns + limit_ns
    story.now_ns += lasted_ns
    story.event("a", Kind.ROLL_CALL, detail={"step": "end", "outcome": "cancelled", **call})
    story.event("a", Kind.RESUME, value=1, detail={"cause": "view-failed", "has_view": False, "cancelled": asked})
    story.now_ns = max(release_ns, story.now_ns)
    story.event("b", Kind.ROLL_CALL, detail={"step": "release", **call})
    return story.view("ab", 2)


def test_g7_a_holder_with_a_fast_clock_is_not_blamed_for_a_roll_call_as_long_as_its_limit() -> None:
    assert find(held_until_its_limit(1_990 * MS), "G7").verdict == "held"
    assert "no cancel was sent" in sentence(held_until_its_limit(1_900 * MS), "G7")
