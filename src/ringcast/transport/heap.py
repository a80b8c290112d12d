"""Keeps freed memory inside the process while traffic flows.

Frames and payloads are allocated and freed many thousand times a second. glibc gives the top of the heap back to the
kernel as soon as 128 kB of it are free and gets it again, zeroed page by page, for the next burst; at full speed that
costs more than moving the bytes (decision 0031). So up to `KEPT_BYTES` of free heap stay. This concerns the whole
process; whoever sets glibc's own variables is left alone, and other C libraries are not touched.
"""

from __future__ import annotations

import ctypes
import os

KEPT_BYTES = 64 << 20
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_OWN_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
_MAPPED_FROM = 4 << 20  # setting any threshold stops glibc from tuning this one, so it is set too
_GROWTH = 8 << 20


def keep_heap() -> bool:
    """Apply the setting; False if the allocator is another one or the user has set it already."""
    if any(name in os.environ for name in _OWN_SETTINGS):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    wanted = ((_TRIM_THRESHOLD, KEPT_BYTES), (_TOP_PAD, _GROWTH), (_MMAP_THRESHOLD, _MAPPED_FROM))
    return all(mallopt(option, value) for option, value in wanted)
