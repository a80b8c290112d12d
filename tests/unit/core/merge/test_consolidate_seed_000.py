"""Seed 000's worked numbers, and the arithmetic of a MergeView."""

import pytest

from ringcast.core import Channel, Run
from ringcast.core.merge import Aggregate, merge_view
from ringcast.core.multicast import Multicast
from ringcast.model import Address, Digest, Entry, View, ViewId, consolidate, profile


def member(name: str) -> Address:
    return Address(name, 0, f"{name}:1")


A, B, C, D = map(member, "ABCD")


def seqno(number: int) -> Entry:
    return Entry(0, number, number)


def test_seed_000_overlap_takes_the_maximum_and_warns_d07() -> None:
    """`A: 7 20 (20)` with `A: 2 10 (10)  B: 5 25 (25)`."""
    as_says = Digest({A: Entry(7, 20, 20)})
    bs_say = Digest({A: Entry(2, 10, 10), B: Entry(5, 25, 25)})
    merged, overlap = consolidate([as_says, bs_say])
    assert dict(merged.entries) == {A: Entry(7, 20, 20), B: Entry(5, 25, 25)}
    assert overlap == (A,)


def test_seed_000_a_message_sent_meanwhile_counts_d07() -> None:
    """`if A's digest (for itself) contains 7 21 (21) ... the maximum would be 7 21 (21)`."""
    merged, _ = consolidate([Digest({A: Entry(7, 21, 21)}), Digest({A: Entry(7, 20, 20)})])
    assert merged[A] == Entry(7, 21, 21)


def test_without_overlap_there_is_nothing_to_warn_of() -> None:
    assert consolidate([Digest({A: seqno(1)}), Digest({B: seqno(2)})])[1] == ()


def merged(local: dict[Address, int], digest: dict[Address, int], *sides: tuple[Address, ...]) -> dict[Address, int]:
    """How far A has delivered of each member (of its own: sent) behind a MergeView with this digest."""
    before = View(ViewId(1, A), tuple(local))
    stream = Multicast(A, profile("test"), before, local, multicasts=False)
    stream.on_view(1, View(ViewId(2, A), tuple(digest), subgroups=sides), digest)
    return {member: stream.delivered(member) for member in digest}


def test_seed_000_merging_of_local_digests_p20() -> None:
    digest = {A: 15, B: 7, C: 10, D: 9}
    assert merged({A: 20, B: 10}, digest, (A, B), (C, D)) == {A: 20, B: 10, C: 10, D: 9}


def test_seed_000_bs_eight_to_ten_are_not_delivered_again_even_if_b_was_apart_p20() -> None:
    assert merged({A: 20, B: 10}, {A: 20, B: 7}, (A,), (B,))[B] == 10


def test_equality_keeps_what_is_buffered_beyond_p20() -> None:
    """Taken literally the seed resets on equality; buffered B12 would be thrown away."""
    before, after = View(ViewId(1, A), (A, B)), View(ViewId(2, A), (A, B), subgroups=((A,), (B,)))
    stream = Multicast(A, profile("test"), before, {A: 0, B: 10}, multicasts=False)
    stream.on_run(1, B, Run(Channel.GROUP, before.id, B, 12, 0, [b"B12"], 3))
    stream.on_view(2, after, {A: 0, B: 10})
    assert [*stream.incoming[B].window.beyond(8)] == [(12, 12)]


@pytest.mark.parametrize("digest", [0, 7, 10, 11, 99])
def test_our_own_entry_is_never_overwritten_g10(digest: int) -> None:
    assert merged({A: 10, B: 0}, {A: digest, B: 0}, (A,), (B,))[A] == 10


@pytest.mark.parametrize(("local", "digest", "after"), [(9, 10, 10), (10, 10, 10), (11, 10, 11), (0, 10, 10)])
def test_a_lower_entry_is_reset_and_a_higher_or_equal_one_kept_g10(local: int, digest: int, after: int) -> None:
    assert merged({A: 0, B: local}, {A: 0, B: digest}, (A,), (B,))[B] == after


def test_between_members_of_the_same_view_nothing_is_reset_g10() -> None:
    """They were never apart: 8..10 are in flight and retransmission brings them; a reset would lose them."""
    assert merged({A: 0, B: 7}, {A: 0, B: 10, C: 0}, (A, B), (C,))[B] == 7


def test_a_sender_never_heard_of_starts_at_the_digest() -> None:
    assert merged({A: 0}, {A: 0, B: 10}, (A,), (B,))[B] == 10


# ---- the view


def aggregate(
    members: str, number: int = 1, *, capacity: int = 64, window: int = 1000, observers: str = ""
) -> Aggregate:
    names = tuple(map(member, members))
    digest = Digest({m: seqno(1) for m in names})
    return Aggregate(names, digest, number, capacity, window, tuple(map(member, observers)))


def test_the_leaders_subgroup_comes_first_and_the_subgroups_are_named() -> None:
    view = merge_view(ViewId(13, C), [aggregate("CD"), aggregate("AB")])
    assert view.members == (C, D, A, B)
    assert view.subgroups == ((C, D), (A, B))


def test_the_smallest_limits_are_agreed_on() -> None:
    view = merge_view(
        ViewId(13, A), [aggregate("AB", capacity=64, window=500), aggregate("CD", capacity=16, window=900)]
    )
    assert (view.capacity, view.window_bytes) == (16, 500)


def test_observers_stay_observers() -> None:
    view = merge_view(ViewId(13, A), [aggregate("AB", observers="A"), aggregate("CD", observers="D")])
    assert (view.observers, view.coordinator) == ((A, D), B)


def test_a_member_of_two_subgroups_counts_for_the_first() -> None:
    view = merge_view(ViewId(13, A), [aggregate("A"), aggregate("AB"), aggregate("B")])
    assert (view.members, view.subgroups) == ((A, B), ((A,), (B,)))
