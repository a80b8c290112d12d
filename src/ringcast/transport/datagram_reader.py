"""The receiving half of a UDP transport: all datagrams of one wake, read one by one as they are asked for.

Every datagram is read into the same buffer, which stays in the processor's cache; whoever takes a frame copies out of
it what it keeps before it takes the next (decision 0035).
While small datagrams come one by one, the read that finds nothing is saved; if there is a second one nevertheless, the
loop wakes us again at once.
A wake is bounded in reads, hence in bytes, so that timers and other sockets get their turn under full load.
Where the native part was built, it reads and looks for frames that need no question (decision 0211); `_read` and
`_read_guarded` do the same.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ringcast.transport import segments
from ringcast.transport.counters import CUT_IN, NETWORK_REFUSED, Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.native import datagrams
from ringcast.transport.protocol import Foretelling, Frame, Guard, OnFrames, Passes

if TYPE_CHECKING:
    from ringcast.native import _datagrams

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
        self._guard: Guard | None = None
        self._passes: Passes | None = None  # what the guard need not be asked for
        buffer = bytearray(_READ_BYTES)
        self._buffer = memoryview(buffer)
        self._native: _datagrams.Reader | None = None
        if datagrams is not None and isinstance(sock, socket.socket):
            self._native = datagrams.Reader(sock.fileno(), buffer, READS_PER_WAKE, _SMALL, _WAKES_ALONE)
        self._wakes_alone = 0  # so many more wakes expect one small datagram and no second
        self._is_closed = False
        loop.add_reader(sock, self._on_readable)

    @property
    def guard(self) -> Guard | None:
        return self._guard

    @guard.setter
    def guard(self, guard: Guard | None) -> None:
        self._guard = guard
        self._passes = guard.passes if isinstance(guard, Foretelling) else None

    def close(self) -> None:
        self._is_closed = True
        if self._native is not None:
            self._native.close()
        self._loop.remove_reader(self._socket)

    def _on_readable(self) -> None:
        self._counters.wakes += 1
        if self._trains or self._cut.blocked:
            frames = self._read_with_source()
        elif self._native is not None:
            self._read_natively(self._native)
            return
        else:
            frames = self._read() if self._guard is None else self._read_guarded(self._guard)
        self._on_frames(frames)
        for _ in frames:  # What nobody took is dropped; left in the socket, it would wake us for ever.
            pass

    def _read_natively(self, reader: _datagrams.Reader) -> None:
        frames, counters = reader.wake(self._guard, self._passes), self._counters
        self._on_frames(frames)
        for _ in frames:  # as above
            pass
        counters.frames_in += reader.frames_in
        counters.bytes_in += reader.bytes_in
        if reader.error and not self._is_closed:
            counters.lose(NETWORK_REFUSED)

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
                if self._guard is None:
                    yield from datagrams
                    continue
                at = source[:2]
                for datagram in datagrams:
                    frame = self._guard(at, datagram, at)
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
