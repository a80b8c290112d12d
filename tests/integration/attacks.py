"""What strangers and lying members can do to a real group of three on loopback: a table, made by `make attacks`.

Each attack is made against all members; afterwards every member must still be in the view it was in, and read what is
sent then. Ends with 1 if any attack changed anything.

Then the same by one who knows everything but the key of a group that has one: in clear, sealed with another key, and
with the frames that a member sent. There nothing of it may reach a node, and nothing is answered. Then the floods of
datagrams (floods.py), and what is tried over TCP, with TLS and over HTTP (stream_floods.py): processes of their own.
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

from integration.floods import KEY, floods, in_the_name_of
from integration.strangers import GROUP, Stranger, still_works, with_group
from integration.stream_floods import SECURITY, attacks
from ringcast import Group
from ringcast.core import Channel, Loose, Packet, Request, Run
from ringcast.core.control import DECLARED, Control, Hello
from ringcast.model import Address, Entry, View, ViewId
from ringcast.security import Key, Keyring, Seal
from ringcast.transport import Endpoint, SealedTransport
from ringcast.wire import Codec, encode_control

KINDS: tuple[type, ...] = tuple(DECLARED)
SOON = 0.15
REFLECTED_SECONDS = 30.0


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
    attacks.rows.append(await reflected(groups))
    return attacks.rows


async def reflected(groups: list[Group], seconds: float = REFLECTED_SECONDS) -> Row:
    """From many places everything is said and asked that makes a member answer, in the name of one who never asked."""
    attackers, victim = [Stranger(f"attacker{number}") for number in range(32)], Stranger("victim")
    view, epoch = groups[0].view, 1 << 41
    packets: list[Packet] = [Request(Channel.GROUP, view.id, member, ((1, 1_000),)) for member in view.members]
    for message in messages(victim.address, view).values():
        epoch += 1
        packets += [Loose(message), on_stream(victim.address, message, epoch)]
    began, number = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        for _ in range(5):
            attacker, packet = attackers[number % len(attackers)], packets[number % len(packets)]
            attacker.send(view.members[number % len(view.members)], packet, claim=victim.address)
            number += 1
        victim.listen()
        await asyncio.sleep(0.005)
    await asyncio.sleep(1)
    victim.listen()
    sent = sum(attacker.sent for attacker in attackers)
    for stranger in (*attackers, victim):
        stranger.close()
    share = victim.received / sent
    words = f"{victim.received:,} bytes to the victim for {sent:,} in its name, in {seconds:.0f} s: {share:.2f}"
    return "reflection, every message in the name of another", words, 0 < share <= 1


async def with_a_key(groups: list[Group]) -> list[Row]:
    """By one who knows everything but the key. Its frames name the right key where that helps it."""
    attacks = Attacks(groups)
    reached: list[Address] = []
    for group in groups:
        _note_senders(group, reached)
    sent = _sent_by(groups[0])
    attacks.forms = [bytes, sealed_with(Key(b"x" * 32)).seal, named, sealed_with(KEY, "another").seal]
    await attacks.forged_by_a_stranger()
    await attacks.said_by_one_without_the_key()
    attacks.forms = [bytes]
    await attacks._broken(sent[:12])
    attacks.stranger.listen()
    outside = [sender for sender in reached if sender not in attacks.view]
    attacks.rows.append(("what reached a node of all that", f"{len(outside)} frames", not outside))
    answered = attacks.stranger.received
    attacks.rows.append(("what was answered to the stranger", f"{answered} bytes", not answered))
    return [(f"{name} (with a key)", outcome, held) for name, outcome, held in attacks.rows]


def named(frame: bytes) -> bytes:
    """Sealed with a key of one's own under the name of the right one."""
    return in_the_name_of(KEY, frame)


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
    for key in (False, True):
        for outcome in asyncio.run(floods(key)):
            rows.append((f"flood of {outcome.name}{' (with a key)' * key}", str(outcome), outcome.holds))
    for security in SECURITY:
        for held in asyncio.run(attacks(security)):
            rows.append((f"{held.name} (TCP, {security})", str(held), held.holds))
    for name, outcome, _ in rows:
        print(f"{name:<60} {outcome}")
    failed = [name for name, _, held in rows if not held]
    print(f"{len(rows)} attacks, {len(failed)} with an effect" + "".join(f"\n  {name}" for name in failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
