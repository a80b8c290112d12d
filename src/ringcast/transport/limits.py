"""The one rule about frame sizes that all transports share."""

from __future__ import annotations

from collections.abc import Sequence

from ringcast.errors import UsageError


def refuse_oversize(frames: Sequence[bytes], max_frame: int) -> None:
    """Raise before anything is sent, so that a run of frames is taken or refused as the caller made it."""
    for frame in frames:
        if len(frame) > max_frame:
            raise UsageError(f"a frame of {len(frame)} B is larger than max_frame {max_frame} B of this transport")
