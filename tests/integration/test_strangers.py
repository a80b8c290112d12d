"""A stranger with a raw socket beside a real group: what it forges, floods and asks for changes nothing in the group.

It knows the group's name, its members and its wire; what it cannot do is read what is sent to a member's endpoint.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

import ringcast
from integration.floods import Outcome
from integration.strangers import GROUP, Stranger, free_port, still_works, with_group
from ringcast import Group
from ringcast.core import Ack, Channel, Envelope, Highest, Loose, Packet, Piece, Reset, Run, Unrepairable
from ringcast.core.control import (
    Announce,
    Ask,
    AskView,
    Cancel,
    Control,
    Heartbeat,
    Hello,
    Join,
    Leave,
    RollCallId,
    Suspicion,
)
from ringcast.core.control import Stranger as NotOfUs
from ringcast.model import Address, View, ViewId
from ringcast.runtime.origins import OUTSIDER_PER_SECOND, TOO_MANY, UNPROVED
from ringcast.security import NOT_SEALED
from ringcast.transport import Endpoint, UdpTransport
from ringcast.wire import Codec, encode_control

SOON = 0.3  # seconds in which a forged frame is read by everybody


def on_stream(sender: Address, message: Control, epoch: int = 1_000) -> Run:
    data = encode_control(message)
    return Run(Channel.CONTROL, epoch, sender, 1, 0, [data], len(data))


def forgeries(view: View, victim: Address) -> dict[str, Packet]:
    """What would cost a member its place, or the group its peace, if it were the victim's word."""
    roll_call = RollCallId(view.id, view.rank(victim), 7)
    later = ViewId(view.id.number + 1, victim)
    return {
        "Leave": on_stream(victim, Leave()),
        "Leave alone": Loose(Leave()),
        "Ask": on_stream(victim, Ask(roll_call, (), ())),
        "Ask alone": Loose(Ask(roll_call, (), ())),
        "Cancel": on_stream(victim, Cancel(roll_call)),
        "Suspicion": Loose(Suspicion(tuple(member for member in view.members if member != victim))),
        "Stranger": Loose(NotOfUs(later)),
        "Highest": Highest(Channel.GROUP, view.id, 1_000, 1_000),
        "Unrepairable": Unrepairable(Channel.GROUP, view.id, 1_000),
        "Ack": Ack(Channel.GROUP, view.id, 2**62),
        "run": Run(Channel.GROUP, view.id, victim, 1, 0, [b"forged"], 6),
        "run beyond": Run(Channel.GROUP, view.id, victim, 1_001, 1_000, [b"forged"], 6),
        "private run": Run(Channel.PEER, 1_000, victim, 1, 0, [b"forged"], 6),
        "Reset": Reset(Channel.CONTROL, 1),
        "Heartbeat of a later view": Loose(Heartbeat(later, 2**62)),
    }


def drops(group: Group, reason: str) -> int:
    lost: dict[str, int] = group._driver.transport.counters.lost
    return lost.get(reason, 0)


@with_group(3)
async def test_nothing_in_a_members_name_is_taken_from_elsewhere(groups: list[Group]) -> None:
    view, stranger = groups[0].view, Stranger()
    count = sum(drops(group, UNPROVED) for group in groups)
    for victim in view.members:
        for packet in forgeries(view, victim).values():
            for to in view.members:
                if to != victim:
                    stranger.send(to, packet, claim=victim)
                    count += 1
    await asyncio.sleep(SOON)
    read = await still_works(groups)
    assert [group.view for group in groups] == [view] * 3, "nobody left, was evicted or came back"
    assert all(b"forged" not in payloads for payloads in read)
    assert sum(drops(group, UNPROVED) for group in groups) == count
    stranger.close()


