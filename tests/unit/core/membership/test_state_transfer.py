"""Joining with state: one event, cut exactly at the view, streamed in bounded chunks (seed 004, its open issue)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from random import Random

import pytest

from ringcast.core import Channel, Packet
from ringcast.core.control import Busy, MergeId, NewView, RollCallId, Transfer
from ringcast.core.effects import SendReliable
from ringcast.core.multicast import PeerStreams
from ringcast.core.state.providers import PendingStates
from ringcast.errors import StateError
from ringcast.model import MS, SECOND, Address, Batch, Config, Entry, Message, Notice, ViewId, profile
from ringcast.sim import Application, Cluster, Process
from simulation.members import Members


def numbered(name: str, count: int) -> list[bytes]:
    return [f"{name}{n}".encode() for n in range(count)]


class Keeper(Application):
    """Its state is everything that it has read."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.got: list[tuple[str, bytes]] = []
        self.cuts = 0  # how often it was asked for its state
        self.loading: list[bytes] = []
        self.loaded = 0
        self.error: str | None = None  # what its hooks fail with
        self.reads = asyncio.Event()  # closed: it reads nothing of the state that it gets
        self.reads.set()

    def take(self, event: Message | Batch | Notice) -> None:
        super().take(event)
        if isinstance(event, Message | Batch) and not event.private:
            payloads = [event.payload] if isinstance(event, Message) else event.payloads
            self.got += [(event.sender.name, payload) for payload in payloads]

    def get_state(self) -> bytes:
        self.cuts += 1
        if self.error is not None:
            raise OSError(self.error)
        return b"".join(b"%s:%s\n" % (sender.encode(), payload) for sender, payload in self.got)

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        self.loading = []  # Another provider begins from the beginning.
        async for chunk in chunks:
            self.loading.append(chunk)
            if self.error is not None:
                raise OSError(self.error)
            await self.reads.wait()
        lines = b"".join(self.loading).split(b"\n")[:-1]
        self.got = [(line.partition(b":")[0].decode(), line.partition(b":")[2]) for line in lines]
        self.loaded += 1


class Keepers(Members):
    """Everybody joins with the others' state but E and K; who gets none is not replaced."""

    def __init__(
        self, seed: int = 1, *, loss: float = 0.0, observers: Sequence[str] = (), config: Config | None = None
    ) -> None:
        super().__init__(seed, loss=loss, observers=observers, config=config, make_app=_keeper)

    def app(self, name: str) -> Keeper:
        app = self.application(name)
        assert isinstance(app, Keeper)
        return app

    def messages(self, name: str, origin: str) -> list[bytes]:
        return [payload for sender, payload in self.app(name).got if sender == origin]

    def start_slow(self, name: str) -> None:
        """It joins, and reads nothing of its state until `read_on`."""
        self.start(name)
        self.app(name).reads.clear()

    def read_on(self, name: str) -> None:
        self[name].loop.call_soon(self.app(name).reads.set)

    def ended(self, process: Process, error: BaseException | None) -> None:
        if isinstance(error, StateError):
            self.refused.append((process, error, self.clock.now_ns))
        else:
            super().ended(process, error)

    def refusals(self) -> list[tuple[str, str]]:
        """Who was told that it gets no state, and why."""
        return [(process.name, str(error)) for process, error, _ in self.refused]


def _keeper(cluster: Cluster, name: str) -> Application:
    return (Application if name in "EK" else Keeper)(cluster.random(name, "reading"))


def is_told_the_same(world: Keepers, names: str, counts: dict[str, int]) -> bool:
    histories = [{sender: world.messages(name, sender) for sender in counts} for name in names]
    return all(history == histories[0] for history in histories) and all(
        histories[0][sender] == numbered(sender, count) for sender, count in counts.items()
    )


