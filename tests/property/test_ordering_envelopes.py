"""Envelopes: what is packed is what is opened; and no bytes at all can break the ordering."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ringcast.core.ordering.envelope import (
    ANNOUNCEMENT_BYTES,
    HEAD_BYTES,
    MOST_RUNS,
    PLACE_BYTES,
    Announcement,
    Parcel,
    Stub,
    Ticks,
    Whole,
    open_envelope,
    pack_announcement,
    pack_parcel,
    pack_stub,
    pack_whole,
)
from ringcast.model import Address
from unit.core.ordering.alone import A, B, C, alone

NUMBERS = st.integers(1, 2**62)
PAYLOADS = st.one_of(
    st.lists(st.binary(max_size=50), min_size=1, max_size=20),
    st.builds(lambda size, count: [b"*" * size] * count, st.integers(1, 9), st.integers(1, 1_500)),
)


@given(NUMBERS, PAYLOADS, st.booleans())
def test_a_whole_batch_comes_back_and_keeps_its_size(first: int, payloads: list[bytes], to_self: bool) -> None:
    packed = pack_whole(first, payloads, to_self=to_self)
    assert open_envelope(packed) == Whole(first, payloads, to_self)
    assert len(packed) <= HEAD_BYTES + sum(map(len, payloads)) + PLACE_BYTES * len(payloads)


@given(NUMBERS, PAYLOADS, st.one_of(st.none(), st.tuples(NUMBERS, st.integers(0, 65_535))))
def test_a_parcel_comes_back(first: int, payloads: list[bytes], origin: tuple[int, int] | None) -> None:
    assert open_envelope(pack_parcel(first, payloads, origin)) == Parcel(first, payloads, origin)


@given(NUMBERS, st.integers(1, 2**31), st.integers(0, 2**200))
def test_a_stub_comes_back(first: int, count: int, to: int) -> None:
    assert open_envelope(pack_stub(first, count, to)) == Stub(first, count, to)


@given(
    NUMBERS,
    st.lists(st.builds(Ticks, st.integers(0, 65_535), NUMBERS, st.integers(1, 2**31)), min_size=1, max_size=MOST_RUNS),
)
def test_an_announcement_comes_back_within_its_bound(seq: int, runs: list[Ticks]) -> None:
    packed = pack_announcement(Announcement(seq, runs))
    assert open_envelope(packed) == Announcement(seq, runs)
    assert len(packed) <= ANNOUNCEMENT_BYTES


@settings(max_examples=500)
@given(st.binary(max_size=60))
def test_any_bytes_are_opened_or_refused(data: bytes) -> None:
    open_envelope(data)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([A, B, C]), st.booleans(), st.integers(1, 4), st.binary(max_size=40)), max_size=10
    )
)
def test_a_peer_that_says_anything_at_all_breaks_nobody(said: list[tuple[Address, bool, int, bytes]]) -> None:
    """Well-formed or not, in turn or not: dropped or staged, never an exception, never a broken invariant."""
    ordering, _ = alone(C)
    ordering.on_multicast(0, B, [pack_stub(1, 1, 0b100)])
    for sender, is_parcel, kind, body in said:
        item = bytes([kind]) + body
        take = ordering.on_parcels if is_parcel else ordering.on_multicast
        take(0, sender, [item])
        ordering.flush(0, True)
        ordering.check()