@with_group(2)
async def test_a_later_incarnation_at_a_members_place_must_be_there(groups: list[Group]) -> None:
    view, stranger = groups[0].view, Stranger()
    member = view.members[1]
    successor = Address(member.name, member.incarnation + 1, member.endpoint)
    join = Join(False, False, 64, 1 << 16)
    for message in (on_stream(successor, join), Loose(Hello())):
        stranger.send(view.members[0], message, claim=successor)
    await asyncio.sleep(SOON)
    await still_works(groups)
    assert [group.view for group in groups] == [view] * 2
    stranger.close()


@with_group(3)
async def test_nobody_is_sent_more_than_was_sent_in_its_name(groups: list[Group]) -> None:
    """Reflection: the sender of the question names another's endpoint; the answers would go there."""
    stranger, victim = Stranger("attacker"), Stranger("victim")
    member = groups[0].members[0]
    for packet in (Loose(AskView()), Loose(Hello()), Loose(Announce(None, None)), on_stream(victim.address, Leave())):
        for _ in range(25):
            stranger.send(member, packet, claim=victim.address)
            await asyncio.sleep(0.01)
            victim.listen()
    await asyncio.sleep(2)
    victim.listen()
    assert 0 < victim.received <= stranger.sent
    stranger.close()
    victim.close()


@with_group(2)
async def test_a_stranger_that_proves_where_it_is_gets_an_answer_and_nothing_else(groups: list[Group]) -> None:
    view, stranger = groups[0].view, Stranger(honest=True)
    for member in view.members:
        stranger.frames.clear()
        await stranger.get_known(member, Loose(Hello()))
    for packet in forgeries(view, view.members[0]).values():
        for member in view.members:
            stranger.send(member, packet)
    private = Run(Channel.PEER, 1, stranger.address, 1, 0, [b"forged"], 6)
    forged = Run(Channel.GROUP, view.id, view.members[0], 1, 0, [b"forged"], 6)
    for packet in (private, forged, Loose(AskView())):
        stranger.send(view.members[1], packet)
    await asyncio.sleep(SOON)
    read = await still_works(groups)
    assert [group.view for group in groups] == [view] * 2
    assert all(b"forged" not in payloads for payloads in read)
    stranger.listen()
    assert any(b"creator" in frame or b"members" in frame for frame in stranger.frames), "its AskView was answered"
    stranger.close()


@with_group(2)
async def test_of_a_flood_of_announcements_few_are_read(groups: list[Group]) -> None:
    """Case of a well-formed flood: past its allowance a stranger's frame costs what garbage costs."""
    view, stranger = groups[0].view, Stranger(honest=True)
    await stranger.get_known(view.members[0], Loose(Hello()))
    for number in range(20 * OUTSIDER_PER_SECOND):
        other = ViewId(7, Address(f"s{number}", 1, stranger.address.endpoint))
        stranger.send(view.members[0], Loose(Announce(other, None)))
        if number % 50 == 0:
            await asyncio.sleep(0)
    await asyncio.sleep(SOON)
    assert drops(groups[0], TOO_MANY) > 15 * OUTSIDER_PER_SECOND
    await still_works(groups)
    assert groups[0].view == view
    stranger.close()


@with_group(2)
async def test_no_number_from_outside_stops_the_views_that_come(groups: list[Group]) -> None:
    """One datagram once raised the number of views beyond what a frame can hold, for good."""
    view, stranger = groups[0].view, Stranger(honest=True)
    for member in view.members:
        stranger.frames.clear()
        await stranger.get_known(member, Loose(Hello()))
    for number in (2**33, 2**48 - 1, 2**48, 2**62, 2**63 - 1):
        for creator in (*view.members, stranger.address):
            high = ViewId(number, creator)
            said = (Ask(RollCallId(high, 0, number), (), ()), Announce(high, creator), Heartbeat(high, number))
            for message in (*said, NotOfUs(high), Cancel(RollCallId(high, 0, number))):
                for member in view.members:
                    stranger.send(member, Loose(message))
                    stranger.send(member, on_stream(stranger.address, message, number))
    await asyncio.sleep(SOON)
    assert [group.view for group in groups] == [view] * 2
    joining = ringcast.join(GROUP, name="late", seeds=[view.members[0].endpoint], inspect=False, leave_on_sigterm=False)
    async with joining as late:
        while len(groups[1].members) < 3:
            await asyncio.sleep(0.01)
        assert late.view.id.number == view.id.number + 1, "the next number, and no other"
        await still_works([*groups, late])
    stranger.close()


