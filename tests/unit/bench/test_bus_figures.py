"""A figure of `bench bus` counts only if everything was read, as it was sent, and in one order."""

import pytest

from ringcast.bench.bus import BusShape, figures, ring_bytes
from ringcast.bench.bus_load import END, POOL, Tally, batches_of, pool_of
from ringcast.bus import Message
from ringcast.errors import UsageError


def consumer(interleaving: int = 7, wrong: int = 0, received: int = 10) -> dict[str, object]:
    return {
        "received": {"p0": received},
        "wrong": wrong,
        "interleaving": interleaving,
        "per_second": 100.0,
        "rss_megabytes": 20.0,
    }


def complete(sent: int = 10, **changes: int) -> bool:
    producers = {"p0": {"sent": sent, "rss_megabytes": 10.0}}
    return bool(figures(producers, {"c0": consumer(), "c1": consumer(**changes)}, 100)["complete"])


def test_everything_in_one_order_is_complete() -> None:
    assert complete()


def test_another_order_a_lost_and_a_wrong_message_are_not() -> None:
    assert not complete(interleaving=8)
    assert not complete(received=9)
    assert not complete(wrong=1)


def test_nothing_sent_is_not_complete() -> None:
    producers = {"p0": {"sent": 0, "rss_megabytes": 10.0}}
    assert not figures(producers, {"c0": consumer(received=0)}, 100)["complete"]


@pytest.mark.parametrize("size", [2, 3, 100, 60_000, 200_000])
def test_the_batches_are_the_pool_and_no_payload_looks_like_the_end(size: int) -> None:
    pool = pool_of(size)
    assert [payload for batch in batches_of(pool, size) for payload in batch] == pool
    assert {len(payload) for payload in pool} == {size}
    assert END not in pool


def test_a_tally_accepts_runs_of_any_length_and_singles_alike() -> None:
    pool = pool_of(10)
    runs, singles = Tally(pool), Tally(pool)
    for at, seq in ((0, 1), (300, 1), (700, 2)):
        runs.add_run("p", (pool * 2)[at : at + (300 if at == 0 else 400)], seq)
    singles.add_messages([Message("p", payload, at + 1, at + 1) for at, payload in enumerate((pool * 2)[:1100])])
    assert (runs.wrong, runs.received, singles.wrong, singles.received) == (0, {"p": 1100}, 0, {"p": 1100})


def test_a_tally_finds_a_swap_a_repetition_and_a_changed_byte() -> None:
    pool = pool_of(10)
    for bad in ([pool[1], pool[0]], [pool[0], pool[0]], [pool[0][:-1] + b"?"]):
        tally = Tally(pool)
        tally.add_run("p", bad, 1)
        assert tally.wrong == 1


def test_single_messages_are_told_apart_by_content_by_order_and_by_sender() -> None:
    pool = pool_of(10)
    good = [Message("p", pool[0], 1, 1), Message("q", pool[0], 2, 1), Message("p", pool[1], 3, 2)]
    whole, cut, changed, swapped, renamed = (Tally(pool) for _ in range(5))
    whole.add_messages(good)
    cut.add_messages(good[:1])
    cut.add_messages(good[1:])
    changed.add_messages([good[0], good[1], good[2]._replace(payload=pool[0])])
    swapped.add_messages([good[1], good[0], good[2]])
    renamed.add_messages([good[0]._replace(sender="q"), good[1]._replace(sender="p"), good[2]])
    assert (whole.wrong, whole.received) == (0, {"p": 2, "q": 1})
    assert (cut.interleaving, cut.names) == (whole.interleaving, whole.names)
    assert changed.wrong == 1
    assert swapped.interleaving != whole.interleaving
    assert renamed.names != whole.names


def test_where_a_limit_cuts_a_batch_does_not_change_the_interleaving_but_its_order_does() -> None:
    pool = pool_of(10)
    whole, cut, swapped = Tally(pool), Tally(pool), Tally(pool)
    whole.add_run("p", pool[:4], 1)
    whole.add_run("q", pool[:1], 2)
    cut.add_run("p", pool[:3], 1)
    cut.add_run("p", pool[3:4], 1)
    cut.add_run("q", pool[:1], 2)
    swapped.add_run("q", pool[:1], 2)
    swapped.add_run("p", pool[:4], 1)
    assert whole.interleaving == cut.interleaving != swapped.interleaving


def test_a_ring_holds_several_of_the_largest_messages() -> None:
    assert ring_bytes(BusShape(size=100)) == 1 << 20
    assert ring_bytes(BusShape(size=1 << 18)) >= 8 * (1 << 18)
    assert POOL % 256 == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"producers": 0}, "--producers must be 1 to 30, got 0"),
        ({"consumers": 31}, "--consumers must be 1 to 30, got 31"),
        ({"size": 1}, "--size must be 2 to 262144, got 1"),
        ({"seconds": 0.0}, r"--seconds must be above 0 and at most 600, got 0\.0"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_in_words(wrong: dict[str, int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        BusShape(**wrong)
