"""A steady stream of joins with state does not starve merges: after a bounded time a waiting merge goes first."""

from __future__ import annotations

from ringcast.core.control import Join, MergeId
from ringcast.core.effects import SendReliable
from ringcast.core.membership.handler import ViewHandler
from ringcast.core.membership.requests import Request, RequestKind
from ringcast.core.steps import Steps
from ringcast.model import MS, Address, View, ViewId, profile
from unit.core.calls import ask_to_merge, neighbour, raise_merge

CONFIG = profile("test")
A, L = (Address(name, 1, f"mem:{name}") for name in "AL")


def joiner(number: int) -> Address:
    return Address(f"J{number}", 1, f"mem:J{number}")


class Stream:
    """A coordinator to which a new joiner with state comes every 50 ms; each needs 80 ms for its state."""

    def __init__(self) -> None:
        self.now = 0
        self.handler = ViewHandler(A, CONFIG, neighbour(notes={}))
        self.members = [A]
        self.loading: list[tuple[int, Address]] = []
        self.handler.on_view(0, self.view)
        self.busy = 0

    @property
    def view(self) -> View:
        return View(ViewId(len(self.members), A), tuple(self.members))

    def step(self) -> None:
        self.now += 50 * MS
        said = Join(False, True, 64, 64_000)
        asked = Request(RequestKind.JOIN_WITH_STATE, joiner(self.now // MS), said)
        self._do(self.handler.on_request(self.now, asked))
        self._do(self.handler.on_time(self.now + CONFIG.gather_ns))
        for due, member in [loading for loading in self.loading if loading[0] <= self.now]:
            self.loading.remove((due, member))
            self.handler.on_state_confirmed(self.now, member)

    def _do(self, decisions: Steps) -> None:
        self.busy += sum(isinstance(decision, SendReliable) for decision in decisions)
        if self.handler.suspension is not None:
            joined = [request.member for request in self.handler.suspension.requests]
            self.members += joined
            self.loading += [(self.now + 80 * MS, member) for member in joined]
            self.handler.on_view(self.now, self.view)
            self.handler.on_change_ended(self.now, self.handler.suspension.number, installed=True)


def test_a_merge_request_is_accepted_after_a_bounded_time() -> None:
    stream = Stream()
    for attempt in range(200):
        stream.step()
        answers = ask_to_merge(stream.handler, stream.now, L, MergeId(L, attempt))
        if ("accept", L, MergeId(L, attempt)) in answers:
            break
        assert any(answer[0] == "reject" for answer in answers if isinstance(answer, tuple))
    assert CONFIG.resumer_ns <= stream.now <= CONFIG.resumer_ns + 200 * MS


def test_our_own_merge_starts_after_a_bounded_time_and_then_joins_are_taken_again() -> None:
    stream = Stream()
    merge_id = MergeId(A, 0)
    for attempt in range(200):
        stream.step()
        merge_id = MergeId(A, attempt)
        if ("start merge", merge_id) in raise_merge(stream.handler, stream.now, merge_id):
            break
    assert CONFIG.resumer_ns <= stream.now <= CONFIG.resumer_ns + 200 * MS
    stream.handler.on_merge_ended(stream.now, merge_id, installed=False)
    busy, size = stream.busy, len(stream.members)
    stream.step()
    assert (stream.busy, len(stream.members)) == (busy, size + 1)


def test_joins_are_held_only_as_long_as_somebody_asks_for_a_merge() -> None:
    stream = Stream()
    while not stream.busy:
        stream.step()
        if stream.now < CONFIG.resumer_ns:
            ask_to_merge(stream.handler, stream.now, L, MergeId(L, stream.now))
        assert stream.now < 2 * CONFIG.resumer_ns
    for _ in range(200):
        stream.step()
    busy = stream.busy
    stream.step()
    assert stream.busy == busy and busy * 50 * MS <= 2 * CONFIG.merge_pause_max_ns + 2 * CONFIG.resumer_ns


def test_a_single_long_transfer_turns_a_merge_away_for_a_bounded_time_only() -> None:
    stream = Stream()
    stream.step()
    (_, loading), stream.loading = stream.loading[0], []
    accepted_ns = 0
    for number in range(100):
        now = stream.now + number * 100 * MS
        stream.handler.on_state_progress(now, loading)
        if ("accept", L, MergeId(L, number)) in ask_to_merge(stream.handler, now, L, MergeId(L, number)):
            accepted_ns = now - stream.now
            break
    assert CONFIG.resumer_ns <= accepted_ns <= CONFIG.resumer_ns + 100 * MS
