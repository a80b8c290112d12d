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
from simulation import test_leaving, test_window_sizes
from unit.bus import test_inbox
from unit.core.failure import test_detector, test_largest_set, test_readmission
from unit.core.membership import test_joining, test_roll_call, test_suspicions
from unit.core.merge import test_leader, test_merges, test_merging
from unit.core.multicast import test_departed
from unit.core.ordering import test_settlement
from unit.core.reunion import test_sides
from unit.runtime import test_refused_frames, test_unsent
from unit.trace import test_recorder
from unit.transport import test_tcp_stall
from unit.transport.test_write_queue import drain, put

Probe = Callable[[Path], None]
TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "design" / "planted-bugs.md"
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


def _by(node: str) -> Probe:
    """A test with fixtures, run by pytest within this process."""

    def probe(tmp_path: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("RINGCAST_NOT_RUN", raising=False)  # What fails here on purpose is not for the closing list.
            assert pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", str(TESTS / node)]) == 0, node

    return probe


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
_MEMBERSHIP, _FAILURE = "ringcast.core.membership", "ringcast.core.failure"
_FRAMES_OUT, _OUTGOING = "ringcast.runtime.frames_out:FramesOut", "ringcast.transport.tcp_outgoing:Outgoing"
_INBOX, _SENDING = "ringcast.bus.inbox:Inbox", "ringcast.runtime.sending:Sending"
_STATE = "ringcast.core.state"
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
    Elsewhere(
        _bug(
            "a joiner asks itself, because others count it in",
            "ringcast.core.membership.joining:Joiner._coordinators",
            "if coordinator is not None and coordinator != self.me",
            "if coordinator is not None",
        ),
        "tests/unit/core/membership/test_joining.py",
        _alone(test_joining.test_a_joiner_that_others_take_for_their_coordinator_does_not_ask_itself),
    ),
    Elsewhere(
        _bug(
            "who leaves is not told the view without it",
            f"{_MEMBERSHIP}.view_change:ViewChange.spread",
            "also=leaving",
            "also=()",
        ),
        "tests/simulation/test_leaving.py",
        _alone(test_leaving.test_who_leaves_is_not_looked_for_as_one_who_was_lost),
    ),
    Elsewhere(
        _bug(
            "who leaves stays if somebody else dies",
            f"{_MEMBERSHIP}.roll_call:RollCall.staying",
            "m not in self.leaving",
            "(self.going or m not in self.leaving)",
        ),
        "tests/simulation/test_leaving.py",
        _alone(test_leaving.test_a_leaver_and_a_dead_member_go_in_one_view),
    ),
    Elsewhere(
        _bug(
            "who left is taken for lost",
            f"{_MEMBERSHIP}.view_change:ViewChange.compose",
            "left=tuple(m for m in self.roll_call.leaving if m not in members)",
            "left=()",
        ),
        "tests/simulation/test_leaving.py",
        _alone(test_leaving.test_who_leaves_is_not_looked_for_as_one_who_was_lost),
    ),
    Elsewhere(
        _bug(
            "who leaves is not asked how far it sent",
            f"{_MEMBERSHIP}.roll_call:RollCall.asked",
            "if m not in self.going and m != self.me",
            "if m not in (*self.going, *self.leaving) and m != self.me",
        ),
        "tests/simulation/test_leaving.py",
        _alone(lambda: test_leaving.test_what_a_leaver_sent_reaches_all_who_go_on_although_much_is_lost("B")),
    ),
    Elsewhere(
        _bug(
            "a socket that took a part of what it had refused is believed to have taken all",
            f"{_FRAMES_OUT}.on_writable",
            "for _ in range(taken):\n        self.backlog.popleft()",
            "self.backlog.clear()",
        ),
        "tests/unit/runtime/test_refused_frames.py",
        _alone(test_refused_frames.test_multicasts_that_were_refused_leave_first_whole_and_in_order),
    ),
    Elsewhere(
        _bug(
            "multicasts overtake those that the socket refused",
            f"{_FRAMES_OUT}._flush_frames",
            "if self.backlog:",
            "if False:",
        ),
        "tests/unit/runtime/test_refused_frames.py",
        _alone(test_refused_frames.test_multicasts_that_were_refused_leave_first_whole_and_in_order),
    ),
    Elsewhere(
        _bug(
            "the first multicast that the socket refused is lost",
            f"{_FRAMES_OUT}._flush_frames",
            "frames[taken:]",
            "frames[taken + 1 :]",
        ),
        "tests/unit/runtime/test_refused_frames.py",
        _alone(test_refused_frames.test_multicasts_that_were_refused_leave_first_whole_and_in_order),
    ),
    Elsewhere(
        _bug(
            "who waits for the socket is told before all has left",
            f"{_FRAMES_OUT}.on_writable",
            "return not self.backlog",
            "return True",
        ),
        "tests/unit/runtime/test_refused_frames.py",
        _alone(test_refused_frames.test_multicasts_that_were_refused_leave_first_whole_and_in_order),
    ),
    Elsewhere(
        _bug(
            "one peer that refuses delays all others",
            f"{_FRAMES_OUT}._send",
            "self.unsent.holds(to)",
            "True",
        ),
        "tests/unit/runtime/test_refused_frames.py",
        _alone(test_refused_frames.test_a_frame_to_one_peer_waits_behind_what_that_peer_refused_and_not_behind_others),
    ),
    Elsewhere(
        _bug(
            "a peer that stalled once is never served again",
            f"{_OUTGOING}._on_writable",
            "self._progress_at, self._is_stalled = self._dialer.loop.time(), False",
            "self._progress_at = self._dialer.loop.time()",
        ),
        "tests/unit/transport/test_tcp_stall.py",
        _alone(test_tcp_stall.test_who_takes_nothing_for_too_long_holds_nobody_back_until_it_takes_something),
    ),
    Elsewhere(
        _bug(
            "a slow peer is taken for one that stalled",
            f"{_OUTGOING}._on_writable",
            "self._progress_at, self._is_stalled = self._dialer.loop.time(), False",
            "self._is_stalled = False",
        ),
        "tests/unit/transport/test_tcp_stall.py",
        _alone(test_tcp_stall.test_who_takes_a_little_now_and_then_is_slow_and_not_stalled),
    ),
    Elsewhere(
        _bug(
            "a stall outlives its connection",
            f"{_OUTGOING}._let_go",
            "self._socket, self._names, self._up_since, self._is_stalled = None, None, None, False",
            "self._socket, self._names, self._up_since = None, None, None",
        ),
        "tests/unit/transport/test_tcp_stall.py",
        _alone(test_tcp_stall.test_a_stall_ends_with_its_connection),
    ),
    Elsewhere(
        _bug(
            "after a stall the caller is told when one peer has room",
            "ringcast.transport.tcp:TcpTransport._on_room",
            "if all(",
            "if any(",
        ),
        "tests/unit/transport/test_tcp_stall.py",
        _alone(test_tcp_stall.test_the_caller_is_told_of_room_when_all_peers_have_it),
    ),
    Elsewhere(
        _bug(
            "a roll call that fails cancels nothing",
            f"{_MEMBERSHIP}.roll_call:RollCall._cancels",
            "if member in self._asked_ever",
            "if False",
        ),
        "tests/unit/core/membership/test_roll_call.py",
        _alone(test_roll_call.test_the_end_without_a_view_cancels_all_who_were_ever_asked),
    ),
    Elsewhere(
        _bug(
            "one refusal in a merge is blamed on all who have not answered",
            f"{_MEMBERSHIP}.roll_call:RollCall.again",
            "self.digested(self.merge_id, dropped)",
            "self.digested(self.merge_id)",
        ),
        "tests/unit/core/membership/test_roll_call.py",
        _alone(test_roll_call.test_one_refusal_in_the_roll_call_of_a_merge_is_blamed_on_who_refuses_y15),
    ),
    Elsewhere(
        _bug(
            "a coordinator that slept past its limit still makes the view",
            f"{_MEMBERSHIP}.roll_call:RollCall._end_filling",
            "if now_ns < self.until_ns",
            "if True",
        ),
        "tests/unit/core/membership/test_roll_call.py",
        _alone(test_roll_call.test_a_coordinator_that_slept_past_the_limit_makes_no_view_of_late_answers),
    ),
    Elsewhere(
        _bug(
            "a coordinator does not count complaints about itself",
            f"{_FAILURE}.detector:FailureDetector.on_told",
            "self.heartbeats.heartbeat()))\n        self.complaints.on_complaint(now_ns, by, peer)",
            "self.heartbeats.heartbeat()))",
        ),
        "tests/unit/core/failure/test_detector.py",
        _alone(test_detector.test_a_coordinator_counts_complaints_about_itself_y13),
    ),
    Elsewhere(
        _bug(
            "who is silent to one is suspected, whoever else hears it",
            f"{_FAILURE}.detector:FailureDetector._await_answer",
            "doubt is Reason.SILENT and health.vouched_ns is not None",
            "False",
        ),
        "tests/unit/core/failure/test_detector.py",
        _alone(test_detector.test_a_member_that_others_hear_is_not_suspected_but_complained_about_y13),
    ),
    Elsewhere(
        _bug(
            "who alone complains excludes the other",
            f"{_FAILURE}.largest_set:_preference",
            "(member in observers, member in alone, rank[member])",
            "(member in observers, rank[member])",
        ),
        "tests/unit/core/failure/test_largest_set.py",
        _alone(test_largest_set.test_who_complains_alone_goes_itself),
    ),
    Elsewhere(
        _bug(
            "what a member says that is not heard here is not known",
            f"{_FAILURE}.rows:Rows.on_said",
            "not is_direct and is_heard(owner)",
            "not is_direct",
        ),
        "tests/unit/core/failure/test_detector.py",
        _alone(test_detector.test_a_row_of_a_member_that_is_not_heard_is_known_through_another),
    ),
    Elsewhere(
        _bug(
            "the word of a dead member keeps another out",
            f"{_FAILURE}.readmission:Readmission._longest_ns",
            "any(now_ns < until_ns for until_ns in held.causes.values())",
            "bool(held.causes)",
        ),
        "tests/unit/core/failure/test_readmission.py",
        _alone(test_readmission.test_the_word_of_a_member_that_is_no_longer_heard_keeps_nobody_out),
    ),
    Elsewhere(
        _bug(
            "a leader yields to a merge that it will refuse",
            "ringcast.core.merging:Merging._on_merge_req",
            "handler.would_follow_after_own",
            "True",
        ),
        "tests/unit/core/merge/test_merging.py",
        _alone(test_merging.test_a_leader_does_not_yield_while_work_waits_behind_its_merge),
    ),
    Elsewhere(
        _bug(
            "events are written behind a hole that could not be marked",
            f"{_RECORDER}._mark_hole",
            "return False",
            "return True",
        ),
        "tests/unit/trace/test_recorder.py",
        test_recorder.test_nothing_is_written_behind_a_hole_that_could_not_be_marked,
    ),
    Elsewhere(
        _bug(
            "a recording with a hole that is not marked ends in good order",
            f"{_RECORDER}._finish",
            "if self._mark_hole():",
            "if True:",
        ),
        "tests/unit/trace/test_recorder.py",
        test_recorder.test_a_recording_whose_last_hole_could_not_be_marked_does_not_end_in_good_order,
    ),
    Elsewhere(
        _bug(
            "a list that finds no room counts as one event",
            f"{_RECORDER}.extend",
            "self._refused += sum(1 for _ in events)",
            "self._refused += 1",
        ),
        "tests/unit/trace/test_recorder.py",
        test_recorder.test_of_a_list_that_finds_no_room_every_event_is_counted,
    ),
    Elsewhere(
        _bug(
            "a ring takes one word more than it has",
            f"{_INBOX}.has_room",
            "<= self._ring_bytes",
            "<= self._ring_bytes + 8",
        ),
        "tests/unit/bus/test_inbox.py",
        _alone(test_inbox.test_a_ring_is_filled_to_its_last_byte_and_takes_nothing_more),
    ),
    Elsewhere(
        _bug(
            "a batch that was aborted keeps its room in the ring",
            f"{_INBOX}.abort",
            "self._used[sender] -= size",
            "pass",
        ),
        "tests/unit/bus/test_inbox.py",
        _alone(test_inbox.test_a_batch_that_is_aborted_gives_its_room_back),
    ),
    Elsewhere(
        _bug(
            "the room of a batch comes back with its first message",
            f"{_INBOX}._from_open",
            "if done + len(part) == len(batch.payloads):",
            "if done == 0:",
        ),
        "tests/unit/bus/test_inbox.py",
        _alone(test_inbox.test_room_comes_back_with_the_last_message_of_a_batch_and_not_before),
    ),
    Elsewhere(
        _bug(
            "the head of a frame is forgotten when a batch is cut",
            "ringcast.bus.inbox:ticks",
            "ring_bytes // 2 - FRAME_BYTES",
            "ring_bytes // 2",
        ),
        "tests/unit/bus/test_inbox.py",
        _alone(test_inbox.test_a_long_batch_is_cut_into_parts_that_fit_half_a_ring),
    ),
    Elsewhere(
        _bug(
            "a flush that waits when the place is lost waits on in the next",
            f"{_SENDING}.expel",
            "self._flushing.expel(unknown)",
            "pass",
        ),
        "tests/unit/runtime/test_sending.py",
        _by(
            "unit/runtime/test_sending.py::test_whoever_waits_when_the_place_is_lost_is_told_whether_its_message_was_sent"
        ),
    ),
    Elsewhere(
        _bug(
            "after a rejoin a flush says nothing of what was not acked",
            f"{_SENDING}.expel",
            "if self._has_unacked:",
            "if False:",
        ),
        "tests/unit/runtime/test_sending.py",
        _by(
            "unit/runtime/test_sending.py::test_what_was_accepted_and_had_not_left_is_never_sent_by_the_next_incarnation_and_flush_says_so"
        ),
    ),
    Elsewhere(
        _bug(
            "what had not left is sent by the next incarnation",
            f"{_SENDING}.expel",
            "self.turn.outbox.clear()",
            "pass",
        ),
        "tests/unit/runtime/test_sending.py",
        _by(
            "unit/runtime/test_sending.py::test_what_was_accepted_and_had_not_left_is_never_sent_by_the_next_incarnation_and_flush_says_so"
        ),
    ),
    Elsewhere(
        _bug(
            "who comes back is not told that it lost its place",
            "ringcast.runtime.group:Group._come_back",
            "self._reading.keep(Rejoin(self.me, why))",
            "pass",
        ),
        "tests/unit/runtime/test_join.py",
        _by("unit/runtime/test_join.py::test_with_rejoin_an_excluded_member_comes_back_as_a_new_incarnation"),
    ),
    Elsewhere(
        _bug(
            "parts of an earlier merge count for a side",
            f"{_STATE}.merging:StateMerging.awaits_side",
            " or self.reunion.view.number != number",
            "",
        ),
        "tests/unit/core/reunion/test_sides.py",
        _alone(test_sides.test_the_merger_takes_the_parts_of_this_merge_from_the_givers_only),
    ),
    Elsewhere(
        _bug(
            "a side that could not be given counts as whole",
            f"{_STATE}.merging:StateMerging.on_side_over",
            "if error is not None:",
            "if False:",
        ),
        "tests/unit/core/reunion/test_sides.py",
        _alone(test_sides.test_a_side_that_could_not_be_given_keeps_the_states_apart),
    ),
    Elsewhere(
        _bug(
            "a reunion that begins anew takes the sides of before for whole",
            f"{_STATE}.merging:StateMerging._begin",
            "self._whole.clear()",
            "pass",
        ),
        "tests/unit/core/reunion/test_sides.py",
        _alone(test_sides.test_a_side_that_begins_anew_is_awaited_again),
    ),
    Elsewhere(
        _bug(
            "a merged state counts while a roll call holds",
            f"{_STATE}.merging:StateMerging.on_free",
            " or self._is_held()",
            "",
        ),
        "tests/unit/core/reunion/test_sides.py",
        _alone(test_sides.test_a_merged_state_counts_when_no_roll_call_holds),
    ),
    Elsewhere(
        _bug(
            "parts of an earlier view count for a joiner",
            f"{_STATE}.chunks:StateChunks._is_awaited",
            " and getting.view.number == number",
            "",
        ),
        "tests/unit/core/reunion/test_sides.py",
        _alone(test_sides.test_a_joiner_takes_parts_of_its_provider_cut_at_its_view_only),
    ),
    Elsewhere(
        _bug(
            "a rule lets a number come twice in a sender's order",
            f"{_RULES}.g11_local_order:_grows",
            "piece.first[at[1:]] <= before[:-1]",
            "piece.first[at[1:]] < before[:-1]",
        ),
        "tests/pipeline/test_falsified.py",
        _told("one message with two places in the order"),
    ),
    Elsewhere(
        _bug(
            "a view does not wait for what is forwarded of a dead sender",
            "ringcast.core.ordering.settlement:Settling.is_settled",
            "batch.payloads is not None or not batch.to & bit for _, batch in self.plan.placed",
            "True for _, batch in self.plan.placed",
        ),
        "tests/unit/core/ordering/test_settlement.py",
        _alone(test_settlement.test_a_view_waits_until_what_is_forwarded_has_come),
    ),
    Elsewhere(
        _bug(
            "a roll call that ends without a view leaves the order held",
            "ringcast.core.ordering.ordering:Ordering.release",
            "self.is_held, self.settling = False, None",
            "self.settling = None",
        ),
        "tests/unit/core/ordering/test_settlement.py",
        _alone(test_settlement.test_a_roll_call_that_ends_without_a_view_leaves_everything_as_it_was),
    ),
    Elsewhere(
        _bug(
            "who went on without a member stays suspected when it comes back",
            f"{_MEMBERSHIP}.suspicions:Suspicions.on_view",
            "if m in view and m in suspected",
            "if m in view",
        ),
        "tests/unit/core/membership/test_suspicions.py",
        _alone(test_suspicions.test_a_view_settles_all_but_what_the_failure_detector_still_suspects_y14),
    ),
    Elsewhere(
        _bug(
            "a suspicion is never withdrawn",
            f"{_MEMBERSHIP}.suspicions:Suspicions.withdraw",
            "if member not in self.final:",
            "if False:",
        ),
        "tests/unit/core/membership/test_suspicions.py",
        _alone(test_suspicions.test_what_the_failure_detector_raised_it_withdraws),
    ),
    Elsewhere(
        _bug(
            "what members that are gone had sent is forgotten at once",
            "ringcast.core.multicast.departed:Departed.on_view",
            "dict.fromkeys(m for m in view.members if m != me), []",
            "{}, []",
        ),
        "tests/unit/core/multicast/test_departed.py",
        _alone(test_departed.test_it_is_kept_until_everybody_has_shown_the_view),
    ),
    Elsewhere(
        _bug(
            "the window of a joiner is not agreed on",
            f"{_MEMBERSHIP}.view_change:ViewChange.compose",
            "min([complete.capacity, *(join.capacity for join in self.joiners.values())])",
            "complete.capacity",
        ),
        "tests/simulation/test_window_sizes.py",
        _alone(test_window_sizes.test_a_view_agrees_on_the_smallest_windows_of_all_who_are_in_it),
    ),
    Elsewhere(
        _bug(
            "the bound in bytes of a joiner is not agreed on",
            f"{_MEMBERSHIP}.view_change:ViewChange.compose",
            "min([complete.window_bytes, *(join.window_bytes for join in self.joiners.values())])",
            "complete.window_bytes",
        ),
        "tests/simulation/test_window_sizes.py",
        _alone(test_window_sizes.test_a_view_agrees_on_the_smallest_windows_of_all_who_are_in_it),
    ),
    Elsewhere(
        _bug(
            "one dead target of an SRV name ends the look-up of all",
            "ringcast.runtime.discovery.dns:DnsDiscovery._service",
            "if isinstance(answer, TransportError):",
            "if False:",
        ),
        "tests/unit/runtime/test_discovery.py",
        _by("unit/runtime/test_discovery.py::test_a_dead_srv_target_among_three_leaves_the_others"),
    ),
    Elsewhere(
        _bug(
            "nobody is warned that two sides of a merge speak for one member",
            "ringcast.core.merge.leader:MergeLeader._consolidate",
            "if who else []",
            "if False else []",
        ),
        "tests/unit/core/merge/test_leader.py",
        _alone(test_leader.test_overlap_is_warned_of_and_takes_the_maximum),
    ),
    Elsewhere(
        _bug(
            "a coordinator that leaves a member out of its answer is believed",
            "ringcast.core.merge.leader:_mismatch",
            "if omitted and sender not in party.view.observers:",
            "if False:",
        ),
        "tests/unit/core/merge/test_leader.py",
        _alone(
            lambda: test_leader.test_a_coordinator_that_answers_for_others_than_it_was_asked_for_is_not_believed_g9(
                "C10", "C#0 was asked for C#0, D#0, and says nothing of D#0"
            )
        ),
    ),
    Elsewhere(
        _bug(
            "an old suspicion of a merge leader ends its merge",
            f"{_MEMBERSHIP}.coordinator:Coordinator.on_suspects",
            "if member != self.handler.merge_leader:",
            "if True:",
        ),
        "tests/unit/core/merge/test_merges.py",
        _alone(test_merges.test_an_older_suspicion_of_a_merge_leader_that_lives_does_not_end_its_merge),
    ),
    Elsewhere(
        _bug(
            "each attempt proposes a primary view of its own, and waits for its own write to the mark file",
            f"{_MEMBERSHIP}.roll_call:RollCall._propose",
            "self.primary = self._proposed_before()",
            "self.primary = None",
        ),
        "tests/unit/core/membership/test_roll_call.py",
        _alone(test_roll_call.test_the_same_primary_view_keeps_its_id_over_attempts_and_roll_calls),
    ),
    Elsewhere(
        _bug(
            "a member whose disk stands still for a moment is taken for silent",
            f"{_MEMBERSHIP}.roll_call:RollCall.on_time",
            "if 0 < self._storing_ns(m) < self.config.resumer_ns",
            "if False",
        ),
        "tests/unit/core/membership/test_roll_call.py",
        _alone(test_roll_call.test_who_waits_for_its_disk_is_not_silent_but_who_does_not_fill_up_twice_is),
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