@pytest.mark.parametrize("seed", range(2))
def test_four_join_with_state_while_each_sends_t01(seed: int) -> None:
    """T01: 4 members join with state while each sends 1000; all hold the identical 4 x 1000."""
    world = Keepers(seed, loss=0.02 * seed)
    for name in "ABCD":
        world.start(name)
        world.send(name, *numbered(name, 1_000))
        world.run_for((120 if name == "A" else 20) * MS)
    assert all(world.application(name).outbox for name in "BCD")
    assert world.is_soon_one("ABCD")
    counts = dict.fromkeys("ABCD", 1_000)
    assert world.run_until(lambda: all(len(world.app(name).got) == 4_000 for name in "ABCD"), 60 * SECOND)
    assert is_told_the_same(world, "ABCD", counts)
    assert world.verdict() == []


def test_the_first_member_has_nobody_to_get_a_state_from_t04() -> None:
    """T04: the state from oneself is there at once."""
    world = Keepers()
    world.start("A")
    assert world.is_soon_one("A")
    assert world.run_until(lambda: world["A"].group is not None)
    assert (world.app("A").loaded, world.refused) == (0, [])


@pytest.mark.parametrize("after_ms", [1, 6, 20])
def test_a_provider_that_dies_half_way_is_replaced(after_ms: int) -> None:
    world = Keepers(after_ms)
    world.gather("ABC")
    world.send("A", *[b"A%d" % n + b"." * 500 for n in range(300)])
    assert world.run_until(lambda: all(len(world.messages(n, "A")) == 300 for n in "ABC"))
    world.start("J")
    assert world.run_until(lambda: world.app("C").cuts == 1)
    world.run_for(after_ms * MS)
    world.crash("C")
    world.send("B", *numbered("B", 50))
    assert world.is_soon_one("ABJ")
    assert world.run_until(lambda: len(world.messages("J", "A")) == 300 and len(world.messages("J", "B")) == 50)
    assert world.messages("J", "A") == world.messages("A", "A")
    assert world.verdict() == []


def test_a_failing_provider_is_an_error_on_both_sides_and_the_group_is_unharmed_t03(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = Keepers()
    world.gather("AB")
    world.app("B").error = "cannot read the disk"
    world.start("J")
    assert world.run_until(lambda: bool(world.refused))
    ((name, why),) = world.refusals()
    assert name == "J" and "B#1" in why and why.endswith("OSError: cannot read the disk"), why
    assert "the state for J#1 was not given: OSError: cannot read the disk" in caplog.messages
    assert world.is_soon_one("AB")
    world.run_for(100 * MS)
    assert [lacking(world, name) for name in "AB"] == [[], []]
    assert world.verdict() == []


def test_a_joiner_that_cannot_load_tells_its_provider_t03(caplog: pytest.LogCaptureFixture) -> None:
    """T03: the requester throws."""
    world = Keepers()
    world.gather("AB")
    world.send("A", *[b"x" * 900 for _ in range(200)])
    assert world.run_until(lambda: len(world.app("B").got) == 200)
    world.start("J")
    world.app("J").error = "no room"
    why = "the state of B#1 could not be loaded: set_state failed: OSError: no room"
    assert world.run_until(lambda: f"the state for J#1 was not given: {why}" in caplog.messages)
    assert world.run_until(lambda: [name for name, _ in world.refusals()] == ["J"])
    assert world.verdict() == []


def test_an_observer_provides_no_state() -> None:
    world = Keepers(observers=["O"])
    world.gather("AO")
    world.send("A", b"1", b"2")
    world.run_for(50 * MS)
    world.start("J")
    assert world.run_until(lambda: world.app("J").got == [("A", b"1"), ("A", b"2")])
    assert (world.app("A").cuts, world.app("O").cuts) == (2, 0)


def test_a_long_transfer_blocks_no_view_and_lets_no_merge_begin() -> None:
    world = Keepers(3)
    world.gather("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world.app("B").got) == 400)
    world.start("J")
    assert world.run_until(lambda: world.app("B").cuts == 1)
    world.start("K")
    assert world.is_soon_one("ABJK")
    handler = world["A"].node.coordination.membership.as_coordinator.handler  # type: ignore[union-attr]
    assert world.run_until(lambda: handler.phase == "transferring state", 100 * MS)
    assert len(world.app("J").got) < 400
    assert world.run_until(lambda: len(world.app("J").got) == 400)
    world.run_for(50 * MS)
    assert handler.phase == "idle"
    assert world.verdict() == []


def test_a_joiner_left_alone_half_way_is_not_told_that_it_has_the_state() -> None:
    """Simulated seed 0 (state, first draft): alone when its provider died, it took half a state for a whole one."""
    world = Keepers(2)
    world.gather("A")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world.app("A").got) == 400)
    world.start("J")
    assert world.run_until(lambda: bool(world.app("J").loading))
    world.crash("A")
    assert world.run_until(lambda: bool(world.refused))
    ((name, why),) = world.refusals()
    assert name == "J" and "nobody in the view has the state" in why


