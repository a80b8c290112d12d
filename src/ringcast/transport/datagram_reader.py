"""The receiving half of a UDP transport: all datagrams of one wake, as one list.

A wake is bounded in reads, hence in bytes, so that timers and other sockets get their turn under full load.
"""

from __future__ import annotations

import asyncio
import socket

from ringcast.transport import segments
from ringcast.transport.counters import CUT_IN, NETWORK_REFUSED, Counters
from ringcast.transport.cut import CutSwitch
from ringcast.transport.protocol import OnFrames

READS_PER_WAKE = 16  # about a megabyte
_READ_BYTES = 65_536  # no datagram is larger, so none is ever cut short


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
        loop.add_reader(sock, self._on_readable)

    def close(self) -> None:
        self._loop.remove_reader(self._socket)

    def _on_readable(self) -> None:
        frames: list[bytes] = []
        try:
            if self._trains or self._cut.blocked:
                self._read_with_source(frames)
            else:
                self._read(frames)
        except BlockingIOError:
            pass
        except OSError:
            self._counters.lose(NETWORK_REFUSED)
        if frames:
            self._counters.wakes += 1
            self._counters.frames_in += len(frames)
            self._counters.bytes_in += sum(map(len, frames))
            self._on_frames(frames)

    def _read(self, frames: list[bytes]) -> None:
        read = self._socket.recv
        for _ in range(READS_PER_WAKE):
            frames.append(read(_READ_BYTES))

    def _read_with_source(self, frames: list[bytes]) -> None:
        """The slower read: it also learns where a datagram came from and whether it is a train."""
        for _ in range(READS_PER_WAKE):
            data, ancillary, _, source = self._socket.recvmsg(_READ_BYTES, segments.ANCILLARY_BYTES)
            datagrams = segments.cut(data, ancillary)
            if source[:2] in self._cut.blocked:
                self._counters.lose(CUT_IN, len(datagrams))
            else:
                frames += datagrams
