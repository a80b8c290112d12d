"""What orchestrators and Prometheus ask a member over HTTP: `/metrics`, `/healthz`, `/readyz`.

The text of `/metrics` is kept for a second, so that who asks often costs no more than who asks once.
`/healthz` says that the event loop turns; it is answered from before the first view, so a slow join is not killed.
`/readyz` says that this member may send: it is in a view, on the primary side if only that may go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ringcast.runtime.arguments import HostPort, place_of
from ringcast.runtime.group import Group
from ringcast.runtime.http_server import PLAIN, Answer, HttpServer
from ringcast.runtime.metrics import CONTENT_TYPE, check_installed
from ringcast.transport import DEFAULT_LIMITS, split_host_port

_log = logging.getLogger("ringcast")


def answering_place(metrics: HostPort) -> str:
    """Where to answer, checked before anything begins."""
    check_installed()
    text = place_of(metrics, "metrics")
    split_host_port(text)
    return text


class Kept:
    """A text that is made again at most once in a while, however often it is asked for."""

    def __init__(self, make: Callable[[], str], seconds: float, now: Callable[[], float]) -> None:
        self._make, self._seconds, self._now = make, seconds, now
        self._text = ""
        self._until: float | None = None

    def __call__(self) -> str:
        now = self._now()
        if self._until is None or now >= self._until:
            self._text, self._until = self._make(), now + self._seconds
        return self._text


async def answer_over_http(group: Group, bind: str) -> Callable[[], Awaitable[None]]:
    """Begin to answer; gives what ends it."""

    def readiness() -> Answer:
        status = group.status()
        if status["ready"]:
            return 200, PLAIN, f"{group.me.name} may send\n"
        return 503, PLAIN, f"{group.me.name} may not send: {status['not_ready_because']}\n"

    metrics = Kept(group.metrics, DEFAULT_LIMITS.text_seconds, asyncio.get_running_loop().time)
    server = HttpServer(
        {
            "/metrics": lambda: (200, CONTENT_TYPE, metrics()),
            "/healthz": lambda: (200, PLAIN, f"{group.me.name} runs\n"),
            "/readyz": readiness,
        }
    )
    at = await server.open(bind)
    _log.info("%s in group %s: answers at http://%s/metrics", group.me, group.name, at)
    return server.close
