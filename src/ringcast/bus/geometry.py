"""The sizes and limits of a shared bus, fixed when its file is made, and how they stand in the file's first bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from ringcast.errors import ConfigError

MAGIC: Final = 0x5355424743474E52
HEADER: Final = struct.Struct("=QIIIIQQQ")
PEERS_MAX: Final = 64
RING_BYTES_MIN: Final = 1 << 12
RING_BYTES_MAX: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Geometry:
    """One bus's sizes: for each pair of peers a ring of `ring_bytes` that holds at most `frames` batches."""

    max_peers: int = 32
    ring_bytes: int = 1 << 20
    stall_ns: int = 5_000_000_000
    evict_ns: int = 0  # 0: a peer that does not read is waited for

    def __post_init__(self) -> None:
        if not 1 <= self.max_peers <= PEERS_MAX:
            raise ConfigError(f"max_peers is {self.max_peers}, not between 1 and {PEERS_MAX}")
        if not RING_BYTES_MIN <= self.ring_bytes <= RING_BYTES_MAX or self.ring_bytes & (self.ring_bytes - 1):
            raise ConfigError(
                f"ring_bytes is {self.ring_bytes}, not a power of two between {RING_BYTES_MIN} and {RING_BYTES_MAX}"
            )
        if self.stall_ns <= 0:
            raise ConfigError(f"stall_limit is {self.stall_ns / 1e9} s, not above 0")
        if self.evict_ns < 0:
            raise ConfigError(f"evict_after is {self.evict_ns / 1e9} s, not above 0")

    @property
    def frames(self) -> int:
        """How many batches one ring holds at most."""
        return max(16, min(4096, self.ring_bytes >> 9))

    @property
    def words(self) -> int:
        """Transactions that a sender can have open: enough that a peer who does not read uses up nobody else's."""
        return max(64, 1 << (self.frames * self.max_peers - 1).bit_length())

    def header(self, version: int) -> bytes:
        """The first bytes of the file. The magic number is 0 here: it is written last."""
        sizes = (self.max_peers, self.words, self.frames, self.ring_bytes)
        return HEADER.pack(0, version, *sizes, self.stall_ns, self.evict_ns)


def read_header(first_bytes: bytes) -> tuple[int, int, Geometry | None]:
    """(magic, version, geometry); the geometry is None where its values make no sense."""
    magic, version, max_peers, words, frames, ring_bytes, stall_ns, evict_ns = HEADER.unpack(first_bytes)
    try:
        geometry = Geometry(max_peers, ring_bytes, stall_ns, evict_ns)
    except ConfigError:
        return magic, version, None
    return magic, version, geometry if (geometry.words, geometry.frames) == (words, frames) else None
