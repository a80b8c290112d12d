"""Just enough PNG to see what a browser drew: 8 bits per colour, not interlaced, only the first rows."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

KEPT_ROWS = 200


def size_of(path: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def colours_in(path: Path) -> set[bytes]:
    rows, step = _rows(path)
    return {row[i : i + 3] for row in rows for i in range(0, len(row), step)}


def first_colour(path: Path) -> bytes:
    return _rows(path)[0][0][:3]


def _rows(path: Path) -> tuple[list[bytes], int]:
    """Rows of pixels, and the bytes of a pixel."""
    data, at, packed = path.read_bytes(), 8, b""
    step = {2: 3, 6: 4}[data[25]]
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += length + 12
    raw, width = zlib.decompress(packed), size_of(path)[0] * step
    rows = [bytes(width)]
    for start in range(0, min(len(raw), KEPT_ROWS * (width + 1)), width + 1):
        rows.append(_unfiltered(raw[start], raw[start + 1 : start + 1 + width], rows[-1], step))
    return rows[1:], step


def _unfiltered(kind: int, line: bytes, above: bytes, step: int) -> bytes:
    out = bytearray(line)
    for i in range(len(out)):
        left, up, corner = (out[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
        guess = left + up - corner
        nearest = min((left, up, corner), key=lambda value: abs(guess - value))
        out[i] = (out[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
    return bytes(out)
