"""What a simulated process waits for: each wait has a number, and ends once."""

from ringcast.model import Event, Kind
from ringcast.sim.waits import Waits


def test_each_wait_has_a_number_of_its_own_and_ends_under_it() -> None:
    waits = Waits()
    assert waits.start(5, "join", 65) == Event(Kind.WAIT_START, 5, value=1, other=65, detail={"what": "join"})
    assert waits.start(6, "send") == Event(Kind.WAIT_START, 6, value=2, other=0, detail={"what": "send"})
    assert waits.end(7, "join", "done") == [Event(Kind.WAIT_END, 7, value=1, detail={"how": "done"})]
    assert "join" not in waits and "send" in waits


def test_a_wait_that_nobody_began_does_not_end() -> None:
    assert Waits().end(1, "leave", "done") == []


def test_whoever_still_waits_when_the_process_ends_waits_no_longer() -> None:
    waits = Waits()
    waits.start(1, "join")
    waits.start(2, "send")
    assert [event.value for event in waits.end_all(3, "closed")] == [1, 2]
    assert waits.end_all(4, "closed") == []
