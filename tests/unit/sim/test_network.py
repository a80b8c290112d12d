"""Links: what is lost, doubled, late, cut, damaged; and that one path never shifts another."""

from collections.abc import Callable

import pytest

from ringcast.core import Ack, Channel, Run
from ringcast.model import MS, SECOND, Address
from ringcast.sim import Clock, FrameRule, Link, Network, drop
from ringcast.wire import Codec

A, B = Address("A", 1, "sim:A"), Address("B", 1, "sim:B")
CODEC = Codec("sim", A)
ACK = CODEC.encode(Ack(Channel.PEER, 1, 5), B)
DATA = CODEC.encode(Run(Channel.PEER, 1, A, 3, 0, [b"x", b"y"], 2), B)


class Listening:
    """A network with a member at each end, and what B heard when."""

    def __init__(self, link: Link, seed: int = 0) -> None:
        self.clock = Clock()
        self.network = Network(self.clock, seed, link)
        self.heard: list[tuple[int, bytes, bool]] = []
        self.network.attach("B", lambda frame, bad: self.heard.append((self.clock.now_ns, frame, bad)))

    def send(self, count: int, frame: bytes = b"frame", every_ns: int = 0) -> None:
        for number in range(count):
            self.clock.at(number * every_ns, self.network.transmit, "A", "B", frame)
        self.clock.run_until(self.clock.now_ns + 100 * SECOND)


def test_a_frame_arrives_after_the_delay() -> None:
    world = Listening(Link(delay_ns=7 * MS))
    world.send(1)
    assert world.heard == [(7 * MS, b"frame", False)]


@pytest.mark.parametrize(("loss", "least", "most"), [(0.0, 1000, 1000), (0.3, 600, 800), (1.0, 0, 0)])
def test_a_share_is_lost(loss: float, least: int, most: int) -> None:
    world = Listening(Link(loss=loss))
    world.send(1000)
    assert least <= len(world.heard) <= most
    assert world.network.lost == 1000 - len(world.heard)


def test_a_share_arrives_twice() -> None:
    world = Listening(Link(duplicate=1.0))
    world.send(10)
    assert len(world.heard) == 20


def test_reordering_lets_later_frames_overtake() -> None:
    world = Listening(Link(reorder=0.3, reorder_ns=10 * MS))
    for number in range(100):
        world.clock.at(number * MS, world.network.transmit, "A", "B", b"%03d" % number)
    world.clock.run_until(SECOND)
    arrived = [frame for _, frame, _ in world.heard]
    assert arrived != sorted(arrived)
    assert sorted(arrived) == [b"%03d" % number for number in range(100)]


def test_a_slow_link_takes_its_time_and_its_queue_is_bounded() -> None:
    world = Listening(Link(delay_ns=0, bytes_per_second=1000, queue_bytes=2500))
    world.send(10, frame=b"x" * 1000)
    assert [when for when, _, _ in world.heard] == [1 * SECOND, 2 * SECOND, 3 * SECOND]


def test_nothing_waits_longer_in_the_queue_of_a_slow_link_than_is_allowed() -> None:
    """Seed 330910: half a minute after the link was mended, and its sender was dead, heartbeats still came out."""
    world = Listening(Link(delay_ns=0, bytes_per_second=1000, queue_ns=2 * SECOND))
    world.send(100, frame=b"x" * 100)
    assert world.heard[-1][0] == 2_100_000_000 and len(world.heard) == 21


def test_damage_changes_the_bytes_and_says_so() -> None:
    world = Listening(Link(damage=1.0))
    world.send(200)
    assert all(bad and frame != b"frame" for _, frame, bad in world.heard)


def test_a_cut_is_one_way_and_ends() -> None:
    world = Listening(Link())
    back: list[bytes] = []
    world.network.attach("A", lambda frame, bad: back.append(frame))
    world.network.cut([("A", "B")])
    world.network.transmit("B", "A", b"back")
    world.send(3)
    assert (world.heard, back) == ([], [b"back"])
    world.network.mend([("A", "B")])
    world.send(3)
    assert len(world.heard) == 3


def test_a_cut_of_one_kind_lets_the_others_pass() -> None:
    world = Listening(Link())
    world.network.cut([("A", "B")], ("ack",))
    world.send(3, ACK)
    world.send(3, DATA)
    assert len(world.heard) == 3


@pytest.mark.parametrize(("seqno", "caught"), [(2, 0), (3, 2), (4, 2), (5, 0), (None, 2)])
def test_a_catch_takes_the_first_packets_with_a_seqno(seqno: int | None, caught: int) -> None:
    world = Listening(Link())
    catch = FrameRule(world.network, drop, "stream", "A", "*", times=2, seqno=seqno)
    world.send(5, DATA)
    assert (catch.caught, len(world.heard)) == (caught, 5 - caught)


def test_a_frame_for_nobody_is_lost() -> None:
    world = Listening(Link())
    world.network.detach("B")
    world.send(1)
    assert world.network.lost == 1


def test_one_path_does_not_shift_another() -> None:
    def arrivals(disturb: Callable[[Network], None]) -> list[int]:
        world = Listening(Link(loss=0.5, jitter_ns=5 * MS), seed=4)
        for number in range(50):
            world.clock.at(number * MS, world.network.transmit, "A", "B", b"x")
            world.clock.at(number * MS, disturb, world.network)
        world.clock.run_until(SECOND)
        return [when for when, _, _ in world.heard]

    def quiet(network: Network) -> None:
        pass

    assert arrivals(quiet) == arrivals(lambda network: network.transmit("C", "A", b"y"))


@pytest.mark.parametrize("wrong", [{"loss": 1.1}, {"duplicate": -0.1}, {"delay_ns": -1}])
def test_a_link_that_cannot_be_is_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Link(**wrong)  # type: ignore[arg-type]
