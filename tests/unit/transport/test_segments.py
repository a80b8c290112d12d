import socket
import struct

from hypothesis import given
from hypothesis import strategies as st

from ringcast.transport.segments import MOST_BYTES, MOST_SEGMENTS, cut, train_length

GRO = 104


def sizes(*lengths: int) -> list[bytes]:
    return [bytes(length) for length in lengths]


def test_a_train_is_of_equal_frames_of_which_the_last_may_be_shorter() -> None:
    assert train_length(sizes(100, 100, 100), 0) == 3
    assert train_length(sizes(100, 100, 40, 100), 0) == 3
    assert train_length(sizes(100, 100, 140, 100), 0) == 2
    assert train_length(sizes(40, 100, 100), 0) == 1
    assert train_length(sizes(40, 100, 100), 1) == 2


def test_an_empty_frame_travels_alone() -> None:
    assert train_length(sizes(0, 0, 0), 0) == 1
    assert train_length(sizes(100, 0, 100), 0) == 1


def test_a_train_is_bounded_in_frames_and_in_bytes() -> None:
    assert train_length(sizes(*[10] * 500), 0) == MOST_SEGMENTS
    assert train_length(sizes(*[1400] * 100), 0) == MOST_BYTES // 1400
    assert train_length(sizes(60_000, 60_000), 0) == 1
    assert train_length(sizes(65_507, 1), 0) == 1


@given(st.lists(st.sampled_from([0, 1, 7, 7, 7, 1400, 1400, 1400, 30_000]), min_size=1, max_size=200))
def test_trains_take_every_frame_once_and_can_be_cut_where_they_were_joined(lengths: list[int]) -> None:
    frames, start = sizes(*lengths), 0
    while start < len(frames):
        train = frames[start : start + train_length(frames, start)]
        assert 1 <= len(train) <= MOST_SEGMENTS
        joined = b"".join(train)
        if len(train) > 1:
            assert len(joined) <= MOST_BYTES
            assert cut(joined, [(socket.IPPROTO_UDP, GRO, struct.pack("@i", len(train[0])))]) == train
        start += len(train)
    assert start == len(frames)


def test_a_read_without_a_segment_size_is_one_datagram() -> None:
    assert cut(b"abcdef", []) == [b"abcdef"]
    assert cut(b"abcdef", [(socket.SOL_SOCKET, 1, b"\x02\x00\x00\x00")]) == [b"abcdef"]
    assert cut(b"", []) == [b""]


def test_a_segment_size_cuts_and_a_useless_one_does_not() -> None:
    def with_size(size: int) -> list[bytes]:
        return cut(b"abcdef", [(socket.IPPROTO_UDP, GRO, struct.pack("@i", size))])

    assert with_size(4) == [b"abcd", b"ef"]
    assert with_size(6) == with_size(9) == with_size(0) == with_size(-1) == [b"abcdef"]
