"""SharedBus: one order among the processes of one host, through a file in shared memory.

Opening says which bus and how large; attaching makes this process a peer of it. See docs/design/bus.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, overload

from ringcast.bus.errors import BusUnusable, NameTaken, NativeMissing
from ringcast.bus.message import CAUSES
from ringcast.bus.names import checked_bus_name, checked_peer_name
from ringcast.bus.recorded import Record, RecordedPeer

if TYPE_CHECKING:
    from ringcast.bus.file import BusFile
    from ringcast.bus.shared_peer import SharedPeer, SlotRow


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """One peer of a bus as an outsider sees it. `left` says why it is gone, while its notice is unread."""

    name: str
    pid: int
    left: str | None


class SharedBus:
    """A handle on a bus file. Several may be open, in one process or many; the last to close removes the file."""

    def __init__(self, file: BusFile) -> None:
        self._file = file
        self._segment = file.map()

    @classmethod
    def open(
        cls,
        name: str,
        *,
        directory: str | Path = "/dev/shm",
        max_peers: int | None = None,
        ring_bytes: int | None = None,
        stall_limit: float | None = None,
        evict_after: float | None = None,
    ) -> Self:
        """Join the bus of this name, or make it.

        Options that are left out take the value of the existing bus, or the default (32 peers, rings of 1 MiB, 5 s,
        never). `stall_limit`: after so many seconds inside one queueing, a sender is given up. `evict_after`: a peer
        that has read nothing for so long while a sender waits for it is given up.
        """
        require_native()
        from ringcast.bus.file import open_bus_file

        checked_bus_name(name)
        wanted = {
            "max_peers": max_peers,
            "ring_bytes": ring_bytes,
            "stall_ns": None if stall_limit is None else int(stall_limit * 1e9),
            "evict_ns": None if evict_after is None else int(evict_after * 1e9),
        }
        return cls(open_bus_file(name, Path(directory), {key: n for key, n in wanted.items() if n is not None}))

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def ring_bytes(self) -> int:
        return self._file.geometry.ring_bytes

    @overload
    def attach(self, name: str) -> SharedPeer: ...

    @overload
    def attach(self, name: str, *, record: Record) -> RecordedPeer: ...

    def attach(self, name: str, *, record: Record | None = None) -> SharedPeer | RecordedPeer:
        """Become a peer under this name. Messages queued from now on can reach it; earlier ones do not.

        `record` makes a recorder for it, for example `to_directory(path)`.
        """
        peer = self._attach(checked_peer_name(name))
        return peer if record is None else RecordedPeer.around(peer, self.name, self.ring_bytes, record)

    def _attach(self, name: str) -> SharedPeer:
        file = self._file.again()
        try:
            with file.attaching():
                return attach_peer(file, name)
        except BaseException:
            file.abandon()
            raise

    def peers(self) -> list[PeerStatus]:
        """Who is attached, and who left without everybody having heard of it yet."""
        from ringcast.bus.shared_peer import ACTIVE, rows_of

        self._segment.reap()
        rows = rows_of(self._segment)
        return [PeerStatus(row.name, row.pid, None if row.phase == ACTIVE else CAUSES[row.cause]) for row in rows]

    def close(self) -> None:
        """Let go of the file; peers attached through this handle stay attached."""
        self._segment.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def attach_peer(file: BusFile, name: str) -> SharedPeer:
    """Under the attach lock: find a slot that nobody will touch again, give it memory, take it."""
    from ringcast.bus.shared_peer import SharedPeer, rows_of

    segment = file.map()
    segment.reap()
    rows = rows_of(segment)
    refuse_taken_name(file, name, rows)
    slot = segment.reusable_slot()
    if slot is None:
        raise no_slot(file, rows)
    file.lock_slot(slot)
    file.reserve(*segment.shell(slot), f"the rings of peer {name!r}")
    segment.reserve(slot)
    return SharedPeer(file, segment, slot, name)


def refuse_taken_name(file: BusFile, name: str, rows: list[SlotRow]) -> None:
    from ringcast.bus.shared_peer import ACTIVE, LEAVING

    for row in rows:
        if row.name == name and row.phase in (ACTIVE, LEAVING):
            raise NameTaken(f"bus {file.name!r}: peer {name!r} is already attached, by process {row.pid}")


def no_slot(file: BusFile, rows: list[SlotRow]) -> BusUnusable:
    from ringcast.bus.shared_peer import ACTIVE

    active = sum(row.phase == ACTIVE for row in rows)
    return BusUnusable(
        f"bus {file.name!r} has no free slot: {active} of {file.geometry.max_peers} are attached, and "
        f"{len(rows) - active} wait until all peers have dequeued the notice that their owner left, or until it ends"
    )


def require_native() -> None:
    try:
        from ringcast.native import _bus  # noqa: F401
    except ImportError as missing:
        raise NativeMissing(
            "SharedBus needs ringcast's C part, which this installation lacks: get a compiler (apt-get install gcc "
            "python3-dev), then `pip install --force-reinstall --no-binary ringcast ringcast`, or `make native` in a "
            f"checkout ({missing})"
        ) from None
