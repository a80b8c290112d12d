"""The digest of what runs carry: it adds up however runs are cut, and knows which seqno holds what."""

from hypothesis import given
from hypothesis import strategies as st

from ringcast.core.multicast.packing import content_of_items
from ringcast.core.multicast.stream import Assembly
from ringcast.core.packets import Envelope, Piece
from ringcast.model import content_of

MESSAGES = st.lists(st.binary(max_size=20), min_size=1, max_size=12)


@given(MESSAGES, st.integers(0, 2**40), st.data())
def test_runs_add_up_wherever_they_are_cut(messages: list[bytes], first: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(messages)))
    parts = content_of(first, messages[:cut]) + content_of(first + cut, messages[cut:])
    assert parts == content_of(first, messages) != 0


@given(
    st.lists(st.tuples(st.lists(st.binary(max_size=5), max_size=4), st.booleans()), min_size=1), st.integers(1, 2**40)
)
def test_a_sender_that_has_pieces_and_a_receiver_that_has_messages_agree(
    messages: list[tuple[list[bytes], bool]], first: int
) -> None:
    items: list[bytes] = []
    for parts, is_sealed in messages:
        items += [Piece(part) for part in parts]
        items.append(Envelope(b"end") if is_sealed else b"end")
    whole, ends, dropped = Assembly(1 << 20).feed(first, items)
    assert not dropped
    assert content_of_items(first, items) == content_of(first, whole, ends)


def test_two_messages_in_each_others_place_are_other_content() -> None:
    assert content_of(1, [b"one", b"two"]) != content_of(1, [b"two", b"one"])
    assert content_of(1, [b"", b"x"]) != content_of(1, [b"x", b""])
