"""The native parts that read what others wrote, under AddressSanitizer: no byte is touched that is not theirs.

Frames of any bytes for the reader of frames, datagrams of any size for that of sockets, files of any bytes for the bus.

A second or two here; many seeds with RINGCAST_LONG=1. A copy that forgets a length must be reported, or the fuzz would
prove nothing.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from integration import native_build
from integration.long import either

pytestmark = pytest.mark.needs("compiler")

FUZZ = Path(__file__).with_name("coalescing_fuzz.py")
FUZZ_DATAGRAMS = Path(__file__).with_name("datagrams_fuzz.py")
FUZZ_BUS = Path(__file__).resolve().parents[1] / "simulation" / "fuzzing" / "bus_file.py"
WAKES = 200
SANITIZE = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def library(name: str) -> str:
    said = subprocess.run([*native_build.compiler(), f"-print-file-name={name}"], capture_output=True, text=True)
    return said.stdout.strip()


def sanitized(directory: Path, name: str = "_coalescing") -> Path:
    if not Path(library("libasan.so")).is_absolute():
        pytest.skip("needs AddressSanitizer: the compiler has no libasan.so")
    return native_build.compile_native(name, directory, *SANITIZE)


def fuzz(module: Path, seed: int) -> subprocess.CompletedProcess[str]:
    return run_sanitized(str(FUZZ), str(module), str(seed), str(WAKES))


def run_sanitized(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter never frees everything
        "PYTHONMALLOC": "malloc",  # each object in memory of its own, which the sanitizer watches
    }
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_frames_of_any_bytes_are_read_within_their_bounds_and_as_the_plain_reader_reads_them(tmp_path: Path) -> None:
    module = sanitized(tmp_path)
    for seed in range(int(either(long=50, short=1))):
        run = fuzz(module, seed)
        assert run.returncode == 0, run.stderr[:4000]
        frames, runs = map(int, run.stdout.split())
        assert frames > 10 * WAKES and runs < frames


def fuzz_datagrams(directory: Path, seed: int) -> subprocess.CompletedProcess[str]:
    modules = [str(sanitized(directory, name)) for name in ("_datagrams", "_frames")]
    return run_sanitized(str(FUZZ_DATAGRAMS), *modules, str(seed), str(WAKES))


def test_datagrams_are_read_and_sent_within_their_bounds_and_the_guard_is_asked_for_what_it_has_not_foretold(
    tmp_path: Path,
) -> None:
    run = fuzz_datagrams(tmp_path, 0)
    assert run.returncode == 0, run.stderr[:4000]
    read, asked = map(int, run.stdout.split())
    assert 0 < asked < read


def test_a_reader_that_compares_beyond_a_datagram_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = "if (size < at || size - at < length) return 0;"
    monkeypatch.setattr(native_build, "NATIVE", spoiled(tmp_path, "datagrams_reader.h", checked, ""))
    assert fuzz_datagrams(tmp_path, 0).returncode != 0


def test_a_damaged_bus_file_takes_no_peer_beyond_its_memory(tmp_path: Path) -> None:
    module = sanitized(tmp_path, "_bus")
    rounds = str(int(either(long=20_000, short=300)))
    run = run_sanitized(str(FUZZ_BUS), "--module", str(module), "--rounds", rounds)
    assert run.returncode == 0, run.stderr[:4000]


def test_a_bus_that_trusts_the_state_of_a_slot_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = "outlet->incarnation == incarnation && outlet->frames"
    monkeypatch.setattr(native_build, "NATIVE", spoiled(tmp_path, "bus_send.h", checked, checked.partition(" &&")[0]))
    run = run_sanitized(str(FUZZ_BUS), "--module", str(sanitized(tmp_path, "_bus")), "--rounds", "2000")
    assert "AddressSanitizer" in run.stderr or "runtime error" in run.stderr


def spoiled(directory: Path, header: str, checked: str, trusting: str) -> Path:
    """The sources with one check less."""
    sources = directory / "trusting"
    shutil.copytree(native_build.NATIVE, sources, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    text = (sources / header).read_text()
    assert checked in text
    (sources / header).write_text(text.replace(checked, trusting))
    return sources


def test_a_reader_that_trusts_the_table_of_lengths_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = "return end - run->items == run->nbytes;"
    trusting = spoiled(tmp_path, "coalescing_run.h", checked, checked.replace("==", "<="))
    monkeypatch.setattr(native_build, "NATIVE", trusting)
    assert "AddressSanitizer: heap-buffer-overflow" in fuzz(sanitized(tmp_path), 0).stderr
