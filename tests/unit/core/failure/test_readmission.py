"""Who was excluded although it lives comes back after a delay that doubles, is bounded, and begins anew."""

from ringcast.core.failure import Readmission
from ringcast.core.failure.readmission import CALM, CAPACITY, PATIENCE
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


def test_it_is_held_back_while_a_member_says_that_its_link_is_bad_and_not_longer() -> None:
    readmission = Readmission(10, 60, keep_ns=5)
    readmission.on_excluded(0, A, [B])
    for now_ns in range(0, 40, 4):
        readmission.on_links(now_ns, B, [A])
        assert readmission.is_held(now_ns, A) and readmission.causes(now_ns, A) == (B,)
    readmission.on_links(40, B, [])
    assert not readmission.is_held(40, A)


def test_the_word_of_a_member_that_is_no_longer_heard_keeps_nobody_out() -> None:
    """Simulated seed 700088: it was dead, and only observers were left, who exclude nobody."""
    readmission = Readmission(10, 60, keep_ns=5)
    readmission.on_excluded(0, A, [B])
    readmission.on_links(8, B, [A])
    assert readmission.is_held(12, A)
    assert not readmission.is_held(13, A)


def test_a_member_that_is_wrong_about_its_link_keeps_nobody_out_for_good() -> None:
    readmission = Readmission(10, 60, keep_ns=5)
    until_ns = readmission.on_excluded(0, A, [B])
    readmission.on_links(until_ns, B, [A])
    assert until_ns == PATIENCE * 10 and readmission.is_held(until_ns - 1, A)
    assert not readmission.is_held(until_ns, A)


def test_the_links_of_a_member_that_is_gone_itself_keep_nobody_out() -> None:
    readmission = Readmission(10, 60, keep_ns=5)
    readmission.on_excluded(0, A, [B])
    readmission.on_view([A])
    assert not readmission.is_held(1, A)
