"""The native reader of frames under AddressSanitizer: no byte outside a frame is touched, whatever the frame says.

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
WAKES = 200
SANITIZE = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def library(name: str) -> str:
    said = subprocess.run([*native_build.compiler(), f"-print-file-name={name}"], capture_output=True, text=True)
    return said.stdout.strip()


def sanitized(directory: Path) -> Path:
    if not Path(library("libasan.so")).is_absolute():
        pytest.skip("needs AddressSanitizer: the compiler has no libasan.so")
    return native_build.compile_native("_coalescing", directory, *SANITIZE)


def fuzz(module: Path, seed: int) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter never frees everything
        "PYTHONMALLOC": "malloc",  # each object in memory of its own, which the sanitizer watches
    }
    command = [sys.executable, str(FUZZ), str(module), str(seed), str(WAKES)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_frames_of_any_bytes_are_read_within_their_bounds_and_as_the_plain_reader_reads_them(tmp_path: Path) -> None:
    module = sanitized(tmp_path)
    for seed in range(int(either(long=50, short=1))):
        run = fuzz(module, seed)
        assert run.returncode == 0, run.stderr[:4000]
        frames, runs = map(int, run.stdout.split())
        assert frames > 10 * WAKES and runs < frames


def test_a_reader_that_trusts_the_table_of_lengths_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trusting = tmp_path / "trusting"
    shutil.copytree(native_build.NATIVE, trusting, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    header = trusting / "coalescing_run.h"
    checked = "return end - run->items == run->nbytes;"
    assert checked in header.read_text()
    header.write_text(header.read_text().replace(checked, checked.replace("==", "<=")))
    monkeypatch.setattr(native_build, "NATIVE", trusting)
    assert "AddressSanitizer: heap-buffer-overflow" in fuzz(sanitized(tmp_path), 0).stderr
