"""The merge of digests is a join on a lattice, so the order in which subgroups are heard cannot matter (G9)."""

from hypothesis import given
from hypothesis import strategies as st

from ringcast.model import Address, Digest, Entry

members = st.sampled_from([Address(name, 1, "mem:") for name in "ABCDE"])
figures = st.integers(0, 20)
entries = st.builds(lambda low, more, most: Entry(low, low + more, low + more + most), figures, figures, figures)
digests = st.dictionaries(members, entries).map(Digest)


@given(digests, digests)
def test_it_is_commutative(a: Digest, b: Digest) -> None:
    assert a.merge(b) == b.merge(a)


@given(digests, digests, digests)
def test_it_is_associative(a: Digest, b: Digest, c: Digest) -> None:
    assert a.merge(b).merge(c) == a.merge(b.merge(c))


@given(digests)
def test_it_is_idempotent_and_the_empty_digest_changes_nothing(a: Digest) -> None:
    assert a.merge(a) == a.merge(Digest()) == Digest().merge(a) == a


@given(digests, digests)
def test_it_is_an_upper_bound_and_keeps_the_order_of_figures(a: Digest, b: Digest) -> None:
    whole = a.merge(b)
    for member, entry in whole.entries.items():
        for side in (a, b):
            known = side.get(member)
            assert known is None or all(figure >= old for figure, old in zip(entry, known, strict=True))
        assert entry.low <= entry.delivered <= entry.received


@given(digests, digests)
def test_overlap_and_missing_tell_who_is_spoken_of_twice_or_not_at_all(a: Digest, b: Digest) -> None:
    assert a.overlap(b) == [member for member in a if member in b]
    assert a.merge(b).missing([*a, *b]) == []
    assert all(member not in a for member in a.missing(b))
