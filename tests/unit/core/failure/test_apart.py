"""Links to excluded members: asked about until they are good, and no timer runs when there is none."""

from ringcast.core.control import AreYouThere
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import send_once
from ringcast.core.failure.apart import Apart
from ringcast.model import MS, SECOND, Address, ViewId

A, B = Address("A", 1, "mem:A"), Address("B", 1, "mem:B")
SHARED, LATER = ViewId(1, A), ViewId(2, B)


def with_link(until_ns: int = 60 * SECOND) -> tuple[Apart, Deadlines]:
    deadlines = Deadlines()
    apart = Apart(100 * MS, SECOND, deadlines.timer())
    apart.begin(0, B, SHARED, until_ns)
    return apart, deadlines


def test_a_bad_link_is_asked_about_once_per_interval() -> None:
    apart, deadlines = with_link()
    assert apart.on_time(0) == [send_once(B, AreYouThere())]
    assert deadlines.first_ns == 100 * MS


def test_a_link_is_good_when_every_question_was_answered_for_a_while_and_then_no_timer_runs() -> None:
    apart, deadlines = with_link()
    times = range(0, SECOND + 1, 100 * MS)
    assert [apart.on_answer(now_ns, B, LATER) for now_ns in times] == [False] * 10 + [True]
    assert deadlines.first_ns is None


def test_a_member_that_is_back_is_no_longer_asked_about_and_no_timer_runs() -> None:
    apart, deadlines = with_link()
    apart.end(B)
    assert not apart.links and deadlines.first_ns is None


def test_a_link_whose_delay_is_over_is_forgotten() -> None:
    apart, deadlines = with_link(until_ns=50 * MS)
    apart.on_time(0)
    assert apart.on_time(100 * MS) == []
    assert not apart.links and deadlines.first_ns is None
