"""A run of messages as a frame; as `pack_run` in wire/codec.py, but in C and in one pass."""

def run_frame(head: bytes, tag: bytes, channel: int, first: int, low: int, items: list[bytes], /) -> bytes | None:
    """The frame of a run of its sender's own; None if an item is no plain bytes or too long: that is left to Python."""
