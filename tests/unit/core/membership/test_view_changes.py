"""Members come, go and crash; the survivors agree on who is there and on what was delivered (G4, G5)."""

from __future__ import annotations

import pytest

from ringcast.core import Drop, Run
from ringcast.model import MS, SECOND, profile
from unit.core.membership.world import Proc, World


def numbered(name: str, first: int, last: int) -> list[bytes]:
    return [f"{name}{n}".encode() for n in range(first, last + 1)]


def test_a_crashed_member_is_excluded() -> None:
    world = World()
    world.group("ABC")
    world.crash("C")
    assert world.is_soon_one("AB")
    assert world.verdict() == ""


def test_a_crashed_coordinator_is_followed_by_the_next() -> None:
    world = World()
    world.group("ABC")
    world.crash("A")
    assert world.is_soon_one("BC")
    assert world["B"].node.view.coordinator == world["B"].address
    assert world.verdict() == ""


@pytest.mark.parametrize("seed", range(5))
def test_a_join_under_load_starts_at_exact_offsets_x1(seed: int) -> None:
    """X1: everybody sends all the time; the joiner gets a true start of each stream, without a hole."""
    world = World(seed, loss=0.05)
    world.group("ABC")
    for name in "ABC":
        world.send(name, *numbered(name, 1, 400))
    world.run_for(20 * MS)
    world.start("J")
    assert world.is_soon_one("ABCJ")
    assert world.run_until(lambda: len(world["A"].got) == 1_200)
    world.run_for(200 * MS)
    for name in "ABC":
        got = world["J"].messages(name)
        assert got == numbered(name, 401 - len(got), 400)
    assert world.verdict() == ""


def last_run_only_to(world: World, sender: str, receiver: str, payload: bytes) -> None:
    """From now on runs of `sender` that carry `payload` reach nobody but `receiver`."""
    proc = world[sender]
    transmit = world.transmit

    def selective(source: Proc, endpoint: str, frame: bytes) -> None:
        if source is proc and payload in frame and endpoint != f"mem:{receiver}":
            return
        transmit(source, endpoint, frame)

    world.transmit = selective  # type: ignore[method-assign]


def test_what_a_crashed_sender_gave_to_one_reaches_all_x7() -> None:
    """X7: the sender crashes, its last message reached only B; B and C agree before the next view."""
    world = World()
    world.group("ABC")
    last_run_only_to(world, "A", "B", b"last")
    world.send("A", b"first", b"last")
    world.run_for(3 * MS)
    assert world["C"].messages("A") == [b"first"]
    world.crash("A")
    assert world.is_soon_one("BC")
    assert world["B"].messages("A") == world["C"].messages("A") == [b"first", b"last"]
    assert world.verdict() == ""


def test_what_nobody_has_is_dropped_by_all_x7() -> None:
    world = World()
    world.group("ABC")
    world.loss = 1.0
    world.send("A", b"lost")
    world.loss = 0.0
    world.crash("A")
    assert world.is_soon_one("BC")
    assert world["B"].messages("A") == world["C"].messages("A") == []
    assert world.verdict() == ""


def test_a_silent_member_blocks_a_sender_until_a_view_without_it_p12() -> None:
    """P12: capacity 5, D silent; A sends 10 and blocks; the view without D frees it."""
    world = World()
    config = profile("test", capacity=5)
    world.group("ABCD", config=config)
    world.crash("D")
    world.send("A", *numbered("A", 1, 10))
    world.run_for(50 * MS)
    assert len(world["A"].outbox) == 5
    assert world.is_soon_one("ABC")
    assert world.run_until(lambda: all(world[n].messages("A") == numbered("A", 1, 10) for n in "ABC"))
    assert world["D"].messages("A") == []
    assert world.verdict() == ""


