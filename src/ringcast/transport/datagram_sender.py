"""The sending half of a UDP transport.

Frames go out in bundles: some to the first destination, the same to the next. A receiver then finds several at once
when it wakes, which saves it wake-ups (decision 0030).

Invariants: a frame is offered to each destination once; at most one bundle is unfinished (some of it was sent when the
socket filled up), and it is finished before anything else is taken.
It does not choose destinations, pace or repair; what the network refuses is counted.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence

from ringcast.transport import segments
from ringcast.transport.counters import NETWORK_REFUSED, TOO_BIG_FOR_PATH, Counters
from ringcast.transport.endpoint import Endpoint
from ringcast.transport.native import datagrams

Train = Sequence[bytes]
"""Frames that leave in one system call; just one, unless the kernel cuts."""

Step = tuple[Endpoint, Train]

TRAINS_PER_BUNDLE = 8  # half a megabyte; 4 to 16 measured alike
MOST_ADDRESSES = 1_024  # destinations remembered
_MTU_DISCOVER, _MTU_DISCOVER_6 = 10, 23  # IP_MTU_DISCOVER, IPV6_MTU_DISCOVER
_MAY_SPLIT, _ALWAYS_WHOLE = 0, 2  # IP_PMTUDISC_DONT, IP_PMTUDISC_DO
_SEGMENTATION_REFUSED = (errno.EINVAL, errno.EIO, errno.EOPNOTSUPP)


class DatagramSender:
    """Sends frames as datagrams, in trains where the kernel cuts them, and waits for room when the socket is full."""

    def __init__(
        self,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        counters: Counters,
        on_room: Callable[[], None],
        group: Endpoint | None,
        whole: int,
        *,
        trains: bool,
    ) -> None:
        self.trains = trains
        self.sends_to_group = 0
        self._group = group
        self._whole = whole  # a larger frame may be split by IP
        self._socket, self._loop, self._counters, self._on_room = sock, loop, counters, on_room
        self._unfinished: Sequence[Step] = ()
        self._addresses: dict[Endpoint, bytes] = {}  # destinations as the kernel writes them
        self._waits = False

    def offer_one(self, to: Endpoint, frame: bytes) -> bool:
        """Send one frame to one destination; False if the socket is full."""
        if not self._waits:
            address = self._addresses.get(to) or self._address(to)
            if address is not None and self._put_at_once(to, address, [frame], 0):
                return True
            if self._put(to, (frame,)):
                return True
        self._refuse(0)
        return False

    def offer(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        """Send the frames to each of `to`; how many, from the front, were taken."""
        if self._waits:
            return self._refuse(0)
        if not self.trains:
            return self._offer_apart(to, frames)
        taken = 0
        while taken < len(frames):
            bundle = self._next_bundle(frames, taken)
            steps = [(destination, train) for destination in to for train in bundle]
            done = self._run(steps)
            if 0 == done < len(steps):
                return self._refuse(taken)
            taken += sum(map(len, bundle))
            if done < len(steps):
                self._unfinished = steps[done:]
                return self._refuse(taken)
        return taken

    def _offer_apart(self, to: Sequence[Endpoint], frames: Sequence[bytes]) -> int:
        """The same where every frame leaves alone."""
        some = len(frames) if len(to) == 1 else TRAINS_PER_BUNDLE
        for begin in range(0, len(frames), some):
            bundle = list(frames[begin : begin + some])
            for index, destination in enumerate(to):
                done = self._put_all(destination, bundle)
                if done == len(bundle):
                    continue
                if len(to) == 1 or done == index == 0:
                    return self._refuse(begin + done)
                later = [(place, (frame,)) for place in to[index + 1 :] for frame in bundle]
                self._unfinished = [(destination, (frame,)) for frame in bundle[done:]] + later
                return self._refuse(begin + len(bundle))
        return len(frames)

    def close(self) -> None:
        self._loop.remove_writer(self._socket)

    def _next_bundle(self, frames: Sequence[bytes], start: int) -> list[Train]:
        bundle: list[Train] = []
        while start < len(frames) and len(bundle) < TRAINS_PER_BUNDLE:
            length = segments.train_length(frames, start)
            bundle.append(frames[start : start + length])
            start += length
        return bundle

    def _run(self, steps: Sequence[Step]) -> int:
        """Take the steps in order; how many were taken before the socket filled up."""
        for index, (to, train) in enumerate(steps):
            if not self._put(to, train):
                return index
        return len(steps)

    def _refuse(self, taken: int) -> int:
        self._counters.busy += 1
        if not self._waits:
            self._waits = True
            self._loop.add_writer(self._socket, self._on_writable)
        return taken

    def _on_writable(self) -> None:
        done = self._run(self._unfinished)
        self._unfinished = self._unfinished[done:]
        if self._unfinished:
            return
        self._waits = False
        self._loop.remove_writer(self._socket)
        self._on_room()

    def _put_all(self, to: Endpoint, frames: list[bytes]) -> int:
        """Each of them alone; how many, from the front, were taken before the socket filled up."""
        taken, address = 0, self._addresses.get(to) or self._address(to)
        while taken < len(frames):
            if address is not None and len(frames) - taken > 1:
                taken += self._put_at_once(to, address, frames, taken)
            if taken < len(frames):  # The socket is full, or it refuses this one: `_put` finds out.
                if not self._put(to, (frames[taken],)):
                    break
                taken += 1
        return taken

    def _put_at_once(self, to: Endpoint, address: bytes, frames: list[bytes], first: int) -> int:
        assert datagrams is not None
        taken, sent, _ = datagrams.send_all(self._socket.fileno(), address, frames, first)
        if to is self._group:
            self.sends_to_group += taken
        self._counters.frames_out += taken
        self._counters.bytes_out += sent
        return int(taken)

    def _address(self, to: Endpoint) -> bytes | None:
        """Where there is a native part; it is remembered."""
        if datagrams is None or not isinstance(to, tuple):
            return None
        address: bytes | None = datagrams.address(*to)
        if address is not None:
            while len(self._addresses) >= MOST_ADDRESSES:
                self._addresses.pop(next(iter(self._addresses)))
            self._addresses[to] = address
        return address

    def _put(self, to: Endpoint, frames: Train) -> bool:
        try:
            if len(frames) == 1:
                sent = self._put_one(to, frames[0])
            else:
                sent = self._socket.sendmsg(frames, segments.segment_size(len(frames[0])), 0, to)
        except BlockingIOError:
            return False
        except OSError as error:
            self._on_refusal(error, len(frames))
            return True
        if to is self._group:
            self.sends_to_group += 1
        self._counters.frames_out += len(frames)
        self._counters.bytes_out += sent
        return True

    def _put_one(self, to: Endpoint, frame: bytes) -> int:
        if len(frame) <= self._whole:
            return self._socket.sendto(frame, to)
        may_split(self._socket)
        try:
            return self._socket.sendto(frame, to)
        finally:
            keep_whole(self._socket)

    def _on_refusal(self, error: OSError, frames: int) -> None:
        if frames > 1 and error.errno in _SEGMENTATION_REFUSED:
            self.trains = False  # The device on this path cannot cut; what was in the train is repaired above.
        self._counters.lose(TOO_BIG_FOR_PATH if error.errno == errno.EMSGSIZE else NETWORK_REFUSED, frames)


def keep_whole(sock: socket.socket) -> None:
    """Forbid IP to split what this socket sends; a datagram above the path's MTU is refused instead, and counted."""
    _discover_mtu(sock, _ALWAYS_WHOLE)


def may_split(sock: socket.socket) -> None:
    """Let IP split what this socket sends."""
    _discover_mtu(sock, _MAY_SPLIT)


def _discover_mtu(sock: socket.socket, how: int) -> None:
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, _MTU_DISCOVER_6, how)
    else:
        sock.setsockopt(socket.IPPROTO_IP, _MTU_DISCOVER, how)
