"""Runs of one wake that continue each other become one; everything else stays as it came."""

from ringcast.core import Ack, Channel, Drop, Envelope, Packet, Piece, Run
from ringcast.model import Address, ViewId
from ringcast.runtime.coalescing import Decoded, coalesced

A, B = Address("A", 1, "mem:A"), Address("B", 1, "mem:B")
VIEW, LATER = ViewId(1, A), ViewId(2, A)


def run(first: int, *items: bytes, origin: Address = A, tag: ViewId = VIEW, low: int = 0) -> tuple[Address, Packet]:
    return origin, Run(Channel.GROUP, tag, origin, first, low, list(items), sum(map(len, items)))


def of(*decoded: Decoded) -> list[Decoded]:
    """What becomes of these, each in a frame of its own."""
    by_frame = {bytes([number]): value for number, value in enumerate(decoded)}
    return coalesced(by_frame.__getitem__, list(by_frame))


def test_runs_that_continue_each_other_become_one() -> None:
    assert of(run(1, b"a"), run(2, b"b", b"c"), run(4, b"d", low=1)) == [run(1, b"a", b"b", b"c", b"d", low=1)]


def test_runs_of_two_senders_are_put_together_each() -> None:
    interleaved = of(run(1, b"a"), run(7, b"x", origin=B), run(2, b"b"), run(8, b"y", origin=B))
    assert interleaved == [run(1, b"a", b"b"), run(7, b"x", b"y", origin=B)]


def test_a_gap_another_view_a_repair_or_a_lower_low_begins_a_new_run() -> None:
    repaired = B, run(2, b"b")[1]
    for second in (run(3, b"c"), run(2, b"b", tag=LATER), repaired, run(1, b"a")):
        assert of(run(1, b"a"), second) == [run(1, b"a"), second]
    assert len(of(run(1, b"a", low=1), run(2, b"b", low=0))) == 2


def test_pieces_go_together_with_what_follows_and_the_run_says_so() -> None:
    for runs in (
        [run(1, Piece(b"a")), run(2, Piece(b"b")), run(3, b"c")],
        [run(1, b"a"), run(2, Piece(b"b")), run(3, b"c")],
        [run(1, b"a"), run(2, b"b"), run(3, Piece(b"c"))],
    ):
        [decoded] = of(*runs)
        assert not isinstance(decoded, Drop)
        together = decoded[1]
        assert isinstance(together, Run) and together.has_pieces and together.items == [b"a", b"b", b"c"]
        assert list(map(type, together.items)) == [type(r.items[0]) for _, r in runs if isinstance(r, Run)]


def test_messages_for_the_ordering_never_stand_in_one_run_with_others() -> None:
    for first, second in ((b"a", Envelope(b"b")), (Envelope(b"a"), b"b"), (Piece(b"a"), Envelope(b"b"))):
        apart = [run(1, first), run(2, second)]
        assert of(*apart) == apart
    [decoded] = of(run(1, Envelope(b"a")), run(2, Envelope(b"b")))
    assert not isinstance(decoded, Drop) and isinstance(decoded[1], Run) and not decoded[1].has_pieces


def test_any_other_packet_is_a_fence() -> None:
    ack = A, Ack(Channel.GROUP, VIEW, 5)
    for fence in (ack, Drop("nonsense", None)):
        assert of(run(1, b"a"), fence, run(2, b"b")) == [run(1, b"a"), fence, run(2, b"b")]


def test_streams_between_two_members_are_left_alone() -> None:
    private = [(A, Run(Channel.PEER, 1, A, first, 0, [b"x"], 1)) for first in (1, 2)]
    assert of(*private) == private
