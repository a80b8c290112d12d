"""Pieces that come together in one run, as several frames of one wake do, become the messages that they belong to."""

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from ringcast.core import Deliver, Effect, Node, Piece, Run
from unit.core.multicast.nodes import NOW, A, B, node, only, run_of

STREAM = [b"a", Piece(b"b"), Piece(b"c"), b"d", b"e", Piece(b"f"), b"g", b"h", Piece(b"i"), Piece(b"j"), b"k"]
MESSAGES = [b"a", b"bcd", b"e", b"fg", b"h", b"ijk"]


def together(first: int, items: list[bytes]) -> Run:
    run = run_of(B, first, *items)
    run.has_pieces = any(type(item) is Piece for item in items) and len(items) > 1
    return run


def payloads(effects: list[Effect]) -> list[bytes]:
    return [payload for delivery in only(Deliver, effects) for payload in delivery.payloads]


def taken(receiver: Node, effects: list[Effect]) -> int:
    """The application reads everything at once; how many seqnos that were."""
    deliveries = only(Deliver, effects)
    for delivery in deliveries:
        receiver.on_taken(NOW, delivery)
    return sum(delivery.count for delivery in deliveries)


@given(st.lists(st.integers(1, 4), min_size=1))
def test_however_a_stream_is_cut_into_runs_the_messages_are_the_same(lengths: list[int]) -> None:
    cuts = [0, *(end for end in accumulate(lengths) if end < len(STREAM)), len(STREAM)]
    receiver, got = node(A), list[bytes]()
    for begin, end in pairwise(cuts):
        effects = receiver.on_packet(NOW, B, together(begin + 1, STREAM[begin:end]))
        got += payloads(effects)
        taken(receiver, effects)
    assert got == MESSAGES
    assert receiver.group.incoming[B].window.taken == len(STREAM)


@given(st.permutations(range(4)))
def test_runs_with_pieces_that_overtake_and_repeat_each_other_give_each_message_once(order: list[int]) -> None:
    runs = [together(1, STREAM[:3]), together(3, STREAM[2:7]), together(6, STREAM[5:8]), together(8, STREAM[7:])]
    receiver = node(A)
    got = [payload for at in order for payload in payloads(receiver.on_packet(NOW, B, runs[at]))]
    assert got == MESSAGES
