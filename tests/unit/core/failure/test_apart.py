"""A link to an excluded member is good when every question was answered for a while; no heartbeat of before counts."""

from __future__ import annotations

from ringcast.core.control import AreYouThere, AskEcho
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import send_once
from ringcast.core.failure.apart import MOST, Apart
from ringcast.model import Address, ViewId

A, X = Address("A", 0, "A:1"), Address("X", 0, "X:1")
SHARED, LATER = ViewId(3, A), ViewId(4, X)
INTERVAL_NS, CALM_NS, UNTIL_NS = 5, 20, 1000


def apart() -> Apart:
    asking = Apart(INTERVAL_NS, CALM_NS, Deadlines().timer())
    asking.begin(0, X, SHARED, UNTIL_NS)
    return asking


def test_the_other_end_is_asked_once_per_interval_until_its_delay_is_over() -> None:
    asking = apart()
    assert asking.on_time(0) == [send_once(X, AskEcho())]
    assert asking.on_time(4) == []
    assert asking.on_time(5) == [send_once(X, AreYouThere())]
    assert asking.on_time(10) == [send_once(X, AskEcho())]
    assert asking.on_time(UNTIL_NS) == [] and not asking.links


def test_once_it_has_answered_only_what_it_answers_is_asked() -> None:
    echoes, beats = apart(), apart()
    echoes.on_echo(1, X)
    beats.on_heartbeat(1, X, LATER)
    for now_ns in (1, 6, 11):
        assert echoes.on_time(now_ns) == [send_once(X, AskEcho())]
        assert beats.on_time(now_ns) == [send_once(X, AreYouThere())]


def test_a_link_that_answered_for_the_whole_time_is_good() -> None:
    asking = apart()
    found = [asking.on_echo(now_ns, X) for now_ns in range(100, 125, 5)]
    assert found == [False, False, False, False, True]
    assert not asking.links


def test_an_answer_that_is_missing_begins_the_time_anew() -> None:
    asking = apart()
    assert not any(asking.on_echo(now_ns, X) for now_ns in (100, 105, 110, 120, 125, 130, 135))
    assert asking.on_echo(140, X)


def test_a_heartbeat_counts_in_a_view_that_came_after_the_shared_one() -> None:
    asking = apart()
    assert not any(asking.on_heartbeat(now_ns, X, view) for now_ns in range(0, 100, 5) for view in (None, SHARED))
    assert [asking.on_heartbeat(now_ns, X, LATER) for now_ns in range(100, 125, 5)][-1]


def test_what_a_stranger_says_is_nothing_and_the_number_of_links_is_bounded() -> None:
    asking = apart()
    assert not asking.on_echo(1, A) and not asking.on_heartbeat(1, A, LATER)
    for number in range(2 * MOST):
        asking.begin(0, Address(f"m{number}", 0, f"m:{number}"), SHARED, UNTIL_NS)
    assert len(asking.links) == MOST


def test_no_timer_runs_when_there_is_no_link_to_ask_about() -> None:
    deadlines = Deadlines()
    asking = Apart(INTERVAL_NS, CALM_NS, deadlines.timer())
    asking.begin(0, X, SHARED, UNTIL_NS)
    asking.on_time(0)
    asking.end(X)
    assert not asking.links and deadlines.first_ns is None
    asking.begin(100, X, SHARED, UNTIL_NS)
    assert [asking.on_echo(now_ns, X) for now_ns in range(100, 125, 5)][-1]
    assert not asking.links and deadlines.first_ns is None


def test_of_many_links_few_are_asked_about_at_once_and_each_in_its_turn() -> None:
    asking = Apart(INTERVAL_NS, CALM_NS, Deadlines().timer())
    peers = [Address(f"m{number}", 0, f"m:{number}") for number in range(5)]
    for peer in peers:
        asking.begin(0, peer, SHARED, UNTIL_NS)
    asked = [[order.to for order in asking.on_time(now_ns)] for now_ns in (0, 5, 10)]
    assert asked == [peers[:2], peers[2:4], [peers[4], peers[0]]]
