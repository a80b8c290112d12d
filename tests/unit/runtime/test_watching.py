"""What somebody who watches a member is shown: many events made one, in their order, within a bound."""

import msgspec

from ringcast.model import Address, Event, Kind, ViewId
from ringcast.runtime.watching import MOST_EVENTS, Watch, as_event, as_row

A, B = Address("A", 1, "a"), Address("B", 1, "b")
VIEW = ViewId(3, A)


def test_runs_of_one_stream_become_one_run() -> None:
    watch = Watch()
    for first in (1, 6, 11):
        watch.append(Event(Kind.DELIVER, first, VIEW, B, 0, first, 5, first - 1, 2, 64))
    watch.append(Event(Kind.DELIVER, 20, VIEW, A, 0, 1, 1))
    (of_b, of_a) = watch.take()
    assert (of_b.first, of_b.count, of_b.t_ns, of_a.count) == (1, 15, 11, 1)
    assert watch.take() == []


def test_the_recorders_own_event_is_not_changed() -> None:
    watch, event = Watch(), Event(Kind.SEND, 1, VIEW, None, 0, 1, 5)
    watch.append(event)
    watch.append(Event(Kind.SEND, 2, VIEW, None, 0, 6, 5))
    assert event.count == 5


def test_the_last_purge_counts_and_acks_are_left_out() -> None:
    watch = Watch()
    for upto in (3, 9):
        watch.append(Event(Kind.ACK, upto, VIEW, B, value=upto))
        watch.append(Event(Kind.PURGE, upto, VIEW, value=upto))
    assert [(event.kind, event.value) for event in watch.take()] == [(Kind.PURGE, 9)]


def test_streams_and_kinds_are_kept_apart() -> None:
    watch = Watch()
    for kind in (Kind.SEND, Kind.DELIVER, Kind.REPAIR):
        for stream in (0, 1, 5):
            watch.append(Event(kind, 1, VIEW, B, stream, 1, 2))
    assert len(watch.take()) == 9


def test_what_changes_the_course_stands_behind_the_traffic_before_it() -> None:
    watch = Watch()
    watch.append(Event(Kind.SEND, 1, VIEW, None, 0, 1, 5))
    watch.append(Event(Kind.VIEW, 2, VIEW))
    watch.append(Event(Kind.SEND, 3, VIEW, None, 0, 6, 5))
    assert [event.kind for event in watch.take()] == [Kind.SEND, Kind.VIEW, Kind.SEND]


def test_who_does_not_keep_up_is_told_how_much_was_missed() -> None:
    watch = Watch()
    for number in range(MOST_EVENTS + 7):
        watch.append(Event(Kind.SUSPECT, number, VIEW, B))
    assert (len(watch.take()), watch.missed) == (MOST_EVENTS, 7)


def test_an_event_survives_the_way_to_the_watcher() -> None:
    event = Event(Kind.VIEW, 5, VIEW, B, 0, 1, 2, 3, 4, 5, {"members": [list(A), list(B)]})
    assert as_event(msgspec.json.decode(msgspec.json.encode(as_row(event)))) == event


def test_what_a_reader_was_handed_is_not_shown_one_by_one() -> None:
    watch = Watch()
    for number in range(10):
        watch.append(Event(Kind.HANDED, number, VIEW, B, 0, number + 1, 1))
    assert watch.take() == []
