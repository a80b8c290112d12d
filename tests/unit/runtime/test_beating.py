"""All groups of a process share one thread for their heartbeats, each at its own interval; none waits for another."""

from __future__ import annotations

import os
import threading
import time

import pytest

from ringcast.runtime import beating


class One:
    """Counts its beats; may take long over one, or fail."""

    def __init__(self, interval: float = 1e6, *, fails: bool = False) -> None:
        self.interval = interval
        self.is_over = False
        self.beats: list[str] = []  # by which thread
        self.fails = fails
        self.changed = threading.Condition()
        self.hold = threading.Event()
        self.hold.set()

    def beat(self) -> None:
        with self.changed:
            self.beats.append(threading.current_thread().name)
            self.changed.notify_all()
        self.hold.wait()
        if self.fails:
            raise ValueError("a mistake")

    def until(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.beats) >= count, 30)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "ringcast heartbeats"]


def end(one: One) -> None:
    one.is_over = True
    beating.end(one)


def test_fifty_groups_have_one_thread_which_ends_with_the_last_of_them() -> None:
    all_of_them = [One(0.001 * (1 + number % 5)) for number in range(50)]
    for one in all_of_them:
        beating.begin(one)
    for one in all_of_them:
        one.until(3)
    assert len(threads()) == 1
    for one in all_of_them[1:]:
        end(one)
    assert len(threads()) == 1
    end(all_of_them[0])
    assert threads() == []


def test_to_begin_again_is_a_beat_at_once_and_no_second_row_of_them() -> None:
    one = One()
    for count in (1, 2, 3):
        beating.begin(one)
        one.until(count)
    assert beating._here is not None
    with beating._here._changed:
        assert beating._here._changed.wait_for(lambda: beating._here is not None and beating._here._now is None, 30)
        assert len(beating._here._due) == 1
    end(one)
    assert len(one.beats) == 3


def test_when_it_has_ended_nothing_is_beaten_any_more() -> None:
    one, other = One(), One()
    one.hold.clear()
    beating.begin(other)
    beating.begin(one)
    one.until(1)  # it is in the middle of one
    ending = threading.Thread(target=end, args=(one,))
    ending.start()
    time.sleep(0.01)
    assert ending.is_alive()
    one.hold.set()
    ending.join(30)
    assert not ending.is_alive()
    beats = len(one.beats)
    beating.begin(other)
    other.until(2)
    assert len(one.beats) == beats == 1
    end(other)


def test_one_that_fails_does_not_silence_the_others(caplog: pytest.LogCaptureFixture) -> None:
    bad, good = One(0.001, fails=True), One(0.001)
    beating.begin(bad)
    beating.begin(good)
    good.until(5)
    bad.until(5)
    end(bad)
    end(good)
    assert "a heartbeat could not be sent" in caplog.text


def test_one_whose_loop_was_closed_is_left_out_and_the_thread_ends() -> None:
    one = One(0.001)
    beating.begin(one)
    one.until(1)
    one.is_over = True
    until = time.monotonic() + 30
    while threads():
        assert time.monotonic() < until
        time.sleep(0.001)
    beating.end(one)


def test_a_child_of_a_fork_begins_with_a_thread_of_its_own() -> None:
    one = One(0.001)
    beating.begin(one)
    one.until(1)
    child = os.fork()
    if child == 0:
        mine = One(0.001)
        beating.begin(mine)
        mine.until(2)
        end(mine)
        os._exit(0 if threads() == [] else 1)
    assert os.waitpid(child, 0)[1] == 0
    end(one)