def lacking(world: Keepers, name: str) -> list[str]:
    """Who has no state yet, as this member believes."""
    coordination = world[name].node.coordination
    assert coordination is not None
    return [joiner.name for joiner in coordination.membership.states.transfers]


def test_who_hears_that_a_joiner_has_its_state_before_it_has_the_view_believes_it() -> None:
    """Simulated seed 19 (state, first draft): F got the view late, led the next, and took all others for joiners."""
    provider, late, joiner = (Address(name, 1, f"mem:{name}") for name in "PLJ")
    base, view = RollCallId(ViewId(1, provider), 0, 1), ViewId(2, provider)
    members = (provider, late, joiner)
    entries = (Entry(0, 0, 0),) * 3
    transfers = (Transfer(joiner, provider, view),)
    states = PendingStates()
    states.confirm(joiner)
    begun = states.on_view(NewView(base, view, members, (), (), 64, 64_000, entries, (), transfers=transfers))
    assert (begun, states.transfers) == ([], {})


def test_a_member_that_is_named_a_joiner_again_says_again_that_it_has_the_state() -> None:
    """Simulated seed 19 (state, first draft): a mistaken view made all believe that nobody had the state, for good."""
    world = Keepers(1)
    world.gather("AB")
    world.start("J")
    assert world.run_until(lambda: world.app("J").loaded == 1)
    world.run_for(5 * MS)
    coordination = world["A"].node.coordination
    assert coordination is not None
    stale = Transfer(world["J"].address, world["B"].address, world["J"].node.view.id)
    coordination.membership.states.transfers[world["J"].address] = stale
    world.start("K")
    assert world.is_soon_one("ABJK")
    world.run_for(50 * MS)
    assert [lacking(world, name) for name in "ABJK"] == [[], [], [], []]


# ---- provider or joiner is gone in the middle (Y18)


def state_traffic(world: Keepers) -> list[tuple[str, str]]:
    """Packets of the STATE channel, by sender and kind, from now on."""
    seen: list[tuple[str, str]] = []

    def note(sender: str, to: str, packet: Packet) -> bool:
        if packet.channel is Channel.STATE:
            seen.append((sender, type(packet).__name__))
        return False

    world.network.snares.append(note)
    return seen


def state_streams(world: Keepers, name: str) -> PeerStreams:
    coordination = world[name].node.coordination
    assert coordination is not None
    return coordination.state.streams


