"""The reader of a simulated process: at once, at a pace, or not at all."""

from ringcast.model import MS
from ringcast.sim import Cluster


def _unread(pause_ns: int | None) -> Cluster:
    cluster = Cluster(2)
    cluster.read_every("B", pause_ns)
    for number in range(3):
        cluster.send("A", b"%d" % number)
        cluster.run_for(2 * MS)
    return cluster


def test_a_reader_without_a_pause_has_read_what_arrived() -> None:
    assert _unread(0).read("B", "A") == [b"0", b"1", b"2"]


def test_a_reader_that_stands_still_reads_nothing_until_it_goes_on() -> None:
    cluster = _unread(None)
    assert cluster.read("B", "A") == []
    cluster.read_every("B", 0)
    assert cluster.read("B", "A") == [b"0", b"1", b"2"]


def test_a_slow_reader_takes_one_delivery_in_its_pause() -> None:
    cluster = _unread(100 * MS)
    assert len(cluster.read("B", "A")) == 1
    cluster.run_for(100 * MS)
    assert len(cluster.read("B", "A")) == 2
