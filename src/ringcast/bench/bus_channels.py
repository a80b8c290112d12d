"""Other ways from process to process on one host, in the shape of the bus benchmark: every message to every consumer.

A channel is made before the fork; in its process a producer asks for a way to send to all, a consumer for a way to
receive. None of them gives one order for all; they are here for the speed that people are used to.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import socket
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ringcast.bench.zmq_peers import lacks_pyzmq

DATAGRAM_BYTES_MAX = 200_000
RAW_PIECE = 1 << 16
RAW_END = b"\1"  # pieces are zeros


class Channel(ABC):
    """`weight`: how many messages one send carries."""

    name: str
    weight = 1

    def __init__(self, producers: int, consumers: int) -> None:
        self.producers, self.consumers = producers, consumers

    @abstractmethod
    def sender(self, producer: int) -> Callable[[bytes], None]: ...

    @abstractmethod
    def receiver(self, consumer: int) -> Callable[[], list[bytes]]:
        """Waits, and gives what came: at least one message."""

    def flush(self) -> None:  # noqa: B027 - most have nothing to flush
        """In a producer's process, behind its last send: nothing may be lost with the process."""

    def has_all(self, consumer: int) -> None:  # noqa: B027 - most need not know
        """In a consumer's process, behind its last receive."""

    @abstractmethod
    def close(self) -> None:
        """In the process that made it."""


class QueueChannel(Channel):
    name = "multiprocessing.Queue"

    def __init__(self, producers: int, consumers: int) -> None:
        super().__init__(producers, consumers)
        # Bounded like a ring, or the feeder thread's memory would be what is measured.
        self._queues: list[Any] = [mp.get_context("fork").Queue(10_000) for _ in range(consumers)]

    def sender(self, producer: int) -> Callable[[bytes], None]:
        puts = [queue.put for queue in self._queues]

        def send(payload: bytes) -> None:
            for put in puts:
                put(payload)

        return send

    def flush(self) -> None:
        for queue in self._queues:
            queue.close()
            queue.join_thread()

    def receiver(self, consumer: int) -> Callable[[], list[bytes]]:
        get = self._queues[consumer].get
        return lambda: [get()]

    def close(self) -> None:
        for queue in self._queues:
            queue.close()


class PipeChannel(Channel):
    name = "multiprocessing.Pipe"

    def __init__(self, producers: int, consumers: int) -> None:
        super().__init__(producers, consumers)
        self._pipes = [[mp.Pipe(duplex=False) for _ in range(consumers)] for _ in range(producers)]

    def sender(self, producer: int) -> Callable[[bytes], None]:
        sends = [writer.send_bytes for _, writer in self._pipes[producer]]

        def send(payload: bytes) -> None:
            for each in sends:
                each(payload)

        return send

    def receiver(self, consumer: int) -> Callable[[], list[bytes]]:
        readers: list[Connection] = [row[consumer][0] for row in self._pipes]
        if len(readers) == 1:
            only = readers[0].recv_bytes
            return lambda: [only()]
        return lambda: [reader.recv_bytes() for reader in wait(readers) if isinstance(reader, Connection)]

    def close(self) -> None:
        for row in self._pipes:
            for reader, writer in row:
                reader.close()
                writer.close()


class DatagramChannel(Channel):
    name = "unix datagram"

    def __init__(self, producers: int, consumers: int) -> None:
        super().__init__(producers, consumers)
        self._directory = tempfile.TemporaryDirectory(prefix="ringcast-bench-")
        self._paths = [str(Path(self._directory.name) / str(consumer)) for consumer in range(consumers)]
        self._sockets = [self._bound(path) for path in self._paths]

    def _bound(self, path: str) -> socket.socket:
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        bound.bind(path)
        return bound

    def sender(self, producer: int) -> Callable[[bytes], None]:
        connected = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in self._paths]
        for each, path in zip(connected, self._paths, strict=True):
            each.connect(path)

        def send(payload: bytes) -> None:
            for each in connected:
                each.send(payload)

        return send

    def receiver(self, consumer: int) -> Callable[[], list[bytes]]:
        receive = self._sockets[consumer].recv
        return lambda: [receive(DATAGRAM_BYTES_MAX)]

    def close(self) -> None:
        for each in self._sockets:
            each.close()
        self._directory.cleanup()


