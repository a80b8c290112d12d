"""The bus file: made, joined, left behind, damaged, refused; always with one clear sentence."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ringcast.bus import BusUnusable, Message, SharedBus
from ringcast.bus.geometry import HEADER, Geometry, read_header
from ringcast.errors import ConfigError, UsageError

pytest.importorskip("ringcast.native._bus")

SMALL = {"ring_bytes": 1 << 12, "max_peers": 4}


def file_of(directory: Path) -> Path:
    return directory / "ringcast-test.bus"


def open_small(directory: Path, **options: int) -> SharedBus:
    return SharedBus.open("test", directory=directory, **{**SMALL, **options})


def leave_behind(directory: Path) -> bytes:
    """The bytes of a bus file as a crash of all its users would leave them."""
    with open_small(directory) as bus, bus.attach("a") as a, bus.attach("b"):
        a.queue(b"never read", to="b")
        return file_of(directory).read_bytes()


def test_the_last_to_close_removes_the_file(tmp_path: Path) -> None:
    bus = open_small(tmp_path)
    peer = bus.attach("a")
    bus.close()
    assert file_of(tmp_path).exists()
    peer.detach()
    assert list(tmp_path.iterdir()) == []


def test_a_peer_outlives_the_handle_it_was_attached_through(tmp_path: Path) -> None:
    with open_small(tmp_path) as bus:
        peer = bus.attach("a")
    peer.queue(b"x", to="a")
    assert isinstance(peer.dequeue(), Message)
    peer.detach()


def test_two_handles_are_one_bus(tmp_path: Path) -> None:
    with (
        open_small(tmp_path) as first,
        open_small(tmp_path) as second,
        first.attach("a") as a,
        second.attach("b") as b,
    ):
        a.queue(b"x", to="b")
        assert isinstance(b.dequeue(), Message)
        assert [(status.name, status.pid, status.left) for status in second.peers()] == [
            ("a", os.getpid(), None),
            ("b", os.getpid(), None),
        ]


def test_options_left_out_take_the_values_of_the_existing_bus(tmp_path: Path) -> None:
    with open_small(tmp_path), SharedBus.open("test", directory=tmp_path) as second:
        assert second.ring_bytes == 1 << 12


def test_options_that_contradict_a_bus_in_use_are_refused(tmp_path: Path) -> None:
    with open_small(tmp_path), pytest.raises(ConfigError, match="in use with ring_bytes=4096, not 8192"):
        open_small(tmp_path, ring_bytes=1 << 13)


def test_a_file_left_by_a_crash_opens_cleanly_with_any_options(tmp_path: Path) -> None:
    file_of(tmp_path).write_bytes(leave_behind(tmp_path))
    with open_small(tmp_path, ring_bytes=1 << 13) as bus, bus.attach("a") as a:
        assert bus.ring_bytes == 1 << 13
        assert a.names() == ["a"]
        assert a.dequeue_many(timeout=0) == []


def test_a_file_that_was_never_finished_opens_cleanly(tmp_path: Path) -> None:
    for content in (b"", bytes(4096)):
        file_of(tmp_path).write_bytes(content)
        with open_small(tmp_path) as bus, bus.attach("a") as a:
            assert a.names() == ["a"]


def test_bells_left_by_a_crash_are_removed_with_the_file(tmp_path: Path) -> None:
    file_of(tmp_path).write_bytes(leave_behind(tmp_path))
    os.mkfifo(tmp_path / "ringcast-test.bus.bell-3")
    open_small(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"short", b"something else entirely" * 100])
def test_a_file_that_is_no_bus_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file_of(tmp_path).write_bytes(content)
    with pytest.raises(BusUnusable, match=r"ringcast-test\.bus is not a ringcast bus"):
        open_small(tmp_path)
    assert file_of(tmp_path).read_bytes() == content


def test_a_bus_in_use_with_another_version_is_refused(tmp_path: Path) -> None:
    with open_small(tmp_path):
        with file_of(tmp_path).open("r+b") as file:
            file.seek(8)
            file.write(struct.pack("=I", 99))
        with pytest.raises(BusUnusable, match="layout version 99, and this ringcast speaks version 2"):
            open_small(tmp_path)


def test_a_left_behind_file_of_another_version_is_made_anew(tmp_path: Path) -> None:
    content = bytearray(leave_behind(tmp_path))
    content[8:12] = struct.pack("=I", 99)
    file_of(tmp_path).write_bytes(content)
    open_small(tmp_path).close()


def test_a_damaged_header_of_a_bus_in_use_is_refused(tmp_path: Path) -> None:
    with open_small(tmp_path):
        with file_of(tmp_path).open("r+b") as file:
            file.seek(12)
            file.write(struct.pack("=I", 5000))
        with pytest.raises(BusUnusable, match=r"header of .* is damaged"):
            open_small(tmp_path)


@pytest.mark.parametrize("change", [-1, 1, -4096])
def test_a_bus_in_use_whose_file_has_another_size_is_refused(tmp_path: Path, change: int) -> None:
    with open_small(tmp_path):
        size = file_of(tmp_path).stat().st_size
        os.truncate(file_of(tmp_path), size + change)
        with pytest.raises(BusUnusable, match=f"has {size + change} bytes instead of {size}"):
            open_small(tmp_path)


def test_a_file_of_another_user_is_refused_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file_of(tmp_path).write_bytes(b"")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(BusUnusable, match=f"belongs to user {me}, and this is user {me + 1}"):
        open_small(tmp_path)
    assert file_of(tmp_path).exists()


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(file_of(tmp_path))
    with pytest.raises(BusUnusable, match="is not a regular file"):
        open_small(tmp_path)


FUZZ = Path(__file__).resolve().parents[2] / "simulation" / "fuzzing" / "bus_file.py"


def test_a_file_overwritten_with_anything_takes_no_peer_beyond_it_and_raises_nothing_of_python() -> None:
    """`make fuzz` does a hundred thousand rounds."""
    command = [sys.executable, "-X", "faulthandler", str(FUZZ), "--rounds", "300"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0 and "300 rounds" in run.stdout, run.stderr


@pytest.mark.parametrize("seed", [3, 34])
def test_damage_that_once_raised_an_error_of_python(seed: int) -> None:
    """A header that contradicts itself, a name that is not text."""
    command = [sys.executable, str(FUZZ), "--rounds", "1", "--seed", str(seed)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr


def test_a_bus_file_replaced_under_us_is_noticed(tmp_path: Path) -> None:
    with open_small(tmp_path) as bus:
        file_of(tmp_path).unlink()
        with pytest.raises(BusUnusable, match="No such file"):
            bus.attach("a")
        file_of(tmp_path).write_bytes(b"x")
        with pytest.raises(BusUnusable, match="was replaced while it was open here"):
            bus.attach("a")


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(BusUnusable, match=r"cannot open .*nowhere/ringcast-test\.bus: No such file"):
        SharedBus.open("test", directory=tmp_path / "nowhere")


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    file_of(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BusUnusable, match="Too many levels of symbolic links"):
        open_small(tmp_path)


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".hidden", "a b", "x" * 64, "ü", None], ids=repr)
def test_bad_bus_names_are_refused_with_the_rule(tmp_path: Path, name: object) -> None:
    with pytest.raises(UsageError, match="is no name for a bus: use 1 to 63 ASCII letters"):
        SharedBus.open(name, directory=tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_peers": 0}, "max_peers is 0, not between 1 and 64"),
        ({"max_peers": 65}, "max_peers is 65, not between 1 and 64"),
        ({"ring_bytes": 5000}, "ring_bytes is 5000, not a power of two"),
        ({"ring_bytes": 2048}, "ring_bytes is 2048, not a power of two between 4096"),
        ({"stall_limit": 0}, "stall_limit is 0.0 s, not above 0"),
        ({"evict_after": -1}, "evict_after is -1.0 s, not above 0"),
    ],
)
def test_values_out_of_range_are_refused_and_leave_no_file(tmp_path: Path, options: dict[str, int], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        SharedBus.open("test", directory=tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_memory_is_reserved_when_a_peer_attaches_not_before(tmp_path: Path) -> None:
    def reserved() -> int:
        return file_of(tmp_path).stat().st_blocks * 512

    with SharedBus.open("test", directory=tmp_path, ring_bytes=1 << 16, max_peers=8) as bus:
        empty = reserved()
        with bus.attach("a"):
            one = reserved()
            with bus.attach("b"):
                two = reserved()
    assert 1 << 16 <= one - empty < 4 << 16
    assert 3 << 16 <= two - one < 8 << 16


@pytest.mark.parametrize("max_peers", [1, 4, 32, 64])
@pytest.mark.parametrize("ring_bytes", [1 << 12, 1 << 20, 1 << 30])
def test_a_sender_has_a_word_for_every_frame_that_the_rings_can_hold(max_peers: int, ring_bytes: int) -> None:
    geometry = Geometry(max_peers, ring_bytes)
    assert geometry.words >= geometry.frames * max_peers
    assert geometry.words & (geometry.words - 1) == 0
    assert read_header(geometry.header(1)) == (0, 1, geometry)
    assert len(geometry.header(1)) == HEADER.size


def test_a_bell_that_cannot_be_removed_does_not_keep_the_bus_from_closing(tmp_path: Path) -> None:
    """In /dev/shm another user may make a file of that name, which nobody else can remove."""
    bus = open_small(tmp_path)
    Path(f"{file_of(tmp_path)}.bell-7").mkdir()  # unlink refuses it, as it refuses a foreign file there
    bus.close()
    assert not file_of(tmp_path).exists()


TO_NOBODY = """
import sys
from ringcast.bus import OTHERS, BusFull, SharedBus
with SharedBus.open("alone", directory=sys.argv[1], ring_bytes=1 << 16, max_peers=1) as bus, bus.attach("a") as a:
    sent = 0
    for payload in (b"x", b""):
        try:
            while True:
                a.queue(payload, to="a", policy="raise")
                sent += 1
        except BusFull:
            pass
    places = [a.queue(b"to nobody", to=OTHERS, policy="raise") for _ in range(100)]
    read = []
    while len(read) < sent:
        read += a.dequeue_many(timeout=10)
    print(places == list(range(places[0], places[0] + 100)), places[0] > sent)
"""


def test_who_is_alone_with_a_full_ring_queues_for_the_others_who_are_nobody(tmp_path: Path) -> None:
    """No word was free, and the one before the first was taken: the process died."""
    done = subprocess.run([sys.executable, "-c", TO_NOBODY, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["True", "True"]), done.stderr
