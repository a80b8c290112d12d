"""A fixed list of places to ask: `seeds=["10.0.0.1:7001", "host-b:7001"]`."""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.errors import TransportError
from ringcast.transport import Endpoint, resolve


class StaticDiscovery:
    """Names are looked up each time, so a host that gets a new address is found again."""

    def __init__(self, seeds: Iterable[str]) -> None:
        self._seeds = list(seeds)
        self._me: Endpoint | None = None

    async def open(self, group: str, me: Endpoint) -> None:
        self._me = me

    async def find(self) -> list[Endpoint]:
        found: dict[Endpoint, None] = {}
        refusals: list[str] = []
        for seed in self._seeds:
            try:
                found[await resolve(seed)] = None
            except TransportError as error:
                refusals.append(str(error))
        if refusals and not found:
            raise TransportError(refusals[0])  # Not one seed can be found: that is a mistake, not a slow start.
        return [endpoint for endpoint in found if endpoint != self._me]

    async def close(self) -> None:
        """Nothing was announced."""
