import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringcast.errors import PeerError
from ringcast.transport import Endpoint
from ringcast.transport.framing import decode_hello, encode_hello, split_frames, with_lengths

LIMIT = 1000
ENDPOINTS = [Endpoint("127.0.0.1", 7001), Endpoint("fe80::1%eth0", 65535), Endpoint.in_memory("A")]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_hello_tells_the_endpoint_and_its_own_length(endpoint: Endpoint) -> None:
    hello = encode_hello(endpoint)
    assert decode_hello(hello + b"more") == (endpoint, len(hello))


def test_a_hello_that_is_not_whole_is_waited_for() -> None:
    hello = encode_hello(ENDPOINTS[0])
    assert [decode_hello(hello[:end]) for end in range(len(hello))] == [None] * len(hello)


def test_a_stream_that_is_no_hello_is_known_by_its_first_byte() -> None:
    with pytest.raises(PeerError, match="does not begin with a hello"):
        decode_hello(b"G")


@given(st.lists(st.binary(max_size=50)), st.integers(0, 1 << 30))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(frames: list[bytes], seed: int) -> None:
    stream = b"".join(with_lengths(frames))
    cuts, found, held = random.Random(seed), [], b""
    while stream:
        size = cuts.randint(1, 60)
        data, stream = held + stream[:size], stream[size:]
        whole, used = split_frames(memoryview(data), LIMIT)
        found += whole
        held = data[used:]
    assert found == frames
    assert held == b""


@given(st.binary(max_size=200))
def test_any_bytes_give_frames_or_a_peer_error_and_hold_back_less_than_one_frame(data: bytes) -> None:
    try:
        frames, used = split_frames(memoryview(data), LIMIT)
    except PeerError:
        return
    assert used == sum(4 + len(frame) for frame in frames)
    assert len(data) - used < 4 + LIMIT


@given(st.binary(max_size=80))
def test_any_bytes_give_a_hello_or_nothing_yet_or_a_peer_error(data: bytes) -> None:
    try:
        hello = decode_hello(b"rcst\x01" + data)
    except PeerError:
        return
    assert hello is None or isinstance(hello[0], Endpoint)


def test_the_limit_is_exact() -> None:
    assert split_frames(memoryview(b"\x00\x00\x03\xe8" + bytes(1000)), LIMIT) == ([bytes(1000)], 1004)
    with pytest.raises(PeerError, match="1001 B is larger than 1000 B"):
        split_frames(memoryview(b"\x00\x00\x03\xe9"), LIMIT)