def test_leave_and_rejoin_give_exactly_what_was_sent_meanwhile_p16() -> None:
    """P16: A sends 1-10, leaves, rejoins, sends 11-20; then A leaves, B sends 21-30, A rejoins, B sends 31-40."""
    world = World()
    world.group("ABC")
    world.send("A", *numbered("A", 1, 10))
    world.leave("A")
    assert world.is_soon_one("BC")
    world.start("A")
    assert world.is_soon_one("BCA")
    world.send("A", *numbered("A", 11, 20))
    assert world.run_until(lambda: all(world[n].messages("A") == numbered("A", 1, 20) for n in "BC"))
    world.leave("A")
    assert world.is_soon_one("BC")
    world.send("B", *numbered("B", 21, 30))
    world.run_for(100 * MS)
    world.start("A")
    assert world.is_soon_one("BCA")
    world.send("B", *numbered("B", 31, 40))
    assert world.run_until(lambda: world["A"].messages("B") == numbered("B", 31, 40))
    assert world.verdict() == ""


def test_the_smallest_windows_are_agreed_with_the_view() -> None:
    world = World()
    world.start("A", config=profile("test", capacity=32, window_bytes=5_000))
    assert world.is_soon_one("A")
    world.start("B", config=profile("test", capacity=8, window_bytes=9_000))
    assert world.is_soon_one("AB")
    assert (world["A"].node.view.capacity, world["A"].node.view.window_bytes) == (8, 5_000)
    world.send("A", *numbered("A", 1, 100))
    assert world.run_until(lambda: world["B"].messages("A") == numbered("A", 1, 100))
    world.leave("B")
    assert world.is_soon_one("A")
    assert world["A"].node.view.capacity == 32
    assert world.verdict() == ""


def test_an_observer_never_coordinates() -> None:
    world = World()
    world.group("A")
    world.start("O", observer=True)
    assert world.is_soon_one("AO")
    world.start("B")
    assert world.is_soon_one("AOB")
    world.crash("A")
    assert world.is_soon_one("OB")
    assert world["B"].node.view.coordinator == world["B"].address
    assert world["B"].node.view.observers == (world["O"].address,)
    assert world.verdict() == ""


def test_a_process_that_restarts_at_the_same_place_is_a_new_incarnation() -> None:
    world = World()
    world.group("ABC")
    world.crash("B")
    old = world["B"].address
    world.start("B")
    before = world.now
    assert world.is_soon_one("ACB")
    assert world["B"].address.is_successor_of(old)
    assert world.now - before < 400 * MS  # not after a suspicion by silence
    assert world.verdict() == ""


@pytest.mark.parametrize("seed", range(5))
def test_sole_members_and_pairs_leave_v09_v10(seed: int) -> None:
    """V09: the sole member leaves. V10: the only two members leave together."""
    world = World(seed)
    world.group("A")
    world.leave("A")
    assert world["A"].left is True
    pair = World(seed, loss=0.1)
    pair.group("AB")
    pair.leave("A")
    pair.leave("B")
    assert pair.run_until(lambda: pair["A"].left is not None and pair["B"].left is not None)
    assert pair["A"].left is True and pair["B"].left is True
    assert pair.verdict() == ""


@pytest.mark.parametrize("seed", range(3))
def test_the_first_of_ten_leave_in_many_ways_v07(seed: int) -> None:
    """V07: the first two close together; then coordinators leave in turn, down to five, and the rest agree."""
    world = World(seed, loss=0.02)
    names = "ABCDEFGHIJ"
    for name in names:
        world.start(name, expect=10, seeds=names)
    assert world.is_soon_one(names)
    order = [member.name for member in world["A"].node.view.members]
    for name in order[:2]:
        world.send(name, *numbered(name, 1, 50))
        world.leave(name)
    assert world.is_soon_one(order[2:])
    assert all(world[n].messages(order[0]) == numbered(order[0], 1, 50) for n in order[2:])
    assert all(world[n].messages(order[1]) == numbered(order[1], 1, 50) for n in order[2:])
    for name in order[2:5]:
        assert world[order[-1]].node.view.coordinator == world[name].address
        world.leave(name)
        assert world.run_until(lambda name=name: world[name].left is True)
    assert world.is_soon_one(order[5:])
    assert world.verdict() == ""


