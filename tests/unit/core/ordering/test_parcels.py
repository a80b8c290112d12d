"""Payloads that wait for their stub: how many, and which of them make room."""

from dataclasses import replace

from ringcast.core.control import Settlement
from ringcast.core.ordering.delivery_queue import Parcels
from unit.core.ordering.world import CONFIG, World, address

SENDER = address("S")


def test_of_more_parcels_than_a_sender_has_in_flight_the_lowest_is_over() -> None:
    parcels = Parcels(2)
    assert all(parcels.keep(SENDER, number, [b"x"]) for number in (26, 27, 31))
    assert parcels.held(SENDER) == [(27, 1), (31, 1)]


def test_a_forwarded_parcel_makes_room_for_itself_among_later_ones() -> None:
    parcels = Parcels(2)
    assert all(parcels.keep(SENDER, number, [b"x"]) for number in (26, 32, 31))
    assert parcels.held(SENDER) == [(31, 1), (32, 1)]


def test_a_parcel_below_everything_a_sender_can_have_in_flight_is_not_kept() -> None:
    parcels = Parcels(2)
    assert parcels.keep(SENDER, 31, [b"x"]) and parcels.keep(SENDER, 32, [b"x"])
    assert not parcels.keep(SENDER, 26, [b"x"])
    assert parcels.held(SENDER) == [(31, 1), (32, 1)]


def test_the_same_parcel_again_pushes_nothing_out() -> None:
    parcels = Parcels(2)
    assert all(parcels.keep(SENDER, number, [b"x"]) for number in (31, 32, 32))
    assert parcels.held(SENDER) == [(31, 1), (32, 1)]


def test_a_parcel_left_from_a_split_does_not_take_the_place_of_one_after_the_merge() -> None:
    """Simulated seeds 314, 664 and 810 (`--workload total`): the later payload was refused, and all waited for it."""
    world = World("AB", config=replace(CONFIG, capacity=1))
    world.queue("B", b"finished without A", to="A")
    for name in "AB":
        world[name].hold()
        world.carry_out(name, world[name].settle(0, Settlement((), ())))
        world.install(name)
    assert world.members["B"].finished and world.arrive_parcel("B", "A")
    world.install("AB")
    world.members["A"].got[address("B")] = len(world.members["B"].log)  # the MergeView's digest
    world.queue("B", b"after the merge", to="A")
    assert world.arrive_parcel("B", "A")
    world.settle_down()
    assert world.payloads("A") == [b"after the merge"] and world.members["A"].drops == []
