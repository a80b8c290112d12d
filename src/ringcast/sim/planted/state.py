"""Mistakes in the transfer of an application's state: where it is cut, and what a joiner reads first."""

from __future__ import annotations

from ringcast.sim.planted.planting import Planted

_CORE = "ringcast.core"

STATE = (
    Planted(
        "the state is cut behind the first messages of the view",
        "G18",
        f"{_CORE}.coordination:Coordination.install",
        "[*self._node.giving_up.on_view(now_ns, previous, view), *states]",
        "self._node.giving_up.on_view(now_ns, previous, view); out += states",
        seeds=20,
        workload="state",
    ),
    Planted(
        "a joiner reads its view before its state",
        "state",
        f"{_CORE}.state.chunks:StateChunks._begin",
        "return [AwaitState(transfer.provider, transfer.view)]",
        "return [StateOver(self.me, None)]",
        seeds=5,
        workload="state",
    ),
)
