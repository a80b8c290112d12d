"""Ends a simulated run and asserts what the checkers say about it."""

from ringcast.checkers import judge
from ringcast.sim import Cluster


def assert_held(cluster: Cluster, *guarantees: str) -> None:
    """No violation anywhere, and these guarantees were really examined."""
    cluster.end_all()
    judgement = judge(cluster.recordings(), require=guarantees)
    assert judgement.verdict == "held", judgement.reasons
