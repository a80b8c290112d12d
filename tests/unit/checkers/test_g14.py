"""G14 is broken in each way it can be, and found each time."""

from ringcast.checkers import Finding, judge
from ringcast.model import Kind
from ringcast.trace.story import MS, Story, addresses

SECOND = 1000 * MS


class Tale(Story):
    def wait(self, what: str, number: int = 1, limit_ns: int = 0) -> "Tale":
        self.event("a", Kind.WAIT_START, value=number, other=limit_ns, detail={"what": what})
        return self

    def done(self, number: int = 1) -> "Tale":
        self.event("a", Kind.WAIT_END, value=number, detail={"how": "done"})
        return self

    def later(self, seconds: int) -> "Tale":
        self.now_ns += seconds * SECOND
        return self

    def healed(self, bound_s: int = 10) -> "Tale":
        self.event("a", Kind.FAULT, detail={"what": "cut"})
        self.event("a", Kind.HEAL, value=bound_s * SECOND)
        return self


def find(story: Story) -> Finding:
    return judge(story.recordings()).findings["G14"]


def sentence(story: Story) -> str:
    finding = find(story)
    assert finding.verdict == "violated", finding
    return finding.violations[0].sentence


def pair() -> Tale:
    story = Tale("ab")
    story.view("ab")
    return story


def test_waits_that_end_and_one_view_are_held() -> None:
    finding = find(pair().wait("send").healed().done().later(20))
    assert (finding.verdict, finding.examined) == ("held", 3)


def test_a_send_that_waits_for_ever_is_found() -> None:
    assert "still waited for send 10.0 s" in sentence(pair().wait("send").healed().later(20))


def test_a_wait_that_ends_too_late_is_found() -> None:
    assert "still waited for send" in sentence(pair().wait("send").healed().later(11).done().later(20))


def test_a_wait_that_began_near_the_end_has_its_time() -> None:
    assert find(pair().healed().later(15).wait("send").later(2)).verdict == "held"


def test_two_views_long_after_the_heal_are_found() -> None:
    story = pair().healed()
    story.view("a", 2).view("b", 2)
    assert "b#1 ended in b#1|2 and a#1 in a#1|2" in sentence(story.later(20))


def test_a_view_that_does_not_stay_is_found() -> None:
    story = pair().healed().later(12)
    story.view("ab", 2)
    assert "still changed to a#1|2" in sentence(story.later(3))


def test_what_happens_when_members_begin_to_leave_is_not_judged() -> None:
    story = pair().healed().later(12).wait("leave", limit_ns=60 * SECOND)
    story.view("b", 2)
    assert find(story.done()).verdict == "held"


def test_without_a_heal_it_is_unjudged() -> None:
    finding = find(pair().wait("send").done())
    assert finding.verdict == "unjudged" and finding.missing == ["no HEAL was recorded"]


def test_a_fault_after_the_heal_leaves_it_unjudged() -> None:
    story = pair().healed().later(1)
    assert find(story.event("a", Kind.FAULT, detail={"what": "cut"})).verdict == "unjudged"


def test_of_two_heals_at_one_moment_the_last_one_counts() -> None:
    """The harness ends what it injected, then says that all is healed and within which bound: at the same moment."""
    story = pair()
    story.event("a", Kind.HEAL, value=0, detail={"what": "freeze"})
    story.now_ns -= MS
    story.event("a", Kind.HEAL, value=10 * SECOND, detail={"what": "all"})
    assert find(story.later(20)).verdict == "held"


def test_a_recording_that_ends_too_early_leaves_it_unjudged() -> None:
    assert find(pair().healed().later(3)).verdict == "unjudged"


def stopped(story: Tale, name: str, seconds: int) -> Tale:
    """A process did not run for so long, until now."""
    story.event("a", Kind.HEAL, peer=name, other=story.now_ns - seconds * SECOND)
    return story


def test_a_process_that_was_stopped_ends_its_waits_when_it_runs_again() -> None:
    """Seed 916: the limit of a leave passed while the process that leaves was frozen."""
    assert find(stopped(pair().wait("leave", limit_ns=SECOND).later(8), "a", 8).done()).violations == []


def test_a_stopped_process_is_not_excused_for_ever_and_no_other_one_is() -> None:
    assert "beyond its own limit" in sentence(
        stopped(pair().wait("leave", limit_ns=SECOND).later(8), "a", 8).later(2).done()
    )
    assert "beyond its own limit" in sentence(stopped(pair().wait("leave", limit_ns=SECOND).later(8), "b", 8).done())


def test_a_wait_beyond_its_own_limit_is_found_also_without_a_heal() -> None:
    assert "2.0 s beyond its own limit" in sentence(pair().wait("join", limit_ns=SECOND).later(3).done())


def test_only_a_send_may_wait_without_a_limit() -> None:
    assert "waits for join without a limit" in sentence(pair().wait("join").done())


# ---- only observers live


def with_the_dead(observers: str) -> Tale:
    """c has ended before the heal, and stays in the view of a and b."""
    story = Tale("abc")
    story.view("abc", observers=addresses(observers))
    story.recorders["c"].close(story.now_ns, "crashed")
    return story.healed().later(20)


def test_where_only_observers_live_the_dead_may_stay_in_their_view() -> None:
    assert find(with_the_dead("ab")).verdict == "held"
    assert "ended in a#1|1 with c#1" in sentence(with_the_dead("a"))


def test_where_only_observers_live_they_may_hold_different_views_but_their_waits_end() -> None:
    story = Tale("abc")
    story.view("abc", observers=addresses("ab"))
    story.view("ac", 2, at="a", observers=addresses("a"))
    story.wait("send").healed().later(20)
    story.recorders["c"].close(0, "crashed")
    assert "still waited for send" in sentence(story)
