"""The order within one view: staging, acks, announcements, back-pressure, causality."""

from ringcast.core import Drop
from ringcast.model import Kind, profile
from ringcast.order import Stamp
from unit.core.ordering.world import Member, World, address


def test_everybody_reads_messages_of_all_senders_in_one_order() -> None:
    world = World("ABC")
    for turn in range(5):
        for name in "CAB":
            world.queue(name, f"{name}{turn}".encode())
    world.settle_down()
    assert len(world.payloads("A")) == 15
    assert world.payloads("A") == world.payloads("B") == world.payloads("C")
    assert [p for p in world.payloads("B") if p[:1] == b"C"] == [b"C0", b"C1", b"C2", b"C3", b"C4"]


def test_a_message_has_no_place_before_its_last_destination_has_staged_it() -> None:
    world = World("ABC")
    world.queue("B", b"x")
    world.arrive("B", "A")
    world.flush("A")
    world.flush("B")
    assert world.members["A"].log == []  # C has not acked.
    world.arrive("B", "C")
    world.flush("C")
    world.arrive_ack("C")
    world.flush("A")
    assert len(world.members["A"].log) == 1 and world.payloads("A") == [b"x"]
    assert world.members["B"].finished == {}  # Queueing is finished when the sender knows the seq.
    world.arrive("A", "B")
    assert world.members["B"].finished == {1: Stamp(1, 1)}


def test_one_tick_orders_a_batch_and_its_messages_come_by_index() -> None:
    world = World("AB")
    world.queue("B", b"1", b"2", b"3")
    world.queue("A", b"4")
    world.settle_down()
    stamps = [stamp for stamp, *_ in world.members["A"].read]
    assert sorted(stamps) == stamps and len(dict.fromkeys(stamps)) == 2


def test_a_subset_reads_and_nobody_else_holds_the_payload() -> None:
    world = World("ABCD")
    world.queue("B", b"secret", to="CD")
    assert not any(b"secret" in item for item in world.members["B"].log)
    world.settle_down()
    assert [world.payloads(name) for name in "ABCD"] == [[], [], [b"secret"], [b"secret"]]
    assert world.members["B"].finished == {1: Stamp(1, 1)}


def test_o11_a_peer_named_twice_gets_one_instance() -> None:
    world = World("ABC")
    world.queue("A", b"once", to="BCB")
    world.settle_down()
    assert world.payloads("B") == world.payloads("C") == [b"once"]


def test_one_senders_messages_get_their_places_in_its_order_whatever_their_destinations() -> None:
    """The first waits for D; the second, which D does not get, must not overtake it."""
    world = World("ABCD")
    world.queue("B", b"first", to="CD")
    world.queue("B", b"second", to="C")
    for name in "AC":
        while world.arrive("B", name):
            pass
    while world.arrive_parcel("B", "C"):
        pass
    for name in "BCA":
        world.flush(name)
    while world.arrive_ack("C"):
        pass
    world.flush("A")
    assert world.members["A"].log == []
    world.settle_down()
    assert world.payloads("C") == [b"first", b"second"] and world.payloads("D") == [b"first"]


def test_a_slow_destination_of_one_message_does_not_hold_up_the_messages_of_others() -> None:
    world = World("ABCD")
    world.queue("B", b"waits for D", to="CD")
    world.queue("A", b"goes on", to="BC")
    for _ in range(20):
        for sender, receiver in [("B", "A"), ("B", "C"), ("A", "B"), ("A", "C")]:
            world.arrive(sender, receiver)
            world.arrive_parcel(sender, receiver)
        for name in "BCA":
            world.flush(name)
            world.arrive_ack(name)
    assert world.payloads("C") == world.payloads("B") == [b"goes on"]


def test_o15_a_reply_is_read_behind_what_it_answers() -> None:
    world = World("ABCD")
    world.queue("B", b"question", to="CD")
    while not world.payloads("C"):
        world.step()
    world.queue("C", b"answer", to="D")
    world.settle_down()
    assert world.payloads("D") == [b"question", b"answer"]


def test_o15_a_message_after_a_side_channel_is_read_behind_what_it_follows() -> None:
    world = World("ABCDE")
    world.queue("B", b"cause", to="CD")
    while not world.payloads("C"):
        world.step()
    world.queue("E", b"effect", to="D")  # C told E by other means.
    world.settle_down()
    assert world.payloads("D") == [b"cause", b"effect"]


def test_a_parcel_before_its_stub_waits_for_it() -> None:
    world = World("ABC")
    world.queue("B", b"x", to="C")
    assert world.arrive_parcel("B", "C")
    world.flush("C")
    assert not world.members["C"].acks
    world.settle_down()
    assert world.payloads("C") == [b"x"] and world.members["C"].drops == []


def test_the_same_parcel_twice_is_read_once() -> None:
    world = World("ABC")
    world.queue("B", b"x", to="C")
    parcel = world.members["B"].posted[address("C")][0]
    world.settle_down()
    world.carry_out("C", world["C"].on_parcels(0, address("B"), [parcel]))
    assert world.payloads("C") == [b"x"]
    assert world.members["C"].drops == [Drop("a parcel nobody waits for", address("B"), 1)]


def test_a_lost_ack_is_said_again_at_the_next_interval() -> None:
    world = World("ABC")
    world.queue("B", b"x")
    world.arrive("B", "A")
    world.arrive("B", "C")
    world.flush("C")
    world.arrive_ack("C", lost=True)
    while world.step():
        pass
    assert world.payloads("A") == []
    world.interval("C")
    world.settle_down()
    assert world.payloads("A") == world.payloads("C") == [b"x"]


