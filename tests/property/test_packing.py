"""Cutting messages into frames: nothing is lost, nothing is out of order, no frame is too long."""

from hypothesis import assume, given
from hypothesis import strategies as st

from property.wire_frames import addresses, view_ids
from ringcast.core import Channel, Piece, Run
from ringcast.core.multicast.packing import (
    SLACK_BYTES,
    cut_runs,
    foreign_budget,
    largest_item,
    pieces_of,
    ranges_budget,
    run_budget,
)
from ringcast.core.multicast.stream import Assembly
from ringcast.core.packets import Request
from ringcast.model import Address, ViewId
from ringcast.wire import Codec

frame_sizes = st.integers(512, 4000)
size_lists = st.one_of(
    st.lists(st.integers(0, 700), min_size=1, max_size=60),
    st.builds(lambda size, count: [size] * count, st.integers(0, 700), st.integers(1, 300)),
)


@given(frame_sizes, addresses, view_ids, size_lists, st.booleans())
def test_runs_cut_to_the_budget_never_exceed_the_frame(
    frame_bytes: int, me: Address, view_id: ViewId, sizes: list[int], is_group: bool
) -> None:
    tag = view_id if is_group else 2**63 - 1
    budget = run_budget(frame_bytes, me, tag)
    assume(largest_item(budget) >= 64)
    items = [b"x" * min(size, largest_item(budget)) for size in sizes]
    lengths = list(map(len, items))
    cuts = cut_runs(items, lengths, budget)
    assert [item for begin, end in cuts for item in items[begin:end]] == items
    assert all(begin < end for begin, end in cuts)
    codec = Codec("g", me)
    for begin, end in cuts:
        run = Run(Channel.GROUP if is_group else Channel.PEER, tag, me, 1, 0, items[begin:end], sum(lengths[begin:end]))
        assert len(codec.encode(run, me)) <= frame_bytes


@given(frame_sizes, addresses, addresses, view_ids, view_ids)
def test_the_largest_item_still_fits_as_somebody_elses_repair_in_a_later_view(
    frame_bytes: int, me: Address, survivor: Address, view_id: ViewId, later: ViewId
) -> None:
    budget = run_budget(frame_bytes, me, view_id)
    assume(largest_item(budget) >= 64)
    grown = survivor.wire_bytes - me.wire_bytes + later.creator.wire_bytes - view_id.creator.wire_bytes
    assume(grown <= SLACK_BYTES)
    item = b"x" * largest_item(budget)
    assert len(item) + 2 <= foreign_budget(frame_bytes, survivor, me, later)
    repair = Run(Channel.GROUP, later, me, 1, 0, [item], len(item))
    assert len(Codec("g", survivor).encode(repair, me)) <= frame_bytes


@given(frame_sizes, addresses, addresses, view_ids, st.booleans())
def test_a_request_with_all_its_ranges_fits_a_frame(
    frame_bytes: int, me: Address, origin: Address, view_id: ViewId, is_group: bool
) -> None:
    assume(largest_item(run_budget(frame_bytes, me, view_id)) >= 64)
    count = ranges_budget(frame_bytes, me, origin)
    channel, tag = (Channel.GROUP, view_id) if is_group else (Channel.CONTROL, 2**63 - 1)
    request = Request(channel, tag, origin, ((1, 2**62),) * count)
    assert len(Codec("g", me).encode(request, origin)) <= frame_bytes


@given(st.lists(st.binary(max_size=3000), max_size=10), st.integers(300, 1500))
def test_pieces_come_together_again(payloads: list[bytes], budget: int) -> None:
    size = largest_item(budget)
    items: list[bytes] = []
    for payload in payloads:
        items += [payload] if len(payload) <= size else pieces_of(payload, budget)
    assert all(len(item) <= size for item in items)
    assembly = Assembly(3000)
    whole: list[bytes] = []
    for item in items:
        more, _, dropped = assembly.feed(1, [item])
        assert dropped == 0
        whole += more
    assert whole == payloads
    assert assembly.is_empty


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.integers(1, 60))
def test_an_assembly_never_holds_more_than_its_limit(sizes: list[int], limit: int) -> None:
    assembly = Assembly(limit)
    held = 0
    for size in sizes:
        assembly.feed(1, [Piece(b"x" * size)])
        held = sum(map(len, assembly._parts or []))
        assert held <= limit
    whole, _, dropped = assembly.feed(1, [b"end"])
    assert (len(whole), dropped) == ((1, 0) if sum(sizes) + 3 <= limit else (0, 1))
    assert assembly.feed(7, [b"next"]) == ([b"next"], [7], 0)


def test_an_assembly_says_with_which_item_each_message_ended() -> None:
    items = [b"one", Piece(b"tw"), b"o", Piece(b"x" * 50), b"too large", Piece(b"th"), Piece(b"re"), b"e"]
    assert Assembly(40).feed(10, items) == ([b"one", b"two", b"three"], [10, 12, 17], 1)
