"""A group with a key: it works as without, and nothing of anybody without the key reaches a node."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest

import ringcast
from integration.strangers import GROUP, Stranger, read_payload, still_works, with_group
from integration.test_strangers import drops, forgeries
from ringcast import Group
from ringcast.model import Kind
from ringcast.runtime import GroupKeys
from ringcast.security import Key, Keyring, Seal, seal, write_keyring
from ringcast.trace import read_run
from ringcast.transport import SealedTransport
from ringcast.wire import ENCRYPTED, Codec

KEY, OTHER = Key(bytes(range(32))), Key(bytes(range(100, 132)))


def sealed_frames(group: Group) -> list[bytes]:
    """From now on, all that this member sends, as it is sent."""
    transport = group._driver.transport
    assert isinstance(transport, SealedTransport)
    sent: list[bytes] = []
    genuine = transport.seal.seal

    def keep(frame: bytes) -> bytes:
        sent.append(genuine(frame))
        return sent[-1]

    transport.seal.seal = keep  # type: ignore[method-assign]
    return sent


@pytest.mark.parametrize("kind", ["udp", "tcp"])
def test_a_group_with_a_key_works_as_one_without(kind: str) -> None:
    async def three(groups: list[Group]) -> None:
        sent = sealed_frames(groups[-1])
        payload = b"nobody else reads this" * 5_000
        assert all(payload in read for read in await still_works(groups, payload))
        assert sent and all(frame[:2] == b"RS" and b"nobody else" not in frame for frame in sent)
        status = groups[0].status()
        assert status["keys"]["primary"] == KEY.name and KEY.secret.hex() not in repr(status)

    with_group(3, transport=kind, key=KEY.secret)(three)()


@with_group(3, key=KEY.secret)
async def test_nothing_of_a_stranger_reaches_a_node(groups: list[Group]) -> None:
    """Each attack of one who knows everything but the key; counted by reason, and never answered."""
    view, stranger, chance = groups[0].view, Stranger(), random.Random(21)
    target = groups[0]
    captured = sealed_frames(groups[-1])
    await still_works(groups)
    seen: list[object] = []
    driver, on_packet = target._driver, target._node.on_packet
    genuine = [frame for frame in captured if opened_by(target, frame)]
    assert genuine
    clear = [
        Codec(GROUP, victim).encode(packet) for victim in view.members for packet in forgeries(view, victim).values()
    ]
    wrong, foreign = (Seal(group, Keyring((key,)), os.urandom) for group, key in ((GROUP, OTHER), ("other", KEY)))
    attacks: dict[str, list[bytes]] = {
        seal.NOT_SEALED: clear,
        seal.UNKNOWN_KEY: [wrong.seal(frame) for frame in clear],
        seal.OTHER_GROUP: [foreign.seal(frame) for frame in clear],
        seal.REPLAYED: genuine,
        seal.TRUNCATED: [frame[: chance.randrange(2, seal.OVERHEAD)] for frame in genuine],
        seal.NOT_GENUINE: [flipped(frame, chance) for frame in genuine] + [frame[:-1] for frame in fresh(groups[1], 5)],
    }
    target._node.on_packet = lambda now, sender, packet: seen.append(sender) or on_packet(now, sender, packet)  # type: ignore[method-assign,func-returns-value]
    for reason, frames in attacks.items():
        before = drops(target, reason)
        for frame in frames:
            stranger.send_bytes(target.me, frame)
        while drops(target, reason) < before + len(frames):
            await asyncio.sleep(0.01)
    assert all(sender in view for sender in seen), "only members reached it"
    stranger.listen()
    assert stranger.received == 0
    assert all(b"forged" not in read for read in await still_works(groups, b"and still there"))
    assert [group.view for group in groups] == [view] * 3 and driver is target._driver
    explained = target.explain()
    assert all(reason in explained for reason in attacks)
    stranger.close()


def opened_by(group: Group, frame: bytes) -> bool:
    """Has this frame come to this member?"""
    transport = group._driver.transport
    assert isinstance(transport, SealedTransport)
    return transport.seal.open(frame) == seal.REPLAYED


def flipped(frame: bytes, chance: random.Random) -> bytes:
    """One bit behind the session, which says whose key it is, and not of a number that has come."""
    changed = bytearray(frame)
    changed[seal.SESSION_BYTES + 1] ^= 0x10  # a number that has not come
    changed[chance.randrange(seal.HEAD_BYTES, len(frame))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def fresh(group: Group, count: int) -> list[bytes]:
    transport = group._driver.transport
    assert isinstance(transport, SealedTransport)
    return [transport.seal.seal(b"never sent") for _ in range(count)]


@with_group(2, key=KEY.secret)
async def test_who_has_another_key_or_none_is_not_let_in(groups: list[Group]) -> None:
    view = groups[0].view
    for key in (OTHER.secret, None):
        alone = ringcast.join(GROUP, seeds=[groups[0].me.endpoint], key=key, inspect=False, leave_on_sigterm=False)
        async with alone as elsewhere:
            assert len(elsewhere.members) == 1
            assert f"nobody answers at {groups[0].me.endpoint}" in elsewhere.explain(), "it is told where to look"
    assert "does a process here or there have another key file?" in groups[0].explain()
    assert "does a process have no key" in groups[0].explain()
    assert [group.view for group in groups] == [view] * 2
    assert drops(groups[0], seal.UNKNOWN_KEY) and drops(groups[0], seal.NOT_SEALED)


@with_group(1)
async def test_a_member_without_a_key_is_told_that_others_have_one(groups: list[Group]) -> None:
    (group,) = groups
    joining = ringcast.join(GROUP, seeds=[group.me.endpoint], key=KEY.secret, inspect=False, leave_on_sigterm=False)
    async with joining as other:
        assert len(other.members) == 1
    assert group.drops[ENCRYPTED] > 0 and "give it the others' key" in group.explain()


def test_drops_are_in_the_recording_and_the_key_is_not(tmp_path: Path) -> None:
    async def story() -> None:
        record = tmp_path / "recording"
        joining = ringcast.join(GROUP, key=KEY.secret, record=record, inspect=False, leave_on_sigterm=False)
        async with asyncio.timeout(60), joining as group:
            stranger = Stranger()
            for _ in range(5):
                stranger.send_bytes(group.me, bytes(100))
            while drops(group, seal.NOT_SEALED) < 5:
                await asyncio.sleep(0.01)
            stranger.close()
        everything = b"".join(path.read_bytes() for path in record.rglob("*") if path.is_file())
        assert KEY.secret not in everything
        told = [event for recording in read_run([record]) for event in recording.events if event.kind is Kind.DROP]
        assert told and {event.detail["reason"] for event in told} == {seal.NOT_SEALED}

    asyncio.run(story())


@with_group(3, key=KEY.secret)
async def test_the_key_is_changed_while_the_group_works(groups: list[Group]) -> None:
    view, keyring = groups[0].view, Keyring((KEY,))
    stop = asyncio.Event()

    async def load(group: Group) -> int:
        count = 0
        while not stop.is_set():
            await group.send(b"load")
            count += 1
            await asyncio.sleep(0)
        return count

    reading = [asyncio.create_task(read_payload(group, b"end")) for group in groups]
    loading = asyncio.create_task(load(groups[1]))
    for step in (keyring.with_added(OTHER), keyring.with_added(OTHER).with_primary(OTHER.name), Keyring((OTHER,))):
        for group in groups:
            names = group.reload_keys(step)
            await asyncio.sleep(0.05)
        assert names == [key.name for key in step.keys]
    stop.set()
    count = await loading
    await groups[1].send(b"end")
    for read in await asyncio.gather(*reading):
        assert read.count(b"load") == count
    assert [group.view for group in groups] == [view] * 3


def test_a_key_file_that_is_not_right_leaves_the_old_key_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "g.key"
    write_keyring(path, Keyring((KEY,)), is_new=True)
    monkeypatch.setenv("RINGCAST_KEY_FILE", str(path))

    async def story() -> None:
        async with ringcast.join(GROUP, inspect=False, leave_on_sigterm=False) as group:
            path.write_text("nonsense")
            with pytest.raises(ringcast.ConfigError, match="not a keyring"):
                group.reload_keys()
            assert group.status()["keys"]["primary"] == KEY.name
            write_keyring(path, Keyring((OTHER,)))
            assert group.reload_keys() == [OTHER.name]

    asyncio.run(story())


def test_a_child_of_fork_cannot_seal_with_its_parents_numbers() -> None:
    keys = GroupKeys(GROUP, KEY.secret)
    child = os.fork()
    if child == 0:
        try:
            keys.seal.seal(b"x")
        except ringcast.UsageError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert keys.seal.seal(b"x"), "the parent goes on"


def test_key_and_unencrypted_contradict_each_other() -> None:
    with pytest.raises(ringcast.ConfigError, match="contradict"):
        ringcast.join("g", key=KEY.secret, unencrypted=True)


def test_a_member_without_a_key_has_none_to_read_again() -> None:
    async def story() -> None:
        async with ringcast.join(GROUP, inspect=False, leave_on_sigterm=False) as group:
            with pytest.raises(ringcast.UsageError, match="without a key"):
                group.reload_keys()

    asyncio.run(story())


def test_a_node_reads_its_key_file_again_on_sighup(tmp_path: Path) -> None:
    path = tmp_path / "g.key"
    write_keyring(path, Keyring((KEY,)), is_new=True)

    async def story() -> None:
        node = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ringcast", "node", "hup", "--key-file", str(path)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert node.stderr is not None and node.stdin is not None
        async with asyncio.timeout(60):
            while b"is in group" not in await node.stderr.readline():
                pass
            await asyncio.sleep(0.2)
            for keyring in (Keyring((KEY, OTHER)), Keyring((OTHER, KEY))):
                write_keyring(path, keyring)
                node.send_signal(signal.SIGHUP)
                said = (await node.stderr.readline()).decode()
                assert f"seals with key {keyring.primary.name}" in said
            path.write_text("nonsense")
            node.send_signal(signal.SIGHUP)
            assert "the keys stay as they were" in (await node.stderr.readline()).decode()
            node.stdin.close()
            assert await node.wait() == 0

    asyncio.run(story())
