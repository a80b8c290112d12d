"""Digests of sequences of numbered messages that can be joined from pieces, wherever runs are cut.

A run of a sender's numbers first..last that stands at place p of the sequence counts F(sender, last) * R**(p + length)
- F(sender, first - 1) * R**p, modulo 2**64 and in two independent halves, with F a mixed function and R odd. Two
neighbours that continue each other cancel what is between them, so a run read in two parts has the digest of the whole;
a piece that begins n places later is multiplied by R**n. Only the places remain where one number does not follow the
other, each with what ends and what begins there: that is the sequence. Differences of two powers of R lose some low
bits (24 of 64 for places a million apart), the rest is as in `digest.py`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ringcast.pipeline.rules.digest import mixed
from ringcast.pipeline.rules.piece import Array

_SALTS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
_BASES = (0xD1342543DE82EF95, 0xAF251AF3B0F025B5)
_FULL = 1 << 64
_DIGIT = 11  # bits of an exponent that are looked up at once
_MASK = (1 << _DIGIT) - 1

Digest = tuple[int, int]
NOTHING: Digest = (0, 0)


@lru_cache(maxsize=64)
def _table(base: int, shift: int) -> Array:
    """base**(n << shift) for each n of _DIGIT bits."""
    step, powers = pow(base, 1 << shift, _FULL), [1]
    for _ in range((1 << _DIGIT) - 1):
        powers.append(powers[-1] * step % _FULL)
    return np.array(powers, dtype=np.uint64)


def _powers(base: int, exponents: Array) -> Array:
    powers: Array = _table(base, 0)[exponents & _MASK]
    for shift in range(_DIGIT, int(exponents.max(initial=0)).bit_length(), _DIGIT):
        powers *= _table(base, shift)[exponents >> shift & _MASK]
    return powers


def digest_of(salts: Array, sender: Array, first: Array, last: Array) -> Digest:
    """These runs, one behind the other, from place 0 on; `sender` is the place of its sender's in `salts`."""
    ends = np.cumsum(last - first + 1)
    begins = ends - (last - first + 1)
    low, high = (
        int((_value(mixed(salts, salt)[sender], last, salt) * _powers(base, ends)).sum(dtype=np.uint64))
        - int((_value(mixed(salts, salt)[sender], first - 1, salt) * _powers(base, begins)).sum(dtype=np.uint64))
        for salt, base in zip(_SALTS, _BASES, strict=True)
    )
    return low % _FULL, high % _FULL


def _value(salts: Array, numbers: Array, salt: int) -> Array:
    return mixed(numbers.astype(np.uint64) ^ salts, salt)


def joined(before: Digest, length: int, after: Digest) -> Digest:
    """`after` stands behind `length` messages with the digest `before`."""
    low, high = (
        (one + other * pow(base, length, _FULL)) % _FULL for one, other, base in zip(before, after, _BASES, strict=True)
    )
    return low, high


def signed(half: int) -> int:
    """A half as it stands in a fact."""
    return half - _FULL if half >> 63 else half
