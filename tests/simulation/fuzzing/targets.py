"""What is fuzzed: functions that take any bytes from outside and must answer, never raise."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path

from conformance.certificates import Authority
from ringcast.core import Drop, Run
from ringcast.errors import ConfigError, PeerError
from ringcast.model import Address
from ringcast.runtime.coalescing import coalesced, coalescer
from ringcast.runtime.discovery import MulticastDiscovery
from ringcast.runtime.discovery.directory import parse_entry
from ringcast.runtime.http_server import PLAIN, HttpServer
from ringcast.runtime.mark_file import MarkFile
from ringcast.runtime.origins import Origins
from ringcast.security import Key, Keyring, Seal, read_keyring
from ringcast.trace import TraceError, frames_in
from ringcast.trace.block import decode_block
from ringcast.transport import Endpoint, mutual_tls
from ringcast.transport.framing import decode_hello, encode_hello, split_frames, with_lengths
from ringcast.wire import Codec, decode_control

CORPUS = Path(__file__).with_name("corpus")
LARGEST_FRAME = 65_536

ME = Address("A", 1, "mem:A")
_codec = Codec("g", ME)


def frame(data: bytes) -> bool:
    """A datagram, and the control messages that its items may be."""
    decoded = _codec.decode(data)
    if isinstance(decoded, Drop):
        return False
    packet = decoded[1]
    if isinstance(packet, Run):
        for item in packet.items:
            decode_control(item)
    return True


def reader(data: bytes) -> bool:
    """A datagram as the compiled reader takes it: twice in one wake, so that it is known the second time."""
    wake: list[bytes | memoryview] = [memoryview(bytearray(data)), data]
    read = _compiled(wake)
    assert read == coalesced(_plain.decode, wake), "the compiled reader and the plain one differ"
    return not isinstance(read[0], Drop)


_plain = Codec("g", ME)
_compiled = coalescer(Codec("g", ME).decode)


def sealed(data: bytes) -> bool:
    """A datagram where members share a key; now and then one that is genuine, with anything inside."""
    is_genuine = len(data) % 4 == 0
    if is_genuine:
        data = _inside.seal(data)
    opened = _seal.open(data)
    assert not is_genuine or not isinstance(opened, str), opened
    return False if isinstance(opened, str) else frame(bytes(opened))


_KEYS = Keyring((Key(b"k" * 32),))
_inside = Seal("g", _KEYS, bytes, 1)
_seal = Seal("g", _KEYS, lambda size: b"s" * size, 2)


def some_sealed() -> list[bytes]:
    """Frames as they travel between members that share a key."""
    other = Seal("g", _KEYS, lambda size: b"o" * size, 3)
    return [other.seal(data) for data in kept("frame")]


class Guarded:
    """A datagram at the guard that asks where frames come from. What it has answered is never more than what came."""

    def __init__(self) -> None:
        self.came = self.answered = self._now = 0
        self._origins = Origins("g", b"secret", self._clock, self._answer, lambda kept: None, lambda reason: None)
        self._origins.set_me(Address("A", 1, "10.0.0.1:7"))
        self._origins.set_members([Endpoint("10.0.0.2", 7)])

    def __call__(self, data: bytes) -> bool:
        self.came += len(data)
        source = ("10.0.0.3", 1 + len(data) % 16)
        taken = self._origins.guard(source, data, source) is not None
        assert self.answered <= self.came, "more was answered than came"
        return taken

    def _clock(self) -> int:
        self._now += 1_000_000
        return self._now

    def _answer(self, to: Endpoint, data: bytes) -> bool:
        self.answered += len(data)
        return True


guard = Guarded()


def control(data: bytes) -> bool:
    """A control message of a stream."""
    return not isinstance(decode_control(data), Drop)


def tcp(data: bytes) -> bool:
    """What comes over a connection: from its first byte, and behind a good greeting."""
    return _stream(data) | _stream(encode_hello(Endpoint("127.0.0.1", 7)) + b"".join(with_lengths([data])) + data)


def _stream(data: bytes) -> bool:
    try:
        hello = decode_hello(data)
        return hello is not None and len(split_frames(memoryview(data)[hello[1] :], LARGEST_FRAME)[0]) > 0
    except PeerError:
        return False


def block(data: bytes) -> bool:
    """A block of a recording."""
    try:
        return bool(decode_block(data).events())
    except TraceError:
        return False


def segment(data: bytes) -> bool:
    """A file of a recording."""
    try:
        return sum(1 for _ in frames_in(data, "000000.rct")) > 0
    except TraceError:
        return False


def discovery(data: bytes) -> bool:
    """A file in a shared directory, and an answer to the question who is there."""
    _discovering._note(data)
    entry = parse_entry(data)
    return entry is not None and entry.address() is not None


_discovering = MulticastDiscovery(interface="127.0.0.1")


def http(data: bytes) -> bool:
    """The head of a request to the probes and metrics."""
    return _http.respond(data).startswith(b"HTTP/1.1 200 ")


_http = HttpServer({"/healthz": lambda: (200, PLAIN, "yes\n"), "/": lambda: (200, PLAIN, "")})


def keyring(data: bytes) -> bool:
    """The contents of a key file, or of key=."""
    try:
        return bool(read_keyring(data).keys)
    except ConfigError as error:
        assert not any(word in str(error) for word in data.decode("latin-1").split() if len(word) >= 32), "a secret"
        return False


def mark(data: bytes) -> bool:
    """A mark file."""
    try:
        return bool(_mark._decoded(data).group)
    except ConfigError:
        return False


_mark = MarkFile.__new__(MarkFile)  # without a file: what is in it is given
_mark._path = Path("mark")


def tls(data: bytes) -> bool:
    """What comes before a certificate was shown: records of TLS at the end that accepts."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    line = _serving.wrap_bio(into, out, server_side=True)
    into.write(data)
    try:
        line.do_handshake()
    except ssl.SSLWantReadError:
        return bool(out.pending)
    except ssl.SSLError:
        return False
    raise AssertionError("a handshake without a certificate of the authority")


def _made_here() -> ssl.SSLContext:
    with tempfile.TemporaryDirectory() as place:
        files = Authority(Path(place)).files_for("a")
        return mutual_tls(*(Path(files[part]) for part in ("certificate", "private_key", "authority"))).serving


_serving = _made_here()
_serving.sslobject_class = ssl.SSLObject


TARGETS: dict[str, Callable[[bytes], bool]] = {
    "frame": frame,
    "control": control,
    "tcp": tcp,
    "block": block,
    "segment": segment,
    "reader": reader,
    "sealed": sealed,
    "guard": guard,
    "discovery": discovery,
    "http": http,
    "keyring": keyring,
    "mark": mark,
    "tls": tls,
}
OF_FRAMES = ("frame", "reader", "guard")  # they are fed with the same


def kept(target: str) -> list[bytes]:
    """The inputs that are kept of this target: one a line, in hexadecimal, each for a path of its own."""
    if target == "sealed":
        return some_sealed()
    if target in OF_FRAMES:
        target = "frame"
    return [bytes.fromhex(line) for line in (CORPUS / f"{target}.hex").read_text().split()]
