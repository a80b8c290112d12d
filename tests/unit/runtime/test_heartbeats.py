"""The thread that says "I am alive": to whom, with which progress, and that it has ended when it was stopped."""

import asyncio
import threading
from collections.abc import Iterator

from ringcast.core import Loose
from ringcast.core.control import Heartbeat
from ringcast.model import Address, ViewId
from ringcast.runtime.heartbeats import Audience, Heartbeats
from ringcast.transport import Endpoint, MemoryHub, MemoryTransport
from ringcast.wire import Codec

ME, B, C = (Address(name, 1, f"mem:{name}") for name in "ABC")
VIEW = ViewId(3, ME)
TO_B, TO_C = (B, Endpoint.in_memory("B")), (C, Endpoint.in_memory("C"))
AUDIENCE = Audience(VIEW, (TO_B,), (TO_B, TO_C))


class Listener:
    """Two members that listen, each with its own inbox."""

    def __init__(self) -> None:
        self.hub = MemoryHub()
        self.heard: dict[Address, list[Heartbeat]] = {B: [], C: []}

    async def open(self) -> MemoryTransport:
        for who in (B, C):
            codec, heard = Codec("g", who), self.heard[who]
            await MemoryTransport(self.hub, who.name).open(lambda fs, c=codec, h=heard: h.extend(_beats(c, fs)))  # type: ignore[misc]
        transport = MemoryTransport(self.hub, "A")
        await transport.open(lambda frames: None)
        return transport


def _beats(codec: Codec, frames: list[bytes]) -> Iterator[Heartbeat]:
    for frame in frames:
        decoded = codec.decode(frame)
        assert isinstance(decoded, tuple)
        sender, packet = decoded
        assert sender == ME and isinstance(packet, Loose) and isinstance(packet.message, Heartbeat)
        yield packet.message


def test_watchers_hear_the_view_and_the_turns_of_the_loop() -> None:
    async def story() -> None:
        listener = Listener()
        turns = iter([7, 8])
        beats = Heartbeats(Codec("g", ME), await listener.open(), lambda: next(turns), 10**12)
        beats._audience = AUDIENCE
        beats.beat()
        beats.beat()
        await asyncio.sleep(0.01)
        assert listener.heard == {B: [Heartbeat(VIEW, 7), Heartbeat(VIEW, 8)], C: []}

    asyncio.run(story())


def test_while_the_loop_stands_still_everybody_hears_it() -> None:
    async def story() -> None:
        listener = Listener()
        beats = Heartbeats(Codec("g", ME), await listener.open(), lambda: 7, 10**12)
        beats._audience = AUDIENCE
        for _ in range(4):
            beats.beat()
        await asyncio.sleep(0.01)
        assert len(listener.heard[B]) == 4 and listener.heard[C] == [Heartbeat(VIEW, 7)] * 2

    asyncio.run(story())


def test_a_new_audience_hears_at_once_and_stop_ends_the_thread() -> None:
    async def story() -> None:
        listener = Listener()
        beats = Heartbeats(Codec("g", ME), await listener.open(), lambda: 7, 10**12)
        beats.tell(AUDIENCE)
        while not listener.heard[B]:
            await asyncio.sleep(0.001)
        beats.tell(Audience(VIEW, (TO_C,), (TO_C,)))
        while not listener.heard[C]:
            await asyncio.sleep(0.001)
        beats.stop()
        assert "ringcast heartbeats" not in [thread.name for thread in threading.enumerate()]
        beats.tell(AUDIENCE)
        assert "ringcast heartbeats" not in [thread.name for thread in threading.enumerate()]

    asyncio.run(story())
