"""Known mistakes outside the simulated world, each planted as those of `sim/planted`, and what must notice it.

Simulated transports refuse nothing, no disk is full in virtual time, and rules judge recordings: here a test of that
room is the judge. A row of docs/design/planted-bugs.md names it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.falsified import FALSIFIED
from pipeline.test_truth import both, violated
from ringcast.bus import LocalBus
from ringcast.bus.inbox import longest
from ringcast.sim.planted import Planted
from ringcast.transport.write_queue import WriteQueue
from unit.runtime import test_unsent
from unit.trace import test_recorder
from unit.transport.test_write_queue import drain, put

Probe = Callable[[Path], None]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "design" / "planted-bugs.md"
BEGIN, END = "<!-- elsewhere: begin -->", "<!-- elsewhere: end -->"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """`probe` holds without the mistake and raises with it; `by` is where it stands."""

    bug: Planted
    by: str
    probe: Probe


def _bug(name: str, target: str, right: str, wrong: str) -> Planted:
    return Planted(name, "test", target, right, wrong, seeds=1)


def _what_a_full_socket_left_follows(tmp_path: Path) -> None:
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        other.setblocking(False)
        queue, received = WriteQueue(), b""
        sent = put(queue, [b"%06d" % number * 50_000 for number in range(4)])
        for _ in range(40):
            queue.write(one)
            received += drain(other)
        assert (received, queue.held_bytes) == (sent, 0)


def _with_disk(test: Callable[[Path, pytest.MonkeyPatch], None]) -> Probe:
    def probe(tmp_path: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            test(tmp_path, patch)

    return probe


def _alone(test: Callable[[], None]) -> Probe:
    return lambda tmp_path: test()


def _told(name: str) -> Probe:
    """Rules and checkers say the same of a told story, and name its lie."""

    def probe(tmp_path: Path) -> None:
        one = next(one for one in FALSIFIED if one.name == name)
        assert violated(both(tmp_path / "true", one.tell(False))) == []
        assert one.guarantee in violated(both(tmp_path / "false", one.tell(True)))

    return probe


def _a_ring_is_filled_to_its_last_byte(tmp_path: Path) -> None:
    with LocalBus.open("planted", ring_bytes=4096, max_peers=2) as bus:
        a, b = bus.attach("a"), bus.attach("b")
        a.queue(bytes(longest(4096)), to=["b"], timeout=0)
        assert len(b.dequeue_many(timeout=0)) == 1


_UNSENT, _QUEUE = "ringcast.runtime.unsent:Unsent", "ringcast.transport.write_queue:WriteQueue"
_RECORDER, _RULES = "ringcast.trace.threaded:ThreadedRecorder", "ringcast.pipeline.rules"
_FULL_DISK = _with_disk(test_recorder.test_a_full_disk_is_counted_and_leaves_a_marked_hole)

ELSEWHERE = (
    Elsewhere(
        _bug("frames overtake one that the transport refused", f"{_UNSENT}.holds", "to in self._by_peer", "False"),
        "tests/unit/runtime/test_unsent.py",
        _alone(test_unsent.test_a_peer_that_takes_nothing_delays_nobody_else),
    ),
    Elsewhere(
        _bug("what a peer refuses is forgotten with what it took", f"{_UNSENT}.offer", "if not frames:", "if True:"),
        "tests/unit/runtime/test_unsent.py",
        _alone(test_unsent.test_frames_to_one_peer_leave_in_order_and_the_rest_waits),
    ),
    Elsewhere(
        _bug("refused frames pile up without an end", f"{_UNSENT}.put", "if self.count >= self.capacity:", "if False:"),
        "tests/unit/runtime/test_unsent.py",
        _alone(test_unsent.test_beyond_the_capacity_nothing_is_kept),
    ),
    Elsewhere(
        _bug(
            "after a stall a frame is written from its beginning again",
            f"{_QUEUE}._forget",
            "memoryview(buffer)[sent:]",
            "memoryview(buffer)",
        ),
        "tests/unit/transport/test_write_queue.py",
        _what_a_full_socket_left_follows,
    ),
    Elsewhere(
        _bug(
            "a frame that a full socket took in part is left out",
            f"{_QUEUE}._forget",
            "self._buffers[0] = memoryview(buffer)[sent:]",
            "self._buffers.popleft()",
        ),
        "tests/unit/transport/test_write_queue.py",
        _what_a_full_socket_left_follows,
    ),
    Elsewhere(
        _bug(
            "what was lost on a full disk is not marked",
            f"{_RECORDER}._mark_hole",
            "self._writer.write_lost(dropped - self._told)",
            "pass",
        ),
        "tests/unit/trace/test_recorder.py",
        _FULL_DISK,
    ),
    Elsewhere(
        _bug(
            "of what finds no room on the disk only the last batch is counted",
            f"{_RECORDER}._lose",
            "+= count",
            "= count",
        ),
        "tests/unit/trace/test_recorder.py",
        test_recorder.test_the_size_of_a_recording_is_bounded,
    ),
    Elsewhere(
        _bug(
            "a ring is never filled to its last byte",
            "ringcast.bus.inbox:Inbox.has_room",
            "<= self._ring_bytes",
            "< self._ring_bytes",
        ),
        "tests/unit/bus/test_contract.py",
        _a_ring_is_filled_to_its_last_byte,
    ),
    Elsewhere(
        _bug(
            "a rule takes a message with two places for one",
            f"{_RULES}.g12_one_order:_once",
            "if ident in seen:",
            "if False:",
        ),
        "tests/pipeline/test_falsified.py",
        _told("one message with two places in the order"),
    ),
)


def rows() -> str:
    """The table in Markdown."""
    lines = [f"| {one.bug.name} | `{one.by}` | `{one.bug.target.rpartition(':')[2]}` |" for one in ELSEWHERE]
    return "\n".join(["| bug | caught by | replaced |", "|---|---|---|", *lines])


def main() -> None:
    """Write the table into its page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{rows()}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
