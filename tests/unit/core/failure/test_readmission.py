"""Who was excluded although it lives comes back after a delay that doubles, is bounded, and begins anew."""

from ringcast.core.failure import Readmission
from ringcast.core.failure.readmission import CALM, CAPACITY
from ringcast.model import Address

A, B = Address("A", 1, "mem:A"), Address("B", 1, "mem:B")
AGAIN = Address("A", 2, "mem:A")  # a later process at the same place


def delays(readmission: Readmission, member: Address, times: list[int]) -> list[int]:
    found = []
    for now_ns in times:
        readmission.on_excluded(now_ns, member)
        held = now_ns
        while readmission.is_held(held, member):
            held += 1
        found.append(held - now_ns)
    return found


def test_the_delay_doubles_up_to_the_most() -> None:
    assert delays(Readmission(10, 60), A, [0, 15, 40, 100, 200]) == [10, 20, 40, 60, 60]


def test_after_a_calm_time_it_begins_anew() -> None:
    assert delays(Readmission(10, 60), A, [0, 15, 15 + CALM * 20]) == [10, 20, 10]


def test_each_member_has_its_own_and_a_new_process_at_the_same_place_has_the_same() -> None:
    readmission = Readmission(10, 60)
    readmission.on_excluded(0, A)
    assert readmission.is_held(5, AGAIN)
    assert not readmission.is_held(5, B)


def test_it_is_bounded() -> None:
    readmission = Readmission(10, 60)
    readmission.on_excluded(0, A)
    for number in range(CAPACITY):
        readmission.on_excluded(0, Address(f"m{number}", 1, f"mem:{number}"))
    assert not readmission.is_held(5, A)
