"""Digests of ordered messages that can be joined from pieces, whatever the borders of the pieces are.

The digest of a set of messages is the sum, modulo 2**64 and in two independent halves, of one value per message; the
value of a message is a mixed function of (sender, seq) times F(number) - F(number - 1), with F a mixed function too.
So a run of numbers costs two evaluations of F, a batch read in two parts has the digest of the whole batch, and pieces
of two segments are added. The order is in it because each message counts with its place in the one order (seq), and
each member's seqs are shown to grow. Two different sets have equal digests with probability about 2**-128, taking the
mixing (the finaliser of splitmix64) for a random function; recordings are not made by adversaries.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from ringcast.pipeline.rules.piece import Array

_SALTS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def mixed(values: Array, salt: int) -> Array:
    x: Array = values.astype(np.uint64)
    x += np.uint64(salt)
    shifted = x >> np.uint64(30)
    x ^= shifted
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= np.right_shift(x, np.uint64(27), out=shifted)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= np.right_shift(x, np.uint64(31), out=shifted)
    return x


@lru_cache(maxsize=65536)
def salt_of(sender: str) -> int:
    return int.from_bytes(blake2b(sender.encode(), digest_size=8).digest(), "little")


def salts_of(senders: Iterable[str]) -> Array:
    return np.array([salt_of(sender) for sender in senders], dtype=np.uint64)


def values_of(salts: Array, sender: Array, first: Array, last: Array, seq: Array) -> tuple[Array, Array]:
    """The two halves of the digest of each run; `sender` is the place of its sender's in `salts`."""
    low, high = (
        (mixed(seq.astype(np.uint64) ^ mixed(salts, salt)[sender], salt) | np.uint64(1)) * _steps(first, last, salt)
        for salt in _SALTS
    )
    return low, high


def _steps(first: Array, last: Array, salt: int) -> Array:
    """F(last) - F(first - 1) of each run; where numbers repeat, as they do of several senders, each F once."""
    begin, end = int(first.min(initial=1)) - 1, int(last.max(initial=0))
    if end - begin > len(first):
        return mixed(last, salt) - mixed(first - 1, salt)
    known = mixed(np.arange(begin, end + 1), salt)
    steps: Array = known[last - begin] - known[first - 1 - begin]
    return steps


def total(values: Array) -> int:
    """The sum as a signed number, as it stands in a fact."""
    return int(values.sum(dtype=np.uint64).astype(np.int64))


def added(a: int, b: int) -> int:
    """The same for two sums."""
    return (a + b + (1 << 63)) % (1 << 64) - (1 << 63)
