"""The words in which stories on the one order are told: a group that found itself, and what was read in order."""

from __future__ import annotations

from ringcast.model import Config, profile
from ringcast.sim import Cluster, Link


def group(names: str, seed: int = 1, link: Link | None = None, config: Config | None = None) -> Cluster:
    """Members that found their group by themselves, all in one view."""
    cluster = Cluster(names, seed=seed, config=config or profile("test"), fixed=False, link=link)
    assert cluster.run_until(cluster.share_a_view)
    return cluster


def read(cluster: Cluster, name: str) -> list[bytes]:
    return [payload for _, payload in cluster.application(name).ordered]


def settled(cluster: Cluster, *names: str) -> list[bytes]:
    """What these have read in order when nothing is left to do; it must be the same."""
    assert cluster.run_until(lambda: cluster.is_settled() and cluster.share_a_view())
    orders = {name: read(cluster, name) for name in names}
    assert len({tuple(order) for order in orders.values()}) == 1, orders
    return orders[names[0]]
