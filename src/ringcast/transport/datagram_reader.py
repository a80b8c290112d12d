"""The receiving half of a UDP transport: all datagrams of one wake, read one by one as they are asked for.

Every datagram is read into the same buffer, which stays in the processor's cache; whoever takes a frame copies out of
it what it keeps before it takes the next (decision 0035).
While small datagrams come one by one, the read that finds nothing is saved; if there is a second one nevertheless, the
loop wakes us again at once.
A wake is bounded in reads, hence in bytes, so that timers and other sockets get their turn under full load.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

from ringcast.transport import segments
from ringcast.transport.counters import CUT_IN, NETWORK_REFUSED, Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.protocol import Frame, Guard, OnFrames

READS_PER_WAKE = 32  # about two megabytes: with several senders, some frames of each
_READ_BYTES = 65_536  # no datagram is larger, so none is ever cut short
_SMALL = 4_096  # what comes alone, as a rule: one message of a conversation, an ack, a heartbeat
_WAKES_ALONE = 7  # so many do not look for a second datagram, after one that looked and found a small one alone


class DatagramReader:
    """Reads one socket and hands over what it holds."""

    def __init__(
        self,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        counters: Counters,
        cut: CutSwitch,
        on_frames: OnFrames,
        *,
        trains: bool,
    ) -> None:
        self._socket, self._loop, self._counters, self._cut, self._on_frames = sock, loop, counters, cut, on_frames
        self._trains = trains
        self.guard: Guard | None = None
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._wakes_alone = 0  # so many more wakes expect one small datagram and no second
        self._is_closed = False
        loop.add_reader(sock, self._on_readable)

    def close(self) -> None:
        self._is_closed = True
        self._loop.remove_reader(self._socket)

    def _on_readable(self) -> None:
        self._counters.wakes += 1
        if self._trains or self._cut.blocked:
            frames = self._read_with_source()
        else:
            frames = self._read() if self.guard is None else self._read_guarded(self.guard)
        self._on_frames(frames)
        for _ in frames:  # What nobody took is dropped; left in the socket, it would wake us for ever.
            pass

    def _read(self) -> Iterator[Frame]:
        counters, buffer, read, number, size = self._counters, self._buffer, self._socket.recv_into, 0, 0
        try:
            for number in range(READS_PER_WAKE):
                size = read(buffer)
                counters.frames_in += 1
                counters.bytes_in += size
                yield buffer[:size]
                if number == 0 and self._wakes_alone and size <= _SMALL:
                    self._wakes_alone -= 1
                    return
        except OSError as error:
            self._note(error, number, size)

    def _read_guarded(self, guard: Guard) -> Iterator[Frame]:
        counters, buffer, read, number, size = self._counters, self._buffer, self._socket.recvfrom_into, 0, 0
        try:
            for number in range(READS_PER_WAKE):
                size, source = read(buffer)
                counters.frames_in += 1
                counters.bytes_in += size
                at = source if len(source) == 2 else source[:2]
                frame = guard(at, buffer[:size], at)
                if frame is not None:
                    yield frame
                if number == 0 and self._wakes_alone and size <= _SMALL:
                    self._wakes_alone -= 1
                    return
        except OSError as error:
            self._note(error, number, size)

    def _read_with_source(self) -> Iterator[Frame]:
        """The slower read: it also learns where a datagram came from and whether it is a train."""
        counters, buffer, read = self._counters, self._buffer, self._socket.recvmsg_into
        try:
            for _ in range(READS_PER_WAKE):
                size, ancillary, _, source = read((buffer,), segments.ANCILLARY_BYTES)
                datagrams = segments.cut(buffer[:size], ancillary)
                if source[:2] in self._cut.blocked:
                    counters.lose(CUT_IN, len(datagrams))
                    continue
                counters.frames_in += len(datagrams)
                counters.bytes_in += size
                if self.guard is None:
                    yield from datagrams
                    continue
                at = source[:2]
                for datagram in datagrams:
                    frame = self.guard(at, datagram, at)
                    if frame is not None:
                        yield frame
        except OSError as error:
            self._note(error)

    def _note(self, error: OSError, number: int = 0, size: int = 0) -> None:
        """The end of a wake: nothing more is there, the reader was closed by what it read, or the network complains.

        `number` datagrams were read, the last one of this size.
        """
        if not isinstance(error, BlockingIOError):
            if not self._is_closed:
                self._counters.lose(NETWORK_REFUSED)
        elif number == 1 and size <= _SMALL:
            self._wakes_alone = _WAKES_ALONE
