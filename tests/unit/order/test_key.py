"""The seed's four comparison cases (O14) as a table."""

import pytest

from ringcast.order import committed_key, staged_key

STAGED, COMMITTED = staged_key, committed_key


@pytest.mark.parametrize(
    ("case", "first", "second"),
    [
        ("neither has a seq: A.seq_lower < B.seq_lower", STAGED(5), STAGED(6)),
        ("B has a seq: A.seq_lower < B.seq", STAGED(5), COMMITTED(6)),
        ("A has a seq: A.seq <= B.seq_lower, equal", COMMITTED(5), STAGED(5)),
        ("A has a seq: A.seq <= B.seq_lower, less", COMMITTED(4), STAGED(5)),
        ("both have a seq: A.seq < B.seq", COMMITTED(5), COMMITTED(6)),
        ("B has a seq, far above", STAGED(5), COMMITTED(600)),
    ],
)
def test_the_keys_order_the_seeds_cases_o14(case: str, first: int, second: int) -> None:
    assert first < second, case


def seed_says_less(a: tuple[int, int | None], b: tuple[int, int | None]) -> bool:
    """The comparison exactly as the seed words it; instances are (seq_lower, seq or None)."""
    (a_lower, a_seq), (b_lower, b_seq) = a, b
    if a_seq is None and b_seq is None:
        return a_lower < b_lower
    if a_seq is None:
        return a_lower < b_seq  # type: ignore[operator]
    if b_seq is None:
        return a_seq <= b_lower
    return a_seq < b_seq


def key(instance: tuple[int, int | None]) -> int:
    lower, seq = instance
    return staged_key(lower) if seq is None else committed_key(seq)


def test_the_key_agrees_with_the_seeds_words_on_every_small_pair() -> None:
    instances: list[tuple[int, int | None]] = [(lower, None) for lower in range(6)]
    instances += [(lower, seq) for lower in range(6) for seq in range(lower + 1, 8)]
    for a in instances:
        for b in instances:
            assert (key(a) < key(b)) == seed_says_less(a, b), (a, b)
