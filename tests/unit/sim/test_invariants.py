"""After every fact what it can have touched is checked, and everything at least once in a heartbeat interval."""

import pytest

from ringcast.model import MS
from ringcast.sim import Cluster


def test_a_window_that_a_packet_broke_is_found_with_that_packet() -> None:
    cluster = Cluster(3)
    cluster.send("A", b"one")
    cluster.run_for(10 * MS)
    cluster["B"].node.group.incoming[cluster.address("A")].window.freed += 1
    with pytest.raises(AssertionError):
        cluster.send("A", b"two")
        cluster.run_for(5 * MS)


def test_a_window_that_nothing_touches_is_looked_at_within_a_heartbeat_interval() -> None:
    cluster = Cluster(3)
    cluster.send("A", b"one")
    cluster.run_for(200 * MS)
    cluster["B"].node.group.incoming[cluster.address("C")].window.stable += 5
    with pytest.raises(AssertionError):
        for _ in range(20):
            cluster.send("A", b"more")
            cluster.run_for(20 * MS)
