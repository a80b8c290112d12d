"""Datagrams read and sent without Python between them; as transport/datagram_reader.py and datagram_sender.py, in C."""

from collections.abc import Iterator

from ringcast.transport.protocol import Frame, Guard, Source

class Reader:
    """Reads one socket. A wake is bounded in reads, and ends with a small datagram while those come alone."""

    frames_in: int
    bytes_in: int
    error: int
    def __init__(self, fd: int, buffer: bytearray, most: int, small: int, again: int, /) -> None: ...
    def wake(self, guard: Guard | None, passes: dict[Source, tuple[int, bytes]] | None, /) -> Iterator[Frame]: ...
    def close(self) -> None: ...

def address(host: str, port: int, /) -> bytes | None:
    """A destination as the kernel writes it; None if the host is not a plain number."""

def send_all(fd: int, address: bytes, frames: list[bytes], first: int, /) -> tuple[int, int, int]:
    """(how many were sent from the first on, their bytes, 0 or the error that stopped it)."""