def test_after_the_view_without_a_joiner_its_provider_keeps_and_sends_nothing_of_the_state() -> None:
    """Y18: 54,720 bytes and endless packets stayed at the provider of a joiner that had crashed."""
    world = Keepers(4)
    world.gather("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world.app("B").got) == 400)
    world.start("J")
    assert world.run_until(lambda: bool(world.app("J").loading))
    world.crash("J")
    assert world.is_soon_one("AB")
    traffic = state_traffic(world)
    world.run_for(10 * SECOND)
    assert (dict(state_streams(world, "B").outgoing), traffic) == ({}, [])
    assert world.verdict() == []


@pytest.mark.parametrize("seed", range(4))
def test_after_the_view_without_its_provider_a_joiner_asks_it_for_nothing(seed: int) -> None:
    """Y18: a joiner asked its dead provider for the missing chunks for ever."""
    world = Keepers(seed, loss=0.2)
    world.gather("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(100)])
    assert world.run_until(lambda: len(world.app("B").got) == 100)
    world.start("J")
    assert world.run_until(lambda: any(not s.is_idle for s in state_streams(world, "J").incoming.values()))
    dead = world["B"].address
    world.crash("B")
    assert world.is_soon_one("AJ")
    assert world.run_until(lambda: len(world.app("J").got) == 100)
    world.fault("loss")
    world.run_for(2 * SECOND)
    traffic = state_traffic(world)
    world.run_for(10 * SECOND)
    assert traffic == []
    assert state_streams(world, "J").incoming[dead].is_idle
    assert world.verdict() == []


def test_a_control_message_to_a_process_that_was_never_a_member_is_given_up() -> None:
    """One rule for every channel: what moves nothing for the limit, to somebody outside the view."""
    world = Keepers()
    world.gather("A")
    coordination = world["A"].node.coordination
    assert coordination is not None
    stranger = Address("S", 1, "mem:S")
    world.into("A", lambda node, now_ns: coordination.carry_out(now_ns, [SendReliable(stranger, Busy())]))
    assert stranger in coordination.control.streams.outgoing
    world.run_for(2 * world["A"].node.config.resumer_ns)
    assert stranger not in coordination.control.streams.outgoing
    assert world["A"].driver.drops["gave up a stream to a process outside the view"] == 1


# ---- a merge while a joiner loads its state


def split_with_a_slow_joiner(world: Keepers) -> None:
    """A, B | C, D, and J, which joins C and D with state and reads none of it, so that its transfer stalls."""
    world.gather("ABCD")
    world.cut("AB", "CD")
    assert world.run_until(lambda: world.is_one("AB") and world.is_one("CD"))
    world.send("C", *[b"x" * 1_500 for _ in range(200)])
    assert world.run_until(lambda: len(world.messages("D", "C")) == 200)
    world.start_slow("J")
    assert world.is_soon_one("CDJ")
    world.run_for(2 * world["C"].node.config.state_patience_ns)
    world.mend()
    assert world.is_soon_one("ABCDJ")


def test_a_coordinator_from_the_other_side_of_a_merge_knows_who_still_loads_its_state() -> None:
    """It told a waiting joiner that nobody has the state: it had never heard of the transfer."""
    world = Keepers(5)
    split_with_a_slow_joiner(world)
    assert (world.refused, world.app("J").loaded) == ([], 0)
    world.start("E")
    assert world.is_soon_one("ABCDEJ")
    assert (world.refused, world.app("J").loaded) == ([], 0)
    world.read_on("J")
    assert world.run_until(lambda: world.messages("J", "C") == [b"x" * 1_500] * 200)
    assert (world.refused, world.app("J").loaded) == ([], 1)
    assert world.verdict() == []


def test_an_observer_cut_off_alone_is_told_that_a_merge_came_before_its_state() -> None:
    """Simulated seed 240 (any): it was told that nobody in the view has the state, where all others had it.

    An observer makes no view of its own while it is cut off.
    """
    world = Keepers(7, observers=["J"])
    world.gather("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world.messages("B", "A")) == 400)
    world.start_slow("J")
    assert world.run_until(lambda: bool(world.app("J").loading))
    world.run_for(2 * world.config.state_patience_ns)
    world.cut("J", "AB")
    assert world.run_until(lambda: world.is_one("AB"))
    world.mend()
    assert world.run_until(lambda: bool(world.refused))
    ((name, why),) = world.refusals()
    assert name == "J" and "a merge came first, and nobody of this side of it has the state" in why


def test_a_provider_that_dies_after_a_merge_is_replaced_by_whoever_leads() -> None:
    world = Keepers(6)
    split_with_a_slow_joiner(world)
    world.crash("D")
    assert world.is_soon_one("ABCJ")
    assert (world.refused, world.app("J").loaded) == ([], 0)
    world.read_on("J")
    assert world.run_until(lambda: world.app("J").loaded == 1)
    assert world.verdict() == []


# ---- who knows that a joiner still loads


def loading_at(world: Keepers, name: str) -> list[str]:
    """For whom the view handler of this member turns merges away."""
    return [joiner.name for joiner in world.handler(name).transfers.joiners]


def test_who_joined_while_another_loads_and_then_leads_turns_merges_away() -> None:
    """X was not there when the transfer to J began, and A, which gave the state, has left: all of it is at J."""
    world = Keepers(8, observers=["J"])
    world.gather("A")
    world.send("A", *numbered("A", 5))
    assert world.run_until(lambda: len(world.app("A").got) == 5)
    world.start_slow("J")
    assert world.is_soon_one("AJ")
    world.start("E")
    assert world.is_soon_one("AEJ")
    assert loading_at(world, "E") == ["J"]
    world["A"].leave()
    assert world.is_soon_one("EJ")
    assert world["E"].node.view.coordinator == world["E"].address
    handler, now_ns = world.handler("E"), world["E"].now_ns()
    assert handler.refusal(now_ns, MergeId(Address("Z", 1, "mem:Z"), 1), (world["E"].address,)) is not None
    world.read_on("J")
    assert world.run_until(lambda: world.app("J").loaded == 1)
    world.run_for(50 * MS)
    assert loading_at(world, "E") == []


def test_the_other_sides_of_a_merge_know_who_still_loads() -> None:
    world = Keepers(5)
    split_with_a_slow_joiner(world)
    assert [loading_at(world, name) for name in "AB"] == [["J"], ["J"]]
    world.read_on("J")
    assert world.run_until(lambda: world.app("J").loaded == 1)
    world.run_for(50 * MS)
    assert [loading_at(world, name) for name in "ABCDJ"] == [[], [], [], [], []]
    assert world.verdict() == []


# ---- who is asked, and who is blamed


def refused_by(world: Keepers) -> list[str]:
    """Whose state each refused joiner could not have, in the order of the refusals."""
    return [str(error).partition(" from ")[2].partition("#")[0] for _, error, _ in world.refused]


def test_a_joiner_that_was_refused_is_given_another_provider_the_next_time() -> None:
    world = Keepers(9)
    world.gather("ABC")
    for name in "BC":
        world.app(name).error = "its disk is gone"
    for times in (1, 2):
        world.start("J")
        assert world.run_until(lambda times=times: len(world.refused) == times)  # type: ignore[misc]
        assert world.is_soon_one("ABC")
    assert refused_by(world) == ["C", "B"]
    world.start("J")
    assert world.is_soon_one("ABCJ")
    assert world.run_until(lambda: world.app("J").loaded == 1)
    assert world.app("A").cuts > 0 and len(world.refused) == 2


def test_where_all_have_failed_they_are_asked_in_turn() -> None:
    world = Keepers(9)
    world.gather("AB")
    for name in "AB":
        world.app(name).error = "its disk is gone"
    for times in range(1, 5):
        world.start("J")
        assert world.run_until(lambda times=times: len(world.refused) == times)  # type: ignore[misc]
        assert world.is_soon_one("AB")
    assert refused_by(world) == ["B", "A", "B", "A"]


def test_a_joiner_that_stood_still_itself_does_not_blame_its_provider() -> None:
    """It is frozen for longer than it waits for a part of the state, and shorter than anybody suspects it."""
    config = profile("test", state_patience=0.1, suspect_after=3.0)
    world = Keepers(10, config=config)
    world.gather("AB")
    world.send("A", *[b"x" * 1_500 for _ in range(400)])
    assert world.run_until(lambda: len(world.messages("B", "A")) == 400)
    world.start("J")
    assert world.run_until(lambda: bool(world.app("J").loading), 30 * SECOND, MS // 4)
    assert world.app("J").loaded == 0
    world["J"].freeze()
    world.run_for(SECOND)
    world["J"].thaw()
    assert world.run_until(lambda: world.app("J").loaded == 1 or bool(world.refused))
    assert (world.refusals(), world.app("J").loaded) == ([], 1)
    assert world.messages("J", "A") == [b"x" * 1_500] * 400