def test_an_announcement_that_outruns_a_stub_for_others_does_no_harm() -> None:
    world = World("ABCD")
    world.queue("B", b"x", to="C")
    for name in "AC":
        world.arrive("B", name)
    world.arrive_parcel("B", "C")
    for name in "BCA":
        world.flush(name)
    world.arrive_ack("C")
    world.flush("A")
    world.arrive("A", "D")  # D learns the place of a message of which it has not seen the stub.
    world.queue("D", b"y")
    world.settle_down()
    assert world.payloads("D") == [b"y"] and world.payloads("C") == [b"x", b"y"]


def test_without_room_the_coordinator_announces_later_and_all_at_once() -> None:
    world = World("AB")
    for number in range(3):
        world.queue("B", str(number).encode())
        world.arrive("B", "A")
        world.flush("A", may_announce=False)
    assert world.members["A"].log == []
    world.flush("A")
    assert len(world.members["A"].log) == 1
    world.settle_down()
    assert world.payloads("B") == [b"0", b"1", b"2"]


def test_who_does_not_read_holds_the_others_back_until_it_reads() -> None:
    world = World("AB", read=False)
    capacity = world["A"].capacity
    for _ in range(capacity):
        world.queue("B", b"x")
        world.settle_down()
        world.read_all("B")
    assert not world["A"].may_queue and world["B"].may_queue
    world.queue("B", b"one more")
    world.settle_down()
    assert world["B"].in_flight.count == 1  # A has not acked it: too much unread.
    assert world["A"].awaited() == [address("A")]
    world.read_all("A")
    world.settle_down()
    assert world["B"].in_flight.count == 0


def test_what_is_in_flight_is_bounded_in_messages_and_bytes() -> None:
    world = World("AB")
    ordering = world["B"]
    sizes = [10] * 100
    assert ordering.fit(sizes, 10_000) == ordering.capacity == 64
    world.queue("B", *[b"*" * 10] * 60)
    assert ordering.fit(sizes, 10_000) == 4
    assert ordering.fit([1 << 20], 10_000) == 0 and not ordering.may_queue_one(1 << 20)
    world.queue("B", *[b"*" * 10] * 4)
    assert ordering.fit(sizes, 10_000) == 0
    world.settle_down()
    assert ordering.may_queue_one(1 << 20)  # One message always fits when nothing is in flight.


def test_a_batch_is_cut_to_the_frame() -> None:
    world = World("AB")
    assert world["A"].fit([100] * 64, 1_000) == 9
    assert world["A"].fit([100, 200, 300, 400, 50], 1_000) == 3


def test_a_barrier_takes_a_place_and_nobody_reads_it() -> None:
    world = World("ABC")
    world.queue("B", b"x")
    world.queue("C", b"", to="")
    world.settle_down()
    assert world.payloads("A") == world.payloads("C") == [b"x"]
    assert world.members["C"].finished[1].view == 1
    assert world["C"].position == Stamp(1, 2)


def test_the_position_is_behind_what_is_not_read_yet() -> None:
    world = World("AB", read=False)
    world.queue("A", b"x")
    world.settle_down()
    assert (world["A"].position, world["A"].seen) == (Stamp(0, 0), 1)
    world.read_all("A")
    assert world["A"].position == Stamp(1, 1)


def test_a_sender_that_wants_no_copy_of_its_own_gets_none_but_learns_the_place() -> None:
    world = World("AB", config=profile("test", self_delivery=False))
    world.queue("B", b"x")
    world.settle_down()
    assert world.payloads("A") == [b"x"] and world.payloads("B") == []
    assert world.members["B"].finished == {1: Stamp(1, 1)}


def test_what_makes_no_sense_is_dropped_and_changes_nothing() -> None:
    world = World("ABC")
    world.queue("B", b"x")
    whole = world.members["B"].log[0]
    world.settle_down()
    announcement = world.members["A"].log[0]
    for origin, item in [("B", whole), ("C", announcement), ("A", announcement), ("B", b""), ("B", b"\x01\x00")]:
        out = world["C"].on_multicast(0, address(origin), [item])
        assert [type(effect) for effect in out] == [Drop]
    assert world["C"].seen == 1
    world["C"].check()


def test_the_recording_says_start_finish_and_dequeue() -> None:
    world = World("AB")
    world.queue("B", b"x", b"y")
    world.queue("B", b"z", to="A")
    world.settle_down()
    told = [(e.kind, e.first, e.count, e.value) for e in world.members["B"].events]
    assert told == [
        (Kind.QUEUE_START, 1, 2, 0),
        (Kind.QUEUE_START, 3, 1, 0),
        (Kind.DEQUEUE, 1, 2, 1),
        (Kind.QUEUE_FINISH, 1, 2, 1),
        (Kind.QUEUE_FINISH, 3, 1, 2),
    ]
    ordinals = [(e.peer, e.first, e.ordinal) for e in world.members["A"].events if e.kind is Kind.DEQUEUE]
    assert ordinals == [(address("B"), 1, 0), (address("B"), 3, 2)]


def test_a_parcel_that_comes_before_the_first_view_is_kept_for_it() -> None:
    """Simulated seed 115: the joiner's own view came later than the first message of it."""
    early = Member(address("B")).ordering
    world = World("AB")
    world.queue("A", b"x", to="B")
    (parcel,) = world.members["A"].posted[address("B")]
    assert early.on_parcels(0, address("A"), [parcel]) == []
    assert early.flush(0, True) == [] and early.position == Stamp(0, 0)
