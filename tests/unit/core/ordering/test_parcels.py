"""Payloads that wait for their stub: how many, and which of them make room."""

from ringcast.core.ordering.delivery_queue import Parcels
from ringcast.model import Address

SENDER = Address("S", 1, "mem:S")


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
