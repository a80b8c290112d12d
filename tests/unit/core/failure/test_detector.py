"""One member's detector: questions before suspicion, reasons and what clears them, level-triggering, own sleep."""

from typing import Any

from ringcast.core.control import AreYouThere, AskAbout, Heard, Heartbeat, Row, Suspicion, Unheard
from ringcast.core.deadlines import Deadlines
from ringcast.core.effects import Beat, Unicast, send_once
from ringcast.core.failure import FailureDetector, Reason, watched
from ringcast.core.failure.rows import Rows, Words
from ringcast.core.steps import Then
from ringcast.model import MS, SECOND, Address, Config, Event, Kind, View, ViewId
from ringcast.wire import encode_control
from unit.core.calls import carried_out, neighbour, with_calls_made

A, B, C, D, E, X = (Address(name, 0, f"{name}:1") for name in "ABCDEX")
CONFIG = Config()


def view_of(*members: Address, number: int = 1, observers: tuple[Address, ...] = ()) -> View:
    return View(ViewId(number, members[0]), members, observers)


def detector_of(me: Address, **options: Any) -> Any:
    """What it finds is called at a stand-in, and so stands in the lists that it returns."""
    return with_calls_made(FailureDetector(me, CONFIG, neighbour(), **options))


def on_suspected(peer: Address, reason: Reason, tell: tuple[Address, ...]) -> tuple[object, ...]:
    return ("on_suspected", peer, reason, tell)


def on_cleared(peer: Address) -> tuple[object, ...]:
    return ("on_cleared", peer)


def suspicions(found: list[Any]) -> list[Any]:
    return [step for step in found if isinstance(step, tuple) and step[0] == "on_suspected"]