class ZmqChannel(Channel):
    """PUSH to one PULL for each consumer: nothing is dropped, a full pipe makes the producer wait."""

    name = "pyzmq ipc"

    def __init__(self, producers: int, consumers: int) -> None:
        super().__init__(producers, consumers)
        self._directory = tempfile.TemporaryDirectory(prefix="ringcast-bench-")
        self._pushing: list[Any] = []

    def _push_sockets(self) -> list[Any]:
        import zmq

        context = zmq.Context()
        self._pushing = [context.socket(zmq.PUSH) for _ in range(self.consumers)]
        for consumer, each in enumerate(self._pushing):
            self._wait_for(consumer, "listens")  # The socket's file is there a little before that.
            each.connect(self._endpoint(consumer))
        return self._pushing

    def _pull_socket(self, consumer: int) -> Any:
        import zmq

        pull = zmq.Context().socket(zmq.PULL)
        pull.bind(self._endpoint(consumer))
        self._mark(consumer, "listens").touch()
        return pull

    def flush(self) -> None:
        """Lingering is not enough: a consumer that is behind drops what its kernel holds when the producer hangs up."""
        for consumer in range(self.consumers):
            self._wait_for(consumer, "has all")
        for each in self._pushing:
            each.close(linger=-1)
        self._pushing[0].context.term()

    def has_all(self, consumer: int) -> None:
        self._mark(consumer, "has all").touch()

    def _mark(self, consumer: int, word: str) -> Path:
        return Path(self._directory.name) / f"{consumer} {word}"

    def _wait_for(self, consumer: int, word: str) -> None:
        while not self._mark(consumer, word).exists():
            time.sleep(0.001)

    def _endpoint(self, consumer: int) -> str:
        return f"ipc://{self._directory.name}/{consumer}"

    def sender(self, producer: int) -> Callable[[bytes], None]:
        sockets = self._push_sockets()

        def send(payload: bytes) -> None:
            for each in sockets:
                each.send(payload)

        return send

    def receiver(self, consumer: int) -> Callable[[], list[bytes]]:
        receive = self._pull_socket(consumer).recv
        return lambda: [receive()]

    def close(self) -> None:
        self._directory.cleanup()


class ZmqMultipartChannel(ZmqChannel):
    """The same with a batch of messages as the parts of one."""

    name = "pyzmq ipc multipart"
    weight = 256

    def sender(self, producer: int) -> Callable[[bytes], None]:
        sockets = self._push_sockets()

        def send(payload: bytes) -> None:
            parts = [payload] * self.weight
            for each in sockets:
                each.send_multipart(parts)

        return send

    def receiver(self, consumer: int) -> Callable[[], list[bytes]]:
        receive: Callable[[], list[bytes]] = self._pull_socket(consumer).recv_multipart
        return receive


class RawPipeChannel(Channel):
    """Bytes through kernel pipes in large pieces, without messages: what the host can move in this shape."""

    name = "raw pipe"

    def __init__(self, producers: int, consumers: int) -> None:
        super().__init__(producers, consumers)
        self._pipes = [os.pipe() for _ in range(consumers)]

    def sender(self, producer: int) -> Callable[[bytes], None]:
        ends = [write_end for _, write_end in self._pipes]

        def send(payload: bytes) -> None:
            for end in ends:
                left = memoryview(payload)
                while left:
                    left = left[os.write(end, left) :]

        return send

    def receiver(self, consumer: int) -> Callable[[], list[bytes]]:
        read_end = self._pipes[consumer][0]
        return lambda: [os.read(read_end, RAW_PIECE)]

    def close(self) -> None:
        for pair in self._pipes:
            for end in pair:
                os.close(end)


CHANNELS: tuple[type[Channel], ...] = (
    QueueChannel,
    PipeChannel,
    DatagramChannel,
    ZmqChannel,
    ZmqMultipartChannel,
)


def available() -> Iterator[type[Channel]]:
    """Those whose library is here."""
    for channel in CHANNELS:
        if not (issubclass(channel, ZmqChannel) and lacks_pyzmq()):
            yield channel
