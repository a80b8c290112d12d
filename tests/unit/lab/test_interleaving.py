"""The number that says in which order a member read: the same for one order, however it was handed over."""

from ringcast.lab.interleaving import Interleaving
from ringcast.model import Address, Batch

A, B = Address("a", 1, "mem:a"), Address("b", 1, "mem:b")


def digest(*batches: tuple[Address, int]) -> str:
    order = Interleaving()
    for sender, count in batches:
        order.take(Batch(sender, [b"x"] * count))
    return order.digest()


def test_it_does_not_matter_how_a_stretch_was_handed_over() -> None:
    assert digest((A, 2), (A, 3), (B, 1)) == digest((A, 5), (B, 1))


def test_another_interleaving_shows() -> None:
    assert digest((A, 2), (B, 1), (A, 1)) != digest((A, 3), (B, 1))
    assert digest((A, 1), (B, 1)) != digest((B, 1), (A, 1))


def test_asking_does_not_end_a_stretch() -> None:
    order = Interleaving()
    order.take(Batch(A, [b"x"]))
    assert order.digest() == digest((A, 1))
    order.take(Batch(A, [b"x"]))
    assert order.digest() == digest((A, 2))
