"""The chronicle remembers who went, when and why, and what a merge joined; from events and views alone."""

from typing import Any

from ringcast.model import Address, Event, Kind, View, ViewId
from ringcast.runtime.chronicle import DEPARTED, Chronicle
from ringcast.window import ReceiveWindow

A, B, C, D = (Address(name, 1, f"mem:{name}") for name in "ABCD")
SECOND = 1_000_000_000


class Story:
    """One member's chronicle, second by second."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.heard: dict[Address, int] = {}
        self.chronicle = Chronicle(A, self.heard)
        self.windows: dict[Address, ReceiveWindow[Any]] = {}

    def hear(self, *members: Address) -> "Story":
        self.heard |= dict.fromkeys(members, self.now_ns)
        return self

    def later(self, seconds: float) -> "Story":
        self.now_ns += int(seconds * SECOND)
        return self

    def event(self, kind: Kind, peer: Address | None = None, **detail: Any) -> "Story":
        self.chronicle.on_event(Event(kind, self.now_ns, peer=peer, detail=detail))
        return self

    def view(
        self, number: int, *members: Address, sides: tuple[tuple[Address, ...], ...] = (), **starts: int
    ) -> "Story":
        """`starts` = where each one's stream begins, by the digest of this view."""
        digest = [[list(member), starts[member.name], 0, 0] for member in members if member.name in starts]
        self.event(Kind.VIEW, digest=digest)
        for member in members:
            if member.name in starts or member not in self.windows:
                self.windows[member] = ReceiveWindow(64, starts.get(member.name, 0))
        windows = {member: self.windows[member] for member in members if member != A}
        self.windows = dict(windows)
        self.chronicle.on_view(self.now_ns, View(ViewId(number, A), members, subgroups=sides), windows)
        return self


def test_a_suspect_that_a_view_excludes_is_remembered_with_the_first_reason_and_its_silence() -> None:
    story = Story().view(1, A, B, C).hear(B, C).later(2.5)
    story.event(Kind.SUSPECT, C, why="silent").event(Kind.SUSPECT, C, why="has another view").later(0.3).view(2, A, B)
    (gone,) = story.chronicle.departed.values()
    assert (gone.member, gone.why, gone.silent_ns, gone.has_left) == (C, "silent", int(2.5 * SECOND), False)
    assert gone.at_ns == story.now_ns and gone.view.number == 2


def test_who_asks_to_leave_has_left_wherever_that_is_heard() -> None:
    at_coordinator = Story().view(1, A, B, C).event(Kind.REQUESTED, C, what="LEAVE", answer="queued").view(2, A, B)
    at_member = Story().view(1, A, B, C).event(Kind.ROLL_CALL, step="promise", leaving=[C]).view(2, A, B)
    for story in (at_coordinator, at_member):
        assert story.chronicle.departed[C].has_left


def test_a_leaver_that_dies_on_the_way_out_has_not_left() -> None:
    story = Story().view(1, A, B).event(Kind.REQUESTED, B, what="LEAVE", answer="queued")
    assert not story.event(Kind.SUSPECT, B, why="silent").view(2, A).chronicle.departed[B].has_left


def test_a_suspicion_that_a_view_settled_explains_nothing_later() -> None:
    story = Story().view(1, A, B).event(Kind.SUSPECT, B, why="silent").view(2, A, B).view(3, A)
    assert story.chronicle.departed[B].why == ""


def test_who_comes_back_is_no_longer_missed() -> None:
    story = Story().view(1, A, B).view(2, A).view(3, A, B)
    assert story.chronicle.departed == {}


def test_a_process_that_was_started_again_is_no_longer_missed_wherever_it_runs_now() -> None:
    again, elsewhere = Address("B", 2, "mem:B"), Address("B", 2, "mem:other")
    for newcomer in (again, elsewhere):
        story = Story().view(1, A, B, C).view(2, A).view(3, A, newcomer)
        assert list(story.chronicle.departed) == [C]


def test_a_namesake_that_was_there_all_the_time_replaces_nobody() -> None:
    namesake = Address("B", 2, "mem:other")
    assert list(Story().view(1, A, B, namesake).view(2, A, namesake).chronicle.departed) == [B]


def test_a_joiner_is_remembered_until_it_is_in() -> None:
    story = Story().view(1, A).event(Kind.REQUESTED, B, what="JOIN", answer="busy")
    assert story.chronicle.joiners[B].answer == "busy"
    assert story.view(2, A, B).chronicle.joiners == {}


def test_a_merge_counts_what_the_other_side_sent_while_apart() -> None:
    story = Story().view(1, A, B, C, B=10, C=20).view(2, A, B)
    story.view(3, A, B, C, D, sides=((A, B), (C, D)), C=75, D=5)
    reunion = story.chronicle.reunion
    assert reunion is not None
    assert [(other.member, other.missed) for other in reunion.apart] == [(C, 55), (D, None)]


def test_a_merge_of_views_that_only_differed_missed_nothing() -> None:
    story = Story().view(1, A, B, B=10).view(2, A, B, sides=((A,), (B,)), B=10)
    assert story.chronicle.reunion is not None
    assert [other.missed for other in story.chronicle.reunion.apart] == [0]


def test_what_runs_at_the_coordinator_and_what_failed_is_known_until_it_is_over() -> None:
    story = Story().view(1, A).event(Kind.SUSPEND, cause="merge")
    assert story.chronicle.suspended == (0, "merge")
    story.event(Kind.MERGE, A, step="end", outcome="cancelled", why="B refused").event(Kind.RESUME, cause="merge ended")
    assert story.chronicle.suspended is None and story.chronicle.failed_merge == (0, "B refused")
    assert story.view(2, A, B).chronicle.failed_merge is None


def test_it_is_bounded() -> None:
    story = Story().view(1, A)
    for number in range(2, 2 * DEPARTED, 2):
        passing = Address(f"P{number}", 1, f"mem:P{number}")
        story.event(Kind.REQUESTED, Address(f"J{number}", 1, "mem:J"), what="JOIN", answer="busy")
        story.view(number, A, passing).view(number + 1, A)
    for number in range(2 * DEPARTED, 4 * DEPARTED):
        story.event(Kind.REQUESTED, Address(f"J{number}", 1, "mem:J"), what="JOIN", answer="busy")
        story.view(2 * number, A, Address(f"Q{number}", 1, "mem:Q")).view(2 * number + 1, A)
    assert len(story.chronicle.departed) == len(story.chronicle.joiners) == DEPARTED