@with_group(2)
async def test_unfinished_messages_of_strangers_take_no_memory(groups: list[Group]) -> None:
    """Pieces of messages that never end, on every stream, from processes that may speak: 40 MB, of which 8 are held."""
    member, before = groups[0].members[0], resident_bytes()
    strangers = [Stranger(f"s{number}", honest=True) for number in range(5)]
    for stranger in strangers:
        await stranger.get_known(member, Loose(Hello()))
    for first in range(1, 9 * 16):
        for stranger in strangers:
            for channel in (Channel.CONTROL, Channel.STATE, Channel.PEER):
                stranger.send(member, Run(channel, 1, stranger.address, first, 0, [Piece(bytes(20_000))], 20_000))
            await asyncio.sleep(1 / OUTSIDER_PER_SECOND)
    await asyncio.sleep(SOON)
    assert resident_bytes() - before < 24 << 20
    await still_works(groups)
    for stranger in strangers:
        stranger.close()


@with_group(2)
async def test_empty_and_senseless_messages_on_every_stream_raise_nothing(groups: list[Group]) -> None:
    """Also from a member's own place: an empty STATE message once reached the event loop."""
    view, liar = groups[0].view, groups[1]
    codec = Codec(GROUP, liar.me)
    for epoch, channel in enumerate((Channel.CONTROL, Channel.STATE, Channel.PEER), 1 << 40):
        for item in (b"", b"\0", Piece(b""), Envelope(b""), bytes(3)):
            run = Run(channel, epoch, liar.me, 1, 0, [item] * 3, 3 * len(item))
            liar._driver.transport.send(Endpoint.parse(groups[0].me.endpoint), codec.encode(run))
    await asyncio.sleep(SOON)
    assert [group.view for group in groups] == [view] * 2
    assert not any("raised" in reason for reason in groups[0].drops), groups[0].drops
    await still_works(groups)


@pytest.mark.parametrize(
    ("changed", "holds"),
    [({}, True), ({"during": 1_590.0}, False), ({"answered": 1.1}, False), ({"same_view": False}, False)],
    ids=["good", "lost goodput", "amplified", "another view"],
)
def test_a_flood_that_has_an_effect_is_told(changed: dict[str, float], holds: bool) -> None:
    """The floods themselves are run by `make attacks`."""
    good = Outcome("garbage", 2_000.0, 1_610.0, 20_000.0, 6.0, 0.1, True)
    assert replace(good, **changed).holds is holds  # type: ignore[arg-type]


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("key", [None, bytes(range(32))], ids=["clear", "sealed"])
def test_a_fixed_group_is_as_closed_to_strangers(key: bytes | None) -> None:
    async def story() -> None:
        places = {name: f"127.0.0.1:{free_port()}" for name in "AB"}
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            groups = []
            for name, place in places.items():
                opening = ringcast.open_fixed(GROUP, name, places, transport=UdpTransport(place), key=key)
                groups.append(await stack.enter_async_context(await opening))
            stranger, view = Stranger(), groups[0].view
            for victim in view.members:
                for packet in forgeries(view, victim).values():
                    for to in view.members:
                        stranger.send(to, packet, claim=victim)
            await asyncio.sleep(SOON)
            read = await still_works(groups)
            assert all(b"forged" not in payloads for payloads in read)
            assert all(drops(group, UNPROVED if key is None else NOT_SEALED) > 0 for group in groups)
            stranger.close()

    asyncio.run(story())


@pytest.mark.parametrize("kind", ["udp", "tcp"])
def test_a_group_forms_where_everybody_proves_where_it_is(kind: str) -> None:
    @with_group(4, transport=kind)
    async def four(groups: list[Group]) -> None:
        await still_works(groups)

    run: Callable[[], None] = four
    run()
