"""Digests of sequences of numbered messages that can be joined from pieces, wherever runs are cut.

A run of a sender's numbers first..last that stands at place p of the sequence counts F(sender, last) * R**(p + length)
- F(sender, first - 1) * R**p, modulo 2**64 and in two independent halves, with F a mixed function and R odd. Two
neighbours that continue each other cancel what is between them, so a run read in two parts has the digest of the whole;
a piece that begins n places later is multiplied by R**n. Only the places remain where one number does not follow the
other, each with what ends and what begins there: that is the sequence. Differences of two powers of R lose some low
bits (24 of 64 for places a million apart), the rest is as in `digest.py`.
"""

from __future__ import annotations

import numpy as np

from ringcast.pipeline.rules.digest import mixed
from ringcast.pipeline.rules.piece import Array

_SALTS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
_BASES = (0xD1342543DE82EF95, 0xAF251AF3B0F025B5)
_FULL = 1 << 64

Digest = tuple[int, int]
NOTHING: Digest = (0, 0)


def _powers(base: int, exponents: Array) -> Array:
    powers = np.ones(len(exponents), dtype=np.uint64)
    square = base
    for bit in range(int(exponents.max(initial=0)).bit_length()):
        powers[(exponents >> bit) & 1 == 1] *= np.uint64(square)
        square = square * square % _FULL
    return powers


def digest_of(salts: Array, first: Array, last: Array) -> Digest:
    """These runs, one behind the other, from place 0 on; `salts` are those of the senders."""
    ends = np.cumsum(last - first + 1)
    begins = ends - (last - first + 1)
    low, high = (
        int((_value(salts, last, salt) * _powers(base, ends)).sum(dtype=np.uint64))
        - int((_value(salts, first - 1, salt) * _powers(base, begins)).sum(dtype=np.uint64))
        for salt, base in zip(_SALTS, _BASES, strict=True)
    )
    return low % _FULL, high % _FULL


def _value(salts: Array, numbers: Array, salt: int) -> Array:
    return mixed(numbers.astype(np.uint64) ^ mixed(salts, salt), salt)


def joined(before: Digest, length: int, after: Digest) -> Digest:
    """`after` stands behind `length` messages with the digest `before`."""
    low, high = (
        (one + other * pow(base, length, _FULL)) % _FULL for one, other, base in zip(before, after, _BASES, strict=True)
    )
    return low, high


def signed(half: int) -> int:
    """A half as it stands in a fact."""
    return half - _FULL if half >> 63 else half
