"""The file of a shared bus: made, joined, locked, given memory, removed.

Invariants: whoever uses the file holds the use lock, so a file that nobody holds carries nothing of value and may be
made anew; the magic number is written last, so a file without it was never finished; memory is reserved before it is
touched, so a full file system is an error here and not a fault later.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ringcast.bus.errors import BusUnusable
from ringcast.bus.geometry import HEADER, MAGIC, Geometry, read_header
from ringcast.bus.locks import USE_BYTE, attach_lock, try_lock
from ringcast.errors import ConfigError
from ringcast.native import _bus

DEFAULT_DIRECTORY: Final = Path("/dev/shm")

_open_files: weakref.WeakSet[BusFile] = weakref.WeakSet()


class BusFile:
    """One open file description of a bus. Every peer has its own, because its locks are what says that it lives."""

    def __init__(self, name: str, path: Path, fd: int, geometry: Geometry) -> None:
        self.name, self.path, self.geometry = name, path, geometry
        self._fd: int | None = fd
        _open_files.add(self)

    @property
    def fd(self) -> int:
        assert self._fd is not None
        return self._fd

    @property
    def fifo_prefix(self) -> str:
        return f"{self.path}.bell-"

    def map(self) -> _bus.Segment:
        map_fd = self._open_again()
        try:
            return _bus.Segment(map_fd, self.fd, self.fifo_prefix)
        except ValueError as damaged:
            raise BusUnusable(f"bus {self.name!r}: {self.path} cannot be used: {damaged}") from None
        finally:
            os.close(map_fd)

    @contextmanager
    def attaching(self) -> Iterator[None]:
        with attach_lock(self.fd, self.name):
            yield

    def lock_slot(self, slot: int) -> None:
        if not try_lock(self.fd, _bus.SLOT_LOCK + slot):
            raise BusUnusable(f"bus {self.name!r}: slot {slot} is locked by another process")

    def reserve(self, start: int, length: int, what: str) -> None:
        try:
            os.posix_fallocate(self.fd, start, length)
        except OSError as refused:
            raise no_memory(self.name, self.path, length, what, refused) from None

    def again(self) -> BusFile:
        """The same file with locks of its own."""
        fd = self._open_again()
        try_lock(fd, USE_BYTE, fcntl.F_RDLCK)
        return BusFile(self.name, self.path, fd, self.geometry)

    def _open_again(self) -> int:
        fd = open_file(self.name, self.path, os.O_RDWR)
        if not os.path.sameopenfile(fd, self.fd):
            os.close(fd)
            raise BusUnusable(f"bus {self.name!r}: its file {self.path} was replaced while it was open here")
        return fd

    def close(self) -> None:
        """Drop all locks; the last one out removes the file."""
        if self._fd is None:
            return
        with suppress(BusUnusable), self.attaching():
            if try_lock(self.fd, USE_BYTE) and is_current(self.fd, self.path):
                remove(self.path)
        self.abandon()

    def abandon(self) -> None:
        """Close the descriptor and nothing else, as the end of the process would."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __del__(self) -> None:
        if self._fd is not None:
            warnings.warn(f"bus {self.name!r} was not closed or detached from", ResourceWarning, stacklevel=2)
        self.abandon()


def open_bus_file(name: str, directory: Path, wanted: dict[str, int]) -> BusFile:
    """Join the bus of this name, or make it; `wanted` holds the sizes that the caller insists on."""
    path = directory / f"ringcast-{name}.bus"
    while True:
        fd = open_file(name, path, os.O_RDWR | os.O_CREAT)
        try:
            geometry = join_or_make(name, path, fd, wanted)
        except BaseException:
            os.close(fd)
            raise
        if geometry is not None:
            return BusFile(name, path, fd, geometry)
        os.close(fd)


def join_or_make(name: str, path: Path, fd: int, wanted: dict[str, int]) -> Geometry | None:
    """None: the file was removed under us, or was a leftover that is removed now; open again."""
    with attach_lock(fd, name):
        if not is_current(fd, path):
            return None
        alone = try_lock(fd, USE_BYTE)
        if os.fstat(fd).st_size == 0:
            geometry = make(name, path, fd, wanted)
        elif alone:
            refuse_foreign(name, path, fd)
            remove(path)
            return None
        else:
            geometry = join(name, path, fd, wanted)
        try_lock(fd, USE_BYTE, fcntl.F_RDLCK)
        return geometry


