"""A fixed list of places to ask: `seeds=["10.0.0.1:7001", "host-b:7001"]`."""

from __future__ import annotations

from collections.abc import Iterable

from ringcast.errors import TransportError
from ringcast.runtime.arguments import HostPort, seeds_of
from ringcast.runtime.discovery.protocol import NoAnswerYet
from ringcast.transport import Endpoint, resolve


class StaticDiscovery:
    """Names are looked up each time, so a host that gets a new address is found again."""

    def __init__(self, seeds: HostPort | Iterable[HostPort]) -> None:
        self._seeds = seeds_of(seeds)
        self.is_complete = False  # what was found last is all there is: every seed could be looked up
        self.is_first = False  # the first seed is this member's own place
        self._me: Endpoint | None = None

    @property
    def is_empty(self) -> bool:
        return not self._seeds

    async def open(self, group: str, me: Endpoint) -> None:
        self._me = me

    async def find(self) -> list[Endpoint]:
        found: dict[Endpoint, None] = {}
        refusals: list[str] = []
        for number, seed in enumerate(self._seeds):
            try:
                endpoint = await resolve(seed)
                found[endpoint] = None
                self.is_first = self.is_first or (number == 0 and endpoint == self._me)
            except TransportError as error:
                refusals.append(str(error))
        self.is_complete = not refusals
        if refusals and not found:
            raise NoAnswerYet(refusals[0])  # Names of hosts that start with us may not be there yet.
        return [endpoint for endpoint in found if endpoint != self._me]

    async def close(self) -> None:
        """Nothing was announced."""
