"""A stranger with a raw socket beside a real group: what it forges, floods and asks for changes nothing in the group.

It knows the group's name, its members and its wire; what it cannot do is read what is sent to a member's endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from integration.strangers import Stranger, still_works, with_group
from ringcast import Group
from ringcast.core import Ack, Channel, Highest, Loose, Packet, Reset, Run, Unrepairable
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
from ringcast.wire import encode_control

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


@pytest.mark.parametrize("kind", ["udp", "tcp"])
def test_a_group_forms_where_everybody_proves_where_it_is(kind: str) -> None:
    @with_group(4, transport=kind)
    async def four(groups: list[Group]) -> None:
        await still_works(groups)

    run: Callable[[], None] = four
    run()