def test_half_of_the_group_leaves_at_once() -> None:
    world = World(3)
    world.group("ABCDEF")
    for name in "ABC":
        world.leave(name)
    assert world.is_soon_one("DEF")
    assert world.run_until(lambda: all(world[name].left is True for name in "ABC"))
    assert world.verdict() == ""


def test_half_of_the_group_crashes_at_once_under_load() -> None:
    world = World(4, loss=0.05)
    world.group("ABCDEF")
    for name in "ABCDEF":
        world.send(name, *numbered(name, 1, 300))
    world.run_for(15 * MS)
    world.crash("A", "B", "C")
    assert world.is_soon_one("DEF")
    assert world.run_until(lambda: not any(world[n].outbox for n in "DEF"))
    world.run_for(200 * MS)
    for dead in "ABC":
        assert world["D"].messages(dead) == world["E"].messages(dead) == world["F"].messages(dead)
    assert world.verdict() == ""


@pytest.mark.parametrize("seed", range(5))
def test_a_frozen_member_is_excluded_and_learns_of_it(seed: int) -> None:
    world = World(seed)
    world.group("ABCD")
    world["B"].frozen = True
    assert world.is_soon_one("ACD")
    world["B"].thaw()
    assert world.run_until(lambda: world["B"].excluded)


@pytest.mark.parametrize("join_retry_ms", [100, 200, 500])
def test_a_join_request_that_is_late_still_joins_v11(join_retry_ms: int) -> None:
    """V11: what the joiner says reliably takes 1 s; it joins soon after, however short its patience is."""
    world = World(1)
    world.group("A")
    transmit = world.transmit

    def slow(source: Proc, endpoint: str, frame: bytes) -> None:
        decoded = source.world[endpoint.removeprefix("mem:")].codec.decode(frame)
        is_said = not isinstance(decoded, Drop) and isinstance(decoded[1], Run)
        if source.name == "B" and is_said and world.now < 2 * SECOND:
            world.at(world.now + 1 * SECOND, transmit, source, endpoint, frame)
        else:
            transmit(source, endpoint, frame)

    world.transmit = slow  # type: ignore[method-assign]
    world.start("B", config=profile("test", join_retry_ns=join_retry_ms * MS))
    assert world.is_soon_one("AB", 5 * SECOND)
    assert world.verdict() == ""


def test_large_messages_survive_the_crash_of_their_sender() -> None:
    world = World(7, loss=0.1)
    world.group("ABCD")
    world.send("A", *[bytes([n]) * 9_000 for n in range(5)])
    world.run_for(4 * MS)
    world.crash("A")
    assert world.is_soon_one("BCD")
    assert world["B"].messages("A") == world["C"].messages("A") == world["D"].messages("A")
    assert world.verdict() == ""


def test_a_false_suspicion_is_withdrawn_everywhere_v17() -> None:
    """V17: one of five is not heard for a while, but answers the direct question: no suspicion stays, nobody goes."""
    world = World(6)
    world.group("ABCDE")
    world.blocked = lambda sender, receiver: sender == "C"
    assert world.run_until(lambda: any(world[n].suspects for n in "ABDE"), 1 * SECOND)
    world.blocked = lambda sender, receiver: False
    assert world.run_until(lambda: not any(world[n].suspects for n in "ABCDE"), 10 * SECOND)
    assert world.is_soon_one("ABCDE", 10 * SECOND)
    assert world.verdict() == ""


@pytest.mark.parametrize("seed", range(5))
def test_a_message_before_the_join_is_complete_may_be_answered_p21(seed: int) -> None:
    """P21: runs of the new view reach the joiner before the view does; what it sends in reply goes out later."""
    world = World(seed, delay=(1 * MS, 30 * MS))
    world.group("AB")
    world.start("J")
    world.send("J", b"reply")  # waits for the first view
    world.send("A", *numbered("A", 1, 200))
    assert world.is_soon_one("ABJ")
    assert world.run_until(lambda: all(world[n].messages("J") == [b"reply"] for n in "ABJ"))
    assert world.run_until(lambda: not world["A"].outbox and world["J"].messages("A")[-1:] == [b"A200"])
    assert world.verdict() == ""
