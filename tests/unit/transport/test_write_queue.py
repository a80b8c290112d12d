import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringcast.transport.framing import with_lengths
from ringcast.transport.write_queue import WriteQueue


@pytest.fixture
def stream() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def put(queue: WriteQueue, frames: list[bytes]) -> bytes:
    buffers = with_lengths(frames)
    queue.put(buffers, sum(map(len, buffers)))
    return b"".join(buffers)


def drain(sock: socket.socket) -> bytes:
    data = b""
    try:
        while True:
            data += sock.recv(1 << 20)
    except BlockingIOError:
        return data


def test_what_the_socket_takes_is_gone_from_the_queue(stream: tuple[socket.socket, socket.socket]) -> None:
    queue = WriteQueue()
    sent = put(queue, [b"one", b"", b"three"])
    assert queue.frames == 3
    assert queue.write(stream[0]) == len(sent)
    assert (queue.frames, queue.held_bytes) == (0, 0)
    assert drain(stream[1]) == sent
    assert queue.write(stream[0]) == 0


def test_what_a_full_socket_left_follows_later_and_in_order(stream: tuple[socket.socket, socket.socket]) -> None:
    queue, received = WriteQueue(), b""
    sent = put(queue, [b"%06d" % number * 5000 for number in range(100)])
    assert queue.write(stream[0]) < len(sent)
    assert 0 < queue.held_bytes < len(sent)
    while queue.held_bytes:
        received += drain(stream[1])
        queue.write(stream[0])
    assert received + drain(stream[1]) == sent


def test_a_frame_begun_and_not_ended_still_counts_as_held(stream: tuple[socket.socket, socket.socket]) -> None:
    queue = WriteQueue()
    put(queue, [bytes(10_000_000), b"next"])
    queue.write(stream[0])
    assert queue.frames == 2
    queue.clear()
    assert (queue.frames, queue.held_bytes) == (0, 0)


class Sip:
    """A socket that takes so many bytes and is then full."""

    def __init__(self, room: int) -> None:
        self.room, self.taken = room, b""

    def sendmsg(self, buffers: list[bytes]) -> int:
        if self.room == 0:
            raise BlockingIOError
        piece = b"".join(buffers)[: self.room]
        self.room -= len(piece)
        self.taken += piece
        return len(piece)


@given(st.lists(st.binary(max_size=20), max_size=200), st.lists(st.integers(0, 300), max_size=30))
def test_however_it_is_sipped_the_stream_is_the_same_and_counted(frames: list[bytes], sips: list[int]) -> None:
    queue = WriteQueue()
    sent = put(queue, frames)
    received = b""
    for room in [*sips, len(sent) + 1]:
        sip = Sip(room)
        assert queue.write(sip) == len(sip.taken)  # type: ignore[arg-type]
        received += sip.taken
        assert queue.held_bytes == len(sent) - len(received)
    assert received == sent
    assert queue.frames == 0
