"""pyzmq PUB/SUB in the shape of our own run: the same processes, sizes and fan-out, over tcp and ipc.

Beside our batch form: multipart messages of about 60 kB. Beside the single form: one send per message, of the same
payload, and receivers that only count. Beside the user's form: what zmq_user.py does, with blocking sockets (one sender
only: with several each process would have to take turns) and with `zmq.asyncio`.
A receiver counts everything; a variant that lost something is named incomplete. With several senders a member's own
messages count as received at once, as ours do, without travelling.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ringcast.bench.told import Told, run_together

BATCH_BYTES = 60_000
FORMS = {"batch": "multipart", "single": "single", "user": "user"}  # ours, and how pyzmq's is called


def lacks_pyzmq() -> dict[str, str]:
    """What is left out without it, and why; empty if it is here."""
    return {} if find_spec("zmq") else {"pyzmq": "it is not installed (pip install 'ringcast[bench]')"}


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of using pyzmq."""

    scheme: str  # "tcp" or "ipc"
    form: str  # "single", "multipart", "user" or "user asyncio"

    @property
    def name(self) -> str:
        return f"pyzmq {self.scheme} {self.form}"

    @property
    def is_user(self) -> bool:
        return self.form.startswith("user")

    def fits(self, forms: Sequence[str], senders: int) -> bool:
        """Stands it beside one of these forms of ours, in this shape?"""
        if self.form == "user" and senders > 1:
            return False
        return any(self.form.startswith(FORMS[form]) for form in forms)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Messages/s at the median receiver, and how many messages receivers missed in all."""

    messages_per_second: float
    missing: int


VARIANTS = tuple(
    Variant(scheme, form) for scheme in ("tcp", "ipc") for form in ("single", "multipart", "user", "user asyncio")
)


def measure_peers(
    *, senders: int, members: int, size: int, seconds: float, forms: Sequence[str] = tuple(FORMS)
) -> dict[str, float]:
    """Messages per second at the median receiver, by variant; a name says so if its figure is incomplete."""
    found: dict[str, float] = {}
    for variant in VARIANTS:
        if variant.fits(forms, senders):
            outcome = measure_variant(variant, senders=senders, members=members, size=size, seconds=seconds)
            name = f"{variant.name} (incomplete: {outcome.missing} lost)" if outcome.missing else variant.name
            found[name] = outcome.messages_per_second
    return found


def measure_variant(variant: Variant, *, senders: int, members: int, size: int, seconds: float) -> Outcome:
    module = "ringcast.bench.zmq_user" if variant.is_user else "ringcast.bench.zmq_member"
    with tempfile.TemporaryDirectory(prefix="ringcast-zmq-") as directory:
        roles = [_role(variant, directory, i, senders, members, size, seconds) for i in range(members)]

        def sources(published: list[str | None]) -> list[list[str]]:
            """Where each one reads."""
            others = [[at for other, at in enumerate(published) if at and other != i] for i in range(members)]
            return [found if role["receives"] else [] for found, role in zip(others, roles, strict=True)]

        tallies = run_together([Told(module, role) for role in roles], sources)
    return judge(tallies, [bool(role["receives"]) for role in roles])


def judge(tallies: list[dict[str, int]], receives: list[bool]) -> Outcome:
    receivers = [tally for tally, counts in zip(tallies, receives, strict=True) if counts]
    rates = [
        (tally["received"] + tally["sent"]) / max(tally["last_ns"] - tally["first_ns"], 1) * 1e9 for tally in receivers
    ]
    return Outcome(statistics.median(rates), sum(tally["expected"] - tally["received"] for tally in receivers))


def _role(
    variant: Variant, directory: str, index: int, senders: int, members: int, size: int, seconds: float
) -> dict[str, Any]:
    at = "tcp://127.0.0.1:*" if variant.scheme == "tcp" else f"ipc://{Path(directory) / str(index)}"
    return {
        "publishes_at": at if index < senders else None,
        "receives": senders > 1 or index >= senders,
        "subscribers": members - 1,
        "size": size,
        "parts": max(1, BATCH_BYTES // size) if variant.form == "multipart" else 1,
        "seconds": seconds,
        "form": variant.form if variant.is_user else "bare",
        "number": index,
    }
