"""What strangers and lying members can do to a real group of three on loopback: a table, made by `make attacks`.

Each attack is made against all members while the last of them multicasts; afterwards every member must still be in the
view it was in, and read what is sent then. Goodput is messages delivered per second beside those of an equal time
without attack, in the same run. Ends with 1 if any attack changed anything.

Then the same by one who knows everything but the key of a group that has one: in clear, sealed with another key, and
with the frames that a member sent. There nothing of it may reach a node, and nothing is answered.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
import time
import types
import typing
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from integration.strangers import Stranger, still_works, with_group
from ringcast import Group
from ringcast.core import Channel, Loose, Packet, Run
from ringcast.core.control import DECLARED, Announce, Control, Hello
from ringcast.model import Address, Batch, Entry, Message, View, ViewId
from ringcast.security import Key, Keyring, Seal
from ringcast.transport import Endpoint, SealedTransport
from ringcast.wire import Codec, encode_control

KINDS: tuple[type, ...] = tuple(DECLARED)
SOON = 0.15
FLOOD_SECONDS = 2.0
GROUP = "strangers"
KEY = Key(b"k" * 32)


def sample(kind: typing.Any, about: Address, view: View, number: int = 7) -> typing.Any:
    """A value of this type that names this member and this view."""
    if kind is Address:
        return about
    if kind is ViewId:
        return view.id
    if kind in (int, bool, str):
        return kind(number) if kind is not str else "x"
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return None
    if origin is tuple:
        inner = [one for one in typing.get_args(kind) if one is not Ellipsis]
        if typing.get_args(kind)[-1] is Ellipsis:
            return (sample(inner[0], about, view, number),) if inner[0] in (Address, Entry) else ()
        return tuple(sample(one, about, view, number) for one in inner)
    hints = typing.get_type_hints(kind)
    return kind(**{name: sample(hint, about, view, number) for name, hint in hints.items()})


def messages(about: Address, view: View, number: int = 7) -> dict[str, Control]:
    found: dict[str, Control] = {}
    for kind in KINDS:
        message = sample(kind, about, view, number)
        if kind.__name__ != "Relayed":
            found[kind.__name__] = message
    return found


def on_stream(sender: Address, message: Control, epoch: int) -> Run:
    data = encode_control(message)
    return Run(Channel.CONTROL, epoch, sender, 1, 0, [data], len(data))


Row = tuple[str, str, bool]


def sealed_with(key: Key, group: str = GROUP) -> Seal:
    return Seal(group, Keyring((key,)), os.urandom)


class Attacks:
    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups
        self.view = groups[0].view
        self.stranger = Stranger()
        self.random = Random("attacks")
        self.rows: list[Row] = []
        self.epoch = 1 << 40
        self.forms: list[Callable[[bytes], bytes]] = [bytes]  # in which a frame is sent

    async def note(self, name: str, outcome: str = "") -> None:
        await asyncio.sleep(SOON)
        await still_works(self.groups, b"after " + name.encode())
        same = all(group.view == self.view for group in self.groups)
        self.rows.append((name, outcome or ("no effect" if same else "THE VIEW CHANGED"), same))
        if not same:
            self.view = self.groups[0].view

    def to_all(self, frame: bytes) -> None:
        for member in self.view.members:
            for form in self.forms:
                self.stranger.send_bytes(member, form(frame))

    async def forged_by_a_stranger(self) -> None:
        for name in messages(self.view.members[0], self.view):
            for victim in self.view.members:
                message = messages(victim, self.view)[name]
                codec = Codec(GROUP, victim)
                self.epoch += 1
                self.to_all(codec.encode(Loose(message)))
                self.to_all(codec.encode(on_stream(victim, message, self.epoch)))
            await self.note(f"{name} in a member's name, from elsewhere")

    async def said_by_a_stranger(self) -> None:
        stranger = Stranger("honest", honest=True)
        for member in self.view.members:
            stranger.frames.clear()
            await stranger.get_known(member, Loose(Hello()))
        for name, message in messages(stranger.address, self.view).items():
            if name == "Join":
                continue  # a stranger that asks to join, and may, is none
            for member in self.view.members:
                self.epoch += 1
                stranger.send(member, Loose(message))
                stranger.send(member, on_stream(stranger.address, message, self.epoch))
            await self.note(f"{name} in a stranger's own name")
        stranger.close()

    async def said_by_one_without_the_key(self) -> None:
        codec = Codec(GROUP, self.stranger.address)
        for name, message in messages(self.stranger.address, self.view).items():
            self.epoch += 1
            self.to_all(codec.encode(Loose(message)))
            self.to_all(codec.encode(on_stream(self.stranger.address, message, self.epoch)))
            await self.note(f"{name} in a stranger's own name")

    async def without_the_right(self) -> None:
        """By the last member, which leads nothing, as single datagrams from its own place; about the others."""
        *others, liar = self.groups
        allowed = {"Hello", "Announce", "Heartbeat", "AreYouThere", "AskAbout", "Heard", "AskView", "Staged"}
        codec = Codec(GROUP, liar.me)
        for name, message in messages(others[0].me, self.view).items():
            if name in allowed or name in ("Suspicion", "Stranger"):
                continue  # a member may say these; what it does with them is another member's judgement
            for other in others:
                liar._driver.transport.send(Endpoint.parse(other.me.endpoint), codec.encode(Loose(message)))
            await self.note(f"{name} of a member, alone in a datagram")

    async def broken_frames(self) -> None:
        stream = [Codec(GROUP, member).encode(Loose(Hello())) for member in self.view.members]
        stream += [
            Codec(GROUP, member).encode(Run(Channel.GROUP, self.view.id, member, 1, 0, [b"forged"] * 9, 54))
            for member in self.view.members
        ]
        await self._broken(stream)

    async def _broken(self, stream: list[bytes]) -> None:
        for frame in stream:
            for _ in range(3):
                self.to_all(frame)
        await self.note("replays")
        for frame in stream:
            for at in range(len(frame)):
                self.to_all(frame[:at] + bytes([frame[at] ^ 1 << self.random.randrange(8)]) + frame[at + 1 :])
        await self.note("bit flips, one in each byte")
        for frame in stream:
            for at in range(len(frame)):
                self.to_all(frame[:at])
        await self.note("truncation at each byte")
        foreign = Codec("another", self.view.members[0])
        for message in messages(self.view.members[0], self.view).values():
            self.to_all(foreign.encode(Loose(message)))
        await self.note("every message of a foreign group")
        for number in (2**33, 2**48, 2**62, 2**63 - 1):
            for message in messages(self.view.members[0], self.view, number).values():
                self.to_all(Codec(GROUP, self.view.members[0]).encode(Loose(message)))
        await self.note("huge numbers in every message")

    async def floods(self) -> None:
        garbage = [self.random.randbytes(200) for _ in range(64)]
        proved = Stranger("flood", honest=True)
        for member in self.view.members:
            proved.frames.clear()
            await proved.get_known(member, Loose(Hello()))
        announces = [
            Codec(GROUP, proved.address).encode(Loose(Announce(ViewId(n, proved.address), proved.address)))
            for n in range(64)
        ]
        await self._flood({"garbage": garbage, "well-formed announcements": announces})
        proved.close()

    async def _flood(self, floods: dict[str, list[bytes]]) -> None:
        for name, frames in floods.items():
            before = await self.goodput(None)
            during = await self.goodput(frames)
            share = during / max(1.0, before)
            await self.note(f"flood of {name}", f"goodput {share:.0%} of {before:,.0f} messages/s without")
            self.rows[-1] = (*self.rows[-1][:2], self.rows[-1][2] and share >= 0.8)

    async def goodput(self, flood: list[bytes] | None) -> float:
        """Messages per second at the first member; with ten flooding frames for each message."""
        sender, receiver = self.groups[-1], self.groups[0]
        read = 0

        async def count() -> None:
            nonlocal read
            async for event in receiver:
                read += 1 if isinstance(event, Message) else len(event) if isinstance(event, Batch) else 0

        counting = asyncio.create_task(count())
        began = time.monotonic()
        sent = 0
        while time.monotonic() - began < FLOOD_SECONDS:
            await sender.send(b"x" * 100)
            sent += 1
            for _ in range(10 if flood else 0):
                frame = self.random.choice(flood or [b""])
                host, _, port = receiver.me.endpoint.rpartition(":")
                self.stranger.socket.sendto(frame, (host, int(port)))
            await asyncio.sleep(0.002)
        while read < sent:
            await asyncio.sleep(0.001)
        counting.cancel()
        return read / (time.monotonic() - began)


async def slow_tcp(groups: list[Group]) -> list[Row]:
    """Connections that say little or nothing, on a group over TCP."""
    view = groups[0].view
    rows: list[Row] = []
    host, _, port = view.members[0].endpoint.rpartition(":")
    hello = struct.pack("!4sBB", b"rcst", 1, 14)
    for name, first in (("1,000 silent connections", b""), ("1,000 connections with a hello", hello)):
        lines = []
        for number in range(1_000):
            line = socket.socket()
            line.setblocking(False)
            try:
                line.connect((host, int(port)))
            except BlockingIOError:
                pass
            lines.append(line)
            if number % 16 == 0:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        for number, line in enumerate(lines):
            try:
                line.send(first + (b"127.0.0.1:%04d" % (1_000 + number) if first else b""))
            except OSError:
                pass
        await asyncio.sleep(0.2)
        await still_works(groups, name.encode())
        rows.append((f"{name} (TCP)", "no effect", all(group.view == view for group in groups)))
        for line in lines:
            line.close()
    return rows


def collected(
    size: int, transport: str, body: Callable[[list[Group]], Awaitable[list[Row]]], key: bytes | None = None
) -> list[Row]:
    rows: list[Row] = []

    @with_group(size, transport=transport, key=key)
    async def story(groups: list[Group]) -> None:
        rows.extend(await body(groups))

    story()
    return rows


async def over_udp(groups: list[Group]) -> list[Row]:
    attacks = Attacks(groups)
    await attacks.forged_by_a_stranger()
    await attacks.said_by_a_stranger()
    await attacks.without_the_right()
    await attacks.broken_frames()
    await attacks.floods()
    return attacks.rows


async def with_a_key(groups: list[Group]) -> list[Row]:
    """By one who knows everything but the key. Its frames name the right key where that helps it."""
    attacks = Attacks(groups)
    reached: list[Address] = []
    for group in groups:
        _note_senders(group, reached)
    sent = _sent_by(groups[0])
    attacks.forms = [bytes, sealed_with(Key(b"x" * 32)).seal, _in_the_name_of(KEY), sealed_with(KEY, "another").seal]
    await attacks.forged_by_a_stranger()
    await attacks.said_by_one_without_the_key()
    attacks.forms = [bytes]
    await attacks._broken(sent[:12])
    forged = [_in_the_name_of(KEY)(attacks.random.randbytes(200)) for _ in range(64)]
    await attacks._flood({"forged frames": forged, "replayed frames": sent[-64:]})
    attacks.stranger.listen()
    outside = [sender for sender in reached if sender not in attacks.view]
    attacks.rows.append(("what reached a node of all that", f"{len(outside)} frames", not outside))
    answered = attacks.stranger.received
    attacks.rows.append(("what was answered to the stranger", f"{answered} bytes", not answered))
    return [(f"{name} (with a key)", outcome, held) for name, outcome, held in attacks.rows]


def _in_the_name_of(key: Key) -> Callable[[bytes], bytes]:
    """Sealed with a key of one's own under the name of the right one: it is tried, and is not genuine."""
    forger = sealed_with(Key(b"f" * 32))

    def form(frame: bytes) -> bytes:
        sealed = forger.seal(frame)
        return sealed[:8] + bytes.fromhex(key.name) + sealed[12:]

    return form


def _note_senders(group: Group, reached: list[Address]) -> None:
    node, on_packet = group._node, group._node.on_packet

    def noted(now_ns: int, sender: Address, packet: Packet) -> typing.Any:
        reached.append(sender)
        return on_packet(now_ns, sender, packet)

    node.on_packet = noted  # type: ignore[method-assign]


def _sent_by(group: Group) -> list[bytes]:
    """What this member sends from now on, as one who reads the network has it; the last ten thousand."""
    transport = group._driver.transport
    assert isinstance(transport, SealedTransport)
    sent: list[bytes] = []
    seal = transport.seal.seal

    def kept(frame: bytes) -> bytes:
        sealed = seal(frame)
        sent.append(sealed)
        del sent[:-10_000]
        return sealed

    transport.seal.seal = kept  # type: ignore[method-assign]
    return sent


def main() -> None:
    rows = collected(3, "udp", over_udp) + collected(3, "tcp", slow_tcp)
    rows += collected(3, "udp", with_a_key, KEY.secret)
    for name, outcome, _ in rows:
        print(f"{name:<60} {outcome}")
    failed = [name for name, _, held in rows if not held]
    print(f"{len(rows)} attacks, {len(failed)} with an effect" + "".join(f"\n  {name}" for name in failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
