"""What a member's society needs of the node whose social half it is: its streams, its order, its views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ringcast.core.control import Settlement
from ringcast.core.effects import Effect
from ringcast.core.multicast import GroupStream
from ringcast.core.order_line import OrderLine
from ringcast.model import Address, Config, View


class Body(Protocol):
    """The node whose social half this is."""

    me: Address
    config: Config
    largest_whole: int
    order: OrderLine

    @property
    def has_group(self) -> bool: ...

    @property
    def group(self) -> GroupStream: ...

    def on_view(
        self,
        now_ns: int,
        view: View,
        offsets: Mapping[Address, int],
        notes: Mapping[str, object],
        settlement: Settlement,
    ) -> list[Effect]: ...

    def wake(self, now_ns: int) -> None: ...