class Clock:
    """Drives one detector exactly at its deadlines; `keep` are heard every 100 ms, with progress.

    Rows, which are said again and again while anybody is not heard, are kept apart, in `rows`.
    """

    def __init__(self, me: Address, *members: Address) -> None:
        self.detector = detector_of(me)
        self.rows: list[tuple[int, Address, Unheard]] = []
        self.now_ns = 0
        self.detector.on_view(0, view_of(*members))

    def run(self, length_ns: int, *keep: Address, stalled: tuple[Address, ...] = ()) -> list[tuple[int, Any]]:
        out: list[tuple[int, Any]] = []
        until = self.now_ns + length_ns
        while self.now_ns < until:
            deadline = self.detector.timer.at_ns
            beat = (self.now_ns // (100 * MS) + 1) * 100 * MS
            self.now_ns = min(until, beat, until if deadline is None else deadline)
            found: list[Any] = []
            if self.now_ns == beat:
                for peer in keep:
                    found += self.detector.on_heartbeat(self.now_ns, peer, self.now_ns)
                for peer in stalled:
                    found += self.detector.on_heartbeat(self.now_ns, peer, 0)
            found += self.detector.on_time(self.now_ns)
            for decision in found:
                if isinstance(decision, Unicast) and isinstance(decision.packet.message, Unheard):
                    self.rows.append((self.now_ns, decision.to, decision.packet.message))
                elif not isinstance(decision, Event):
                    out.append((self.now_ns, decision))
        return out


def test_silence_is_followed_by_a_question_and_only_then_by_suspicion() -> None:
    clock = Clock(A, A, B, C)
    assert clock.run(4 * SECOND, C) == [
        (2 * SECOND, send_once(B, AreYouThere())),
        (2 * SECOND + 375 * MS + 1, send_once(B, AreYouThere())),
        (2 * SECOND + 375 * MS + 1, send_once(C, AskAbout(B))),
        (2 * SECOND + 750 * MS, on_suspected(B, Reason.SILENT, (C,))),
        (3 * SECOND + 750 * MS, on_suspected(B, Reason.SILENT, ())),
        (3 * SECOND + 750 * MS, send_once(B, AreYouThere())),
    ]
    assert clock.detector.suspects == (B,)


def test_an_answer_to_the_question_ends_the_doubt() -> None:
    clock = Clock(A, A, B)
    assert clock.run(2 * SECOND) == [(2 * SECOND, send_once(B, AreYouThere()))]
    assert clock.detector.on_heartbeat(clock.now_ns, B, 1) == []
    assert clock.run(1 * SECOND) == []


def test_any_packet_counts_as_heard() -> None:
    clock = Clock(A, A, B)
    clock.run(1900 * MS)
    assert clock.detector.on_heard(clock.now_ns, B) == []
    assert clock.run(1900 * MS) == []


def test_suspicion_is_raised_again_until_a_view_excludes_the_suspect() -> None:
    clock = Clock(A, A, B, C)
    clock.run(3 * SECOND, C)
    raised = suspicions([d for _, d in clock.run(10 * SECOND, C)])
    assert raised == [on_suspected(B, Reason.SILENT, ())] * 10
    clock.detector.on_view(clock.now_ns, view_of(A, C, number=2))
    assert clock.detector.suspects == ()
    assert clock.run(5 * SECOND, C) == []


def test_a_suspect_that_is_heard_again_is_no_suspect_v17() -> None:
    clock = Clock(A, A, B, C)
    clock.run(4 * SECOND, C)
    assert clock.detector.on_heard(clock.now_ns, B) == [on_cleared(B)]
    assert clock.detector.suspects == ()


def test_who_found_out_tells_everybody_and_then_whoever_has_to_act() -> None:
    clock = Clock(C, A, B, C, D)
    tells = [d[3] for d in suspicions([d for _, d in clock.run(5 * SECOND, B, D)])]
    assert tells == [(B, D), (B,), (B,)]


def test_an_observer_is_not_told_to_act() -> None:
    clock = Clock(C, A, B, C, D)
    clock.detector.on_view(0, view_of(A, B, C, D, number=2, observers=(B,)))
    tells = [d[3] for d in suspicions([d for _, d in clock.run(4 * SECOND, B, D)])]
    assert tells == [(B, D), ()]


def test_the_trace_names_the_suspect_and_the_reason() -> None:
    clock = Clock(A, A, B)
    clock.run(2 * SECOND)
    event = next(d for d in clock.detector.on_time(2 * SECOND + 750 * MS) if isinstance(d, Event))
    assert (event.kind, event.peer, event.detail) == (Kind.SUSPECT, B, {"why": "silent", "first": True})


# ---- slow, stalled


def test_a_busy_loop_is_slow_not_dead_until_the_stall_limit() -> None:
    clock = Clock(A, A, B)
    clock.run(1 * SECOND, B)
    early = clock.run(29 * SECOND, stalled=(B,))
    assert early == []
    assert clock.detector.slow == (B,)
    late = [d for _, d in clock.run(3 * SECOND, stalled=(B,))]
    assert late[:2] == [send_once(B, AreYouThere()), send_once(B, AreYouThere())]
    assert late[2] == on_suspected(B, Reason.STALLED, ())


def test_progress_ends_slowness_and_a_stalled_suspicion() -> None:
    clock = Clock(A, A, B)
    clock.run(33 * SECOND, stalled=(B,))
    assert clock.detector.suspects == (B,)
    assert clock.detector.on_heard(clock.now_ns, B) == []  # A packet does not show that the loop turns.
    assert clock.detector.on_heartbeat(clock.now_ns, B, 1) == [on_cleared(B)]
    assert clock.detector.slow + clock.detector.suspects == ()


# ---- reported from outside


def test_who_is_reported_dead_is_suspected_although_it_is_heard_until_a_view() -> None:
    detector = detector_of(A)
    detector.on_view(0, view_of(A, B, C))
    _, suspect = detector.suspect(1, B)
    assert suspect == on_suspected(B, Reason.REPORTED, (C,))
    assert detector.on_heartbeat(2, B, 7) == []
    assert detector.suspects == (B,)
    detector.on_view(3, view_of(A, B, C, number=2))
    assert detector.suspects == ()


# ---- told by others


def test_who_is_told_sees_for_itself() -> None:
    clock = Clock(A, A, B, C)
    clock.run(1500 * MS, C)
    assert clock.detector.on_told(clock.now_ns, C, [B]) == [send_once(B, AreYouThere())]
    assert clock.detector.suspects == ()
    told = suspicions([d for _, d in clock.run(750 * MS, C)])
    assert told == [on_suspected(B, Reason.SILENT, ())]


def test_who_hears_the_suspect_does_not_even_ask() -> None:
    clock = Clock(A, A, B, C)
    clock.run(1 * SECOND, B, C)
    assert clock.detector.on_told(clock.now_ns, C, [B]) == []


def test_who_has_left_us_is_nothing_to_complain_of() -> None:
    """Seed 251839: who led was taken for the end of two bad links, because it suspected two that had gone."""
    clock = Clock(A, A, B, C)
    clock.detector.given_up = (B,)
    clock.run(1 * SECOND, B, C)
    assert clock.detector.on_told(clock.now_ns, C, [B]) == []
    assert not clock.detector.complaints.spans


def test_who_is_itself_suspected_shows_that_it_lives() -> None:
    detector = detector_of(A)
    detector.on_view(0, view_of(A, B))
    assert detector.on_told(1, B, [A]) == [send_once(B, Heartbeat(ViewId(1, A), 0))]


def test_strangers_and_talk_about_strangers_are_ignored() -> None:
    detector = detector_of(A)
    detector.on_view(0, view_of(A, B))
    assert detector.on_told(1, X, [B]) == []
    assert detector.on_told(1, B, [X]) == []
    assert detector.on_heartbeat(1, X, 5) == []
    assert detector.suspect(1, X) == []


def test_of_two_that_do_not_hear_each_other_the_later_goes_if_it_lasts_y13() -> None:
    clock = Clock(A, A, B, C)
    suspected: list[tuple[int, Any]] = []
    for _ in range(4):
        clock.detector.on_told(clock.now_ns, B, [C])
        clock.detector.on_told(clock.now_ns, C, [B])
        suspected += clock.run(1 * SECOND, B, C)
    assert suspected[0] == (2100 * MS, on_suspected(C, Reason.UNHEARD, ()))
    cleared = [d for _, d in clock.run(5 * SECOND, B, C)]  # B hears C again: no more complaints.
    assert cleared[-1] == on_cleared(C)


def test_who_alone_complains_goes_itself() -> None:
    """C hears B and does not complain, nor does anybody else of C: B may be slow, or a liar."""
    clock = Clock(A, A, B, C, D)
    suspected: list[Any] = []
    for _ in range(4):
        clock.detector.on_told(clock.now_ns, B, [C])
        suspected += [d for _, d in clock.run(1 * SECOND, B, C, D)]
    assert suspected[0] == on_suspected(B, Reason.UNHEARD, ())
    assert clock.detector.suspects == (B,)


def test_a_complaint_that_is_not_repeated_leads_to_nothing() -> None:
    clock = Clock(A, A, B, C)
    clock.detector.on_told(clock.now_ns, B, [C])
    assert clock.run(5 * SECOND, B, C) == []


def test_a_member_that_hears_nobody_goes_itself() -> None:
    clock = Clock(A, A, B, C, D)
    suspected: list[Any] = []
    for _ in range(4):
        clock.detector.on_told(clock.now_ns, B, [C, D])
        suspected += [d for _, d in clock.run(1 * SECOND, B, C, D)]
    assert suspected[0] == on_suspected(B, Reason.UNHEARD, ())


def test_a_coordinator_counts_complaints_about_itself_y13() -> None:
    """B and C do not hear A, D hears it: A knows that it is the one to go, and blames nobody."""
    clock = Clock(A, A, B, C, D)
    suspected: list[Any] = []
    for _ in range(4):
        clock.detector.on_told(clock.now_ns, B, [A])
        clock.detector.on_told(clock.now_ns, C, [A])
        suspected += [d for _, d in clock.run(1 * SECOND, B, C, D)]
    assert suspected == []
    assert clock.detector.complaints.culprits(clock.now_ns, view_of(A, B, C, D)) == (A,)


def test_b_that_does_not_hear_its_coordinator_is_the_one_to_go_of_two_y13() -> None:
    """The cut A→B alone: B complains, A hears it, and A is earlier in the view."""
    clock = Clock(A, A, B, C)
    suspected: list[Any] = []
    for _ in range(4):
        assert clock.detector.on_told(clock.now_ns, B, [A]) == [send_once(B, Heartbeat(ViewId(1, A), 0))]
        suspected += [d for _, d in clock.run(1 * SECOND, B, C)]
    assert suspected[0] == on_suspected(B, Reason.UNHEARD, ())


# ---- rows


def unheard(view: View, *rows: tuple[int, int, tuple[int, ...]]) -> Unheard:
    return Unheard(view.id, tuple(Row(member, version, ranks) for member, version, ranks in rows))


def test_whom_a_member_does_not_hear_it_says_to_all_who_watch_it_and_again() -> None:
    clock = Clock(B, A, B, C)
    clock.run(4 * SECOND, C)
    view = view_of(A, B, C)
    assert clock.rows[:4] == [
        (2750 * MS, A, unheard(view, (1, 1, (0,)))),
        (2750 * MS, C, unheard(view, (1, 1, (0,)))),
        (3300 * MS, A, unheard(view, (1, 2, (0,)))),  # at the first look after half a second
        (3300 * MS, C, unheard(view, (1, 2, (0,)))),
    ]


def test_what_was_taken_back_is_said_for_a_while_and_then_nothing() -> None:
    clock = Clock(B, A, B, C)
    clock.run(4 * SECOND, C)
    clock.rows.clear()
    clock.run(10 * SECOND, A, C)
    assert {rows.rows[0].unheard for _, _, rows in clock.rows} == {()}
    assert clock.rows[-1][0] < 4 * SECOND + 3500 * MS


def test_where_all_hear_each_other_no_rows_are_said() -> None:
    clock = Clock(A, A, B, C)
    clock.run(60 * SECOND, B, C)
    assert not clock.rows


def test_a_row_of_a_member_that_is_not_heard_is_known_through_another() -> None:
    """A and C do not hear each other, B hears both: A learns from B what C says, and that C lives."""
    clock = Clock(A, A, B, C, D)
    view = view_of(A, B, C, D)
    found = clock.run(2400 * MS, B, D)
    for version in range(1, 12):
        clock.detector.on_rows(clock.now_ns, B, unheard(view, (2, version, (0,))))
        found += clock.run(500 * MS, B, D)
    assert (C, A) in clock.detector.complaints.spans
    assert {step[1:3] for step in suspicions([d for _, d in found])} == {(C, Reason.UNHEARD)}
    assert any(row.member == 2 for _, _, message in clock.rows for row in message.rows)


def test_nobody_speaks_for_a_member_that_is_heard() -> None:
    """A liar makes up rows of others: what a member says of itself goes before."""
    clock = Clock(A, A, B, C, D)
    view = view_of(A, B, C, D)
    for version in range(1, 10):
        clock.detector.on_rows(clock.now_ns, D, unheard(view, (1, version, (2,)), (2, version, (1,))))
        assert clock.run(500 * MS, B, C, D) == []
    assert not clock.detector.complaints.spans


def test_a_row_that_is_old_or_of_another_view_or_of_nobody_is_not_used() -> None:
    clock = Clock(A, A, B, C)
    view = view_of(A, B, C)
    clock.run(1 * SECOND, B, C)
    clock.detector.on_rows(clock.now_ns, B, unheard(view, (1, 5, ())))
    for message in (
        unheard(view, (1, 5, (2,))),
        unheard(view, (1, 4, (2,))),
        unheard(view, (7, 9, (2,))),
        unheard(view, (1, 6, (9,))),
        unheard(view_of(A, B, C, number=2), (1, 9, (2,))),
        Unheard(view.id, ()),
    ):
        clock.detector.on_rows(clock.now_ns, B, message)
    assert not clock.detector.complaints.spans


def test_what_a_row_no_longer_says_is_withdrawn() -> None:
    clock = Clock(A, A, B, C)
    view = view_of(A, B, C)
    clock.run(1 * SECOND, B, C)
    clock.detector.on_rows(clock.now_ns, B, unheard(view, (1, 1, (0, 2))))
    assert set(clock.detector.complaints.spans) == {(B, A), (B, C)}
    clock.detector.on_rows(clock.now_ns, B, unheard(view, (1, 2, (0,))))
    assert set(clock.detector.complaints.spans) == {(B, A)}


def test_rows_that_do_not_fit_a_datagram_take_turns() -> None:
    names = [Address(f"m{number:03}", 0, f"m{number:03}:1") for number in range(200)]
    view = view_of(*names)
    timer = Deadlines().timer()
    rows = Rows(names[0], 500 * MS, 3 * SECOND, 1200, timer)
    rows.on_view(view)
    said = tuple(Row(rank, 1, tuple(range(100, 110))) for rank in range(1, 100))
    rows.on_said(0, names[150], Unheard(view.id, said), lambda member: False)
    seen: dict[int, None] = {}
    for turn in range(12):
        message = rows.say(turn * SECOND // 5, Words((names[5],)))
        timer.at_ns = 0
        assert message is not None
        assert len(encode_control(message)) < 1200 - 200
        assert message.rows[0].unheard == (5,)
        seen.update(dict.fromkeys(row.member for row in message.rows))
    assert len(seen) == 100


# ---- heard by others


def test_a_member_that_others_hear_is_not_suspected_but_complained_about_y13() -> None:
    clock = Clock(B, A, B, C)
    clock.run(2400 * MS, C)
    assert clock.detector.on_vouched(clock.now_ns, C, A) == []
    assert clock.run(400 * MS, C) == [(2750 * MS, send_once(to, Suspicion((A,)))) for to in (A, C)]
    assert clock.detector.suspects == ()


def test_a_complaint_is_repeated_while_others_hear_it_and_ends_when_we_do() -> None:
    clock = Clock(B, A, B, C)
    clock.run(2400 * MS, C)
    clock.detector.on_vouched(clock.now_ns, C, A)
    clock.run(400 * MS, C)
    assert clock.run(1000 * MS, C) == [
        (3750 * MS, send_once(A, Suspicion((A,)))),
        (3750 * MS, send_once(C, Suspicion((A,)))),
        (3750 * MS, send_once(A, AreYouThere())),
        (3750 * MS, send_once(C, AskAbout(A))),
    ]
    assert clock.detector.on_heard(clock.now_ns, A) == [send_once(to, Heard(A)) for to in (A, C)]
    assert A not in clock.detector.complaints
    assert clock.run(1 * SECOND, A, C) == []


def test_who_complained_and_says_that_it_hears_again_ends_what_its_complaint_led_to() -> None:
    """Else the others went on to exclude a member over a link that was whole again."""
    clock = Clock(A, A, B, C)
    suspected: list[Any] = []
    for _ in range(3):
        clock.detector.on_told(clock.now_ns, B, [C])
        suspected += [d for _, d in clock.run(1 * SECOND, B, C)]
    assert suspected[0] == on_suspected(B, Reason.UNHEARD, ())
    clock.detector.on_vouched(clock.now_ns, C, B)  # That C hears B says nothing of what B hears.
    assert C in clock.detector.complaints
    clock.detector.on_vouched(clock.now_ns, B, C)
    assert C not in clock.detector.complaints
    assert [d for _, d in clock.run(1 * SECOND, B, C)] == [on_cleared(B)]


def test_who_is_no_longer_heard_by_anybody_is_suspected() -> None:
    clock = Clock(B, A, B, C)
    clock.run(2400 * MS, C)
    clock.detector.on_vouched(clock.now_ns, C, A)
    found = [d for _, d in clock.run(3 * SECOND, C)]
    assert on_suspected(A, Reason.SILENT, (C,)) in found
    assert clock.detector.suspects == (A,)


def test_a_word_for_a_suspect_that_comes_late_makes_it_a_complaint() -> None:
    clock = Clock(B, A, B, C)
    clock.run(3 * SECOND, C)
    assert clock.detector.suspects == (A,)
    assert clock.detector.on_vouched(clock.now_ns, C, A) == [send_once(C, Suspicion((A,))), on_cleared(A)]


def test_who_hears_a_member_vouches_for_it_at_once_and_else_when_it_does() -> None:
    clock = Clock(C, A, B, C)
    clock.run(1 * SECOND, A, B)
    assert clock.detector.on_asked_about(clock.now_ns, B, A) == [send_once(B, Heard(A))]
    clock.run(1 * SECOND, B)
    assert clock.detector.on_asked_about(clock.now_ns, B, A) == [send_once(A, AreYouThere())]
    assert clock.detector.on_heard(clock.now_ns, A) == [send_once(B, Heard(A))]
    assert clock.detector.on_heard(clock.now_ns, A) == []


def test_nobody_vouches_for_strangers_or_to_them() -> None:
    detector = detector_of(A)
    detector.on_view(0, view_of(A, B))
    assert detector.on_asked_about(1, X, B) == []
    assert detector.on_asked_about(1, B, X) == []
    assert detector.on_vouched(1, X, B) == []


def test_several_bad_links_are_settled_together() -> None:
    """B and C, B and D, D and E do not hear each other: three stay with B, as with C and E or C and D; B is first."""
    clock = Clock(A, A, B, C, D, E)
    for _ in range(4):
        for by, about in ((B, [C, D]), (C, [B]), (D, [B, E]), (E, [D])):
            clock.detector.on_told(clock.now_ns, by, about)
        clock.run(1 * SECOND, B, C, D, E)
    assert clock.detector.suspects == (C, D)


# ---- watching by name, own sleep, standing still


def test_who_is_watched_since_a_view_is_expected_to_be_heard_from_then_on() -> None:
    """In a group of 25 nobody sent it heartbeats before: its silence until then says nothing, nor does its progress."""
    names = [Address(f"m{number:02}", 0, f"m{number:02}:1") for number in range(25)]
    clock = Clock(names[0], *names)
    clock.run(40 * SECOND, *watched(names, names[0], CONFIG.watch_peers))
    clock.detector.on_view(clock.now_ns, view_of(*names[:-3], number=2))
    now = watched(names[:-3], names[0], CONFIG.watch_peers)
    assert set(now) - set(watched(names, names[0], CONFIG.watch_peers))
    assert clock.detector.timer.at_ns > clock.now_ns
    assert clock.run(5 * SECOND, *now) == []


def test_who_goes_on_without_us_is_not_watched_in_the_place_of_the_dead() -> None:
    """Simulated seed 40639: eight of thirteen had gone on, and one that was dead before us was never looked at."""
    names = [Address(name, 0, f"{name}:1") for name in "ABCDEFGHIJKLM"]
    clock = Clock(names[2], *names)
    alive = names[3:]  # they follow us in the ring; A and B are dead, and stand before us
    clock.run(4 * SECOND, *alive)
    assert clock.detector.suspects == ()
    clock.detector.given_up = dict.fromkeys(alive)
    clock.run(6 * SECOND, *alive)
    assert clock.detector.suspects == tuple(names[:2])


def test_a_merge_leader_outside_the_view_is_watched_until_it_is_unwatched() -> None:
    clock = Clock(A, A, B)
    clock.detector.watch(clock.now_ns, X)
    out = clock.run(3 * SECOND, B)
    assert out[-1][1] == on_suspected(X, Reason.SILENT, ())
    clock.detector.unwatch(X)
    assert clock.detector.suspects == ()
    assert clock.run(5 * SECOND, B) == []


def test_a_watched_outsider_answers_questions_instead_of_sending_heartbeats() -> None:
    clock = Clock(A, A)
    clock.detector.watch(clock.now_ns, X)
    assert clock.run(2 * SECOND) == [(2 * SECOND, send_once(X, AreYouThere()))]
    clock.detector.on_heartbeat(clock.now_ns, X, 1)
    assert clock.run(2 * SECOND) == [(4 * SECOND, send_once(X, AreYouThere()))]


def test_a_member_that_slept_suspects_nobody_for_what_it_did_not_hear() -> None:
    clock = Clock(A, A, B, C)
    clock.run(1 * SECOND, B, C)
    clock.now_ns += 20 * SECOND
    assert clock.detector.on_time(clock.now_ns) == []
    assert clock.run(1 * SECOND, B, C) == []


def test_a_member_that_slept_while_a_question_was_open_waits_for_the_answer() -> None:
    clock = Clock(A, A, B, C)
    clock.run(2100 * MS, C)
    clock.now_ns += 20 * SECOND
    assert suspicions(clock.detector.on_time(clock.now_ns)) == []
    assert clock.detector.on_heartbeat(clock.now_ns, B, 1) == []


def test_an_unreachable_peer_is_asked_first() -> None:
    detector = detector_of(A)
    detector.on_view(0, view_of(A, B))
    assert detector.on_unreachable(1, B) == [send_once(B, AreYouThere())]
    assert detector.on_unreachable(2, B) == []


def test_a_member_alone_has_nothing_to_wait_for() -> None:
    detector = detector_of(A, beats=False)
    assert detector.on_view(0, view_of(A)) == [Beat(())]
    assert detector.timer.at_ns is None


def test_a_view_names_who_expects_our_heartbeats() -> None:
    detector = detector_of(A, beats=False)
    assert detector.on_view(0, view_of(A, B, C, D)) == [Beat((D, C, B))]


def test_a_verdict_is_given_when_its_turn_comes_and_not_while_the_detector_goes_through_its_peers() -> None:
    """What follows from a verdict may end the watch of another peer."""
    verdicts = neighbour()
    made = FailureDetector(A, CONFIG, verdicts)
    made.on_view(0, view_of(A, B, C))
    found: list[Any] = []
    while not any(isinstance(step, Then) for step in found):
        assert made.timer.at_ns is not None
        found = made.on_time(made.timer.at_ns)
    assert verdicts.made == []
    carried_out(found)
    assert [call[0] for call in verdicts.made] == ["on_suspected"] * len(verdicts.made) != []
