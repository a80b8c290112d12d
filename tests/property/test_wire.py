"""Bytes and packets: what goes out comes back, and any bytes at all give a value or a named drop."""

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from property.wire_frames import MAX_SEQNO, addresses, packets
from ringcast.core import Ack, Channel, Drop, Packet, Piece, Run
from ringcast.model import Address, ViewId
from ringcast.wire import Codec, codec

ME = Address("me", 7, "mem:me")
PEER = Address("peer", 8, "mem:peer")
VIEW = ViewId(3, PEER)


def reader(group: str = "g") -> Codec:
    return Codec(group, ME)


@given(packets, addresses)
def test_every_packet_comes_back_as_it_went(packet: Packet, sender: Address) -> None:
    frame = Codec("g", sender).encode(packet)
    assert reader().decode(frame) == (sender, packet)
    assert reader().decode(Codec("g", sender).encode(packet, ME)) == (sender, packet)


@given(packets, addresses, st.booleans())
def test_a_frame_has_the_same_bytes_without_the_native_part(packet: Packet, sender: Address, own: bool) -> None:
    if isinstance(packet, Run) and own:
        packet = replace(packet, origin=sender)
    frames = [Codec("g", sender).encode(packet)]
    with pytest.MonkeyPatch.context() as without:
        without.setattr(codec, "_frame_of", None)
        frames.append(Codec("g", sender).encode(packet))
    assert frames[0] == frames[1]


@given(packets, addresses)
def test_pieces_stay_pieces_and_whole_messages_stay_whole(packet: Packet, sender: Address) -> None:
    decoded = reader().decode(Codec("g", sender).encode(packet))
    assert not isinstance(decoded, Drop)
    if isinstance(packet, Run):
        assert isinstance(decoded[1], Run)
        assert [type(item) for item in decoded[1].items] == [type(item) for item in packet.items]


@given(st.binary(max_size=400))
@example(b"")
@example(b"RC")
def test_any_bytes_at_all_give_a_value_or_a_named_drop(data: bytes) -> None:
    decoded = reader().decode(data)
    assert isinstance(decoded, tuple) or (isinstance(decoded, Drop) and decoded.reason)


@given(packets, st.data())
def test_a_damaged_frame_gives_a_value_or_a_named_drop(packet: Packet, data: st.DataObject) -> None:
    frame = bytearray(Codec("g", PEER).encode(packet))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    decoded = reader().decode(bytes(frame))
    assert isinstance(decoded, tuple | Drop)
    if isinstance(decoded, tuple):
        Codec("g", PEER).encode(decoded[1])


@given(packets, st.data())
def test_a_frame_that_is_cut_or_has_something_behind_it_is_dropped(packet: Packet, data: st.DataObject) -> None:
    frame = Codec("g", PEER).encode(packet)
    cut = data.draw(st.integers(0, len(frame) - 1))
    assert isinstance(reader().decode(frame[:cut]), Drop)
    assert isinstance(reader().decode(frame + b"\0"), Drop)


@given(packets)
def test_a_frame_for_another_group_or_another_process_is_dropped(packet: Packet) -> None:
    sender = Codec("g", PEER)
    other_group = reader("h").decode(sender.encode(packet))
    assert isinstance(other_group, Drop) and other_group.reason == "another group's frame"
    before = Address(ME.name, ME.incarnation - 1, ME.endpoint)
    other_process = reader().decode(sender.encode(packet, before))
    assert isinstance(other_process, Drop)
    assert other_process.reason == "meant for another process, perhaps the one before this"


@pytest.mark.parametrize("length", [0, 1, 2])
@pytest.mark.parametrize("is_uniform", [False, True])
def test_a_short_frame_cannot_claim_many_messages(length: int, is_uniform: bool) -> None:
    """Counts are checked against the frame before anything is allocated."""
    frame = bytearray(Codec("g", PEER).encode(Run(Channel.GROUP, VIEW, PEER, 1, 0, [b"x" * length], length)))
    head = len(Codec("g", PEER).encode(Ack(Channel.GROUP, VIEW, 0))) - 8 - 1 - 8 - len(b"peermem:peer") - 10
    assert frame[head] == Channel.GROUP
    frame[head + 1] = int(is_uniform)
    frame[head + 2 : head + 6] = (32_768).to_bytes(4, "little")
    data = bytes(frame)
    codec = reader()
    codec.decode(data)
    tracemalloc.start()
    try:
        assert isinstance(codec.decode(data), Drop)
        assert tracemalloc.get_traced_memory()[1] < 20_000
    finally:
        tracemalloc.stop()


@given(st.lists(addresses, max_size=50))
def test_what_a_decoder_remembers_is_bounded(senders: list[Address]) -> None:
    codec = reader()
    for sender in senders:
        codec.decode(Codec("g", sender).encode(Ack(Channel.PEER, 1, 1)))
    assert len(codec._book._addresses) <= 4096


def test_the_memory_of_senders_starts_again_when_it_is_full() -> None:
    codec = reader()
    for number in range(5000):
        sender = Address(f"n{number}", number, "x")
        frame = Codec("g", sender).encode(Ack(Channel.GROUP, ViewId(number, sender), 1))
        assert codec.decode(frame) == (sender, Ack(Channel.GROUP, ViewId(number, sender), 1))
    assert len(codec._book._addresses) <= 4096
    assert len(codec._book._view_ids) <= 4096


@pytest.mark.parametrize("first", [2**63 - 11, 2**62, 2**31, 2**32, 1])
def test_w22_numbers_near_the_end_of_a_signed_64_bit_field_survive(first: int) -> None:
    """W22: the width of the wire field. Ten more fit behind 2^63 - 11; a wrap to below zero is not a number of ours."""
    codec = Codec("g", PEER)
    run = Run(Channel.GROUP, VIEW, PEER, first, first - 1, [b"x"] * 10, 10)
    assert reader().decode(codec.encode(run)) == (PEER, run)
    ack = Ack(Channel.GROUP, VIEW, MAX_SEQNO)
    assert reader().decode(codec.encode(ack)) == (PEER, ack)


@pytest.mark.parametrize(("first", "count"), [(2**63 - 11, 20), (2**63 - 1, 1), (-10, 20), (0, 1)])
def test_w22_a_run_that_would_leave_the_field_is_dropped_never_wrapped(first: int, count: int) -> None:
    run = Run(Channel.GROUP, VIEW, PEER, first, max(0, first - 1), [b"x"] * count, count)
    decoded = reader().decode(Codec("g", PEER).encode(run))
    assert isinstance(decoded, Drop)
    assert decoded.reason == "a run with numbers out of range"


def test_a_frame_that_claims_several_pieces_is_dropped() -> None:
    run = Run(Channel.GROUP, VIEW, PEER, 1, 0, [Piece(b"a"), Piece(b"b")], 2)
    decoded = reader().decode(Codec("g", PEER).encode(run))
    assert isinstance(decoded, Drop) and decoded.reason == "a piece that does not stand alone"