def make(name: str, path: Path, fd: int, wanted: dict[str, int]) -> Geometry:
    try:
        geometry = Geometry(**wanted)
        control, total = _bus.sizes(geometry.max_peers, geometry.ring_bytes, geometry.words)
        try:
            os.ftruncate(fd, total)
            os.posix_fallocate(fd, 0, control)
        except OSError as refused:
            raise no_memory(name, path, control, "its control part", refused) from None
    except BaseException:
        path.unlink()
        raise
    os.pwrite(fd, geometry.header(_bus.VERSION), 0)
    os.pwrite(fd, struct.pack("=Q", MAGIC), 0)
    return geometry


def join(name: str, path: Path, fd: int, wanted: dict[str, int]) -> Geometry:
    refuse_foreign(name, path, fd)
    _, version, geometry = read_header(os.pread(fd, HEADER.size, 0))
    if version != _bus.VERSION:
        raise BusUnusable(
            f"bus {name!r} is in use with layout version {version}, and this ringcast speaks version {_bus.VERSION}; "
            f"let its peers end, or use another name"
        )
    if geometry is None:
        raise BusUnusable(f"bus {name!r}: the header of {path} is damaged; remove the file when its peers have ended")
    _, total = _bus.sizes(geometry.max_peers, geometry.ring_bytes, geometry.words)
    if (size := os.fstat(fd).st_size) != total:
        raise BusUnusable(
            f"bus {name!r}: {path} has {size} bytes instead of {total}; remove it when its peers have ended"
        )
    for option, value in wanted.items():
        if value != getattr(geometry, option):
            raise ConfigError(f"bus {name!r} is in use with {option}={getattr(geometry, option)}, not {value}")
    return geometry


def refuse_foreign(name: str, path: Path, fd: int) -> None:
    """Only a bus, or one that was never finished, is ours to touch."""
    first_bytes = os.pread(fd, HEADER.size, 0)
    if len(first_bytes) < HEADER.size or read_header(first_bytes)[0] not in (0, MAGIC):
        raise BusUnusable(f"bus {name!r}: the file {path} is not a ringcast bus")


def open_file(name: str, path: Path, flags: int) -> int:
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as refused:
        raise BusUnusable(f"bus {name!r}: cannot open {path}: {refused.strerror}") from None
    try:
        refuse_unsafe(name, path, os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def refuse_unsafe(name: str, path: Path, found: os.stat_result) -> None:
    """Peers trust each other with their memory, and everybody may put files into /dev/shm."""
    if not stat.S_ISREG(found.st_mode):
        raise BusUnusable(f"bus {name!r}: {path} is not a regular file")
    if found.st_uid != os.geteuid():
        raise BusUnusable(f"bus {name!r}: {path} belongs to user {found.st_uid}, and this is user {os.geteuid()}")


def is_current(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def remove(path: Path) -> None:
    """The bus file and the FIFOs beside it, as far as they are ours: others may put such names beside it."""
    for fifo in path.parent.glob(f"{path.name}.bell-*"):
        with suppress(OSError):
            fifo.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def no_memory(name: str, path: Path, length: int, what: str, refused: OSError) -> BusUnusable:
    if refused.errno not in (errno.ENOSPC, errno.ENOMEM, errno.EFBIG, errno.EDQUOT):
        return BusUnusable(f"bus {name!r}: cannot reserve {length} bytes for {what}: {refused.strerror}")
    return BusUnusable(
        f"bus {name!r}: {path.parent} has no room for the {length} bytes of {what}; "
        "free some, or open the bus with smaller ring_bytes"
    )


def _abandon_in_child() -> None:
    # A fork copies the descriptors; kept, they would make a dead parent look alive.
    for file in list(_open_files):
        file.abandon()


os.register_at_fork(after_in_child=_abandon_in_child)
