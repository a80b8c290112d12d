"""No view id is given twice, whatever was put out before (G4)."""

from ringcast.model import Address, ViewId, ViewNumbers

A = Address("A", 1, "mem:A")


def test_the_number_is_one_more_than_the_highest_that_anybody_knows() -> None:
    numbers = ViewNumbers()
    numbers.note(7)
    assert numbers.next_id(12, A) == ViewId(13, A)
    numbers.note(20)
    assert numbers.next_id(12, A) == ViewId(21, A)


def test_an_id_that_was_put_out_is_never_put_out_again_even_if_nobody_answers_with_it() -> None:
    numbers = ViewNumbers()
    assert [numbers.next_id(3, A).number for _ in range(3)] == [4, 5, 6]
