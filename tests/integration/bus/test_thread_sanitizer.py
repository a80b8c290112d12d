"""The bus's own C functions driven by threads under ThreadSanitizer: no data race, no wrong order.

A few seconds here; a minute for each of several seeds with RINGCAST_LONG=1. A weakened copy must be reported, or the
stress would prove nothing.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from integration.long import either
from integration.native_build import NATIVE, compiler

pytestmark = pytest.mark.needs("compiler")

SOURCE = Path(__file__).parent / "stress" / "bus_stress.c"
SEEDS = range(1, int(either(long=6, short=2)))


def build(headers: Path, target: Path) -> Path:
    # gcc warns that the tool does not model fences; no data here depends on one (see bus_bell.h).
    options = ["-std=gnu11", "-g", "-O1", "-fsanitize=thread", "-Wno-tsan", f"-I{headers}"]
    run = subprocess.run(
        [*compiler(), *options, str(SOURCE), "-o", str(target), "-lpthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        pytest.skip(f"needs ThreadSanitizer: {run.stderr.strip().splitlines()[-1]}")
    return target


def stress(program: Path, seconds: float, seed: int) -> tuple[int, str]:
    run = subprocess.run([str(program), str(int(seconds)), str(seed)], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


@pytest.mark.parametrize("seed", SEEDS)
def test_no_race_and_no_wrong_order_under_stress(tmp_path: Path, seed: int) -> None:
    code, said = stress(build(NATIVE, tmp_path / "stress"), either(long=60, short=3), seed)
    assert (code, "ThreadSanitizer" in said) == (0, False), said[:4000]
    delivered, farewells, fenced = (int(said.split()[at]) for at in (1, 3, 5))
    assert delivered > 1000 and farewells > 0 and fenced > 0, said


def test_a_tail_published_relaxed_is_reported(tmp_path: Path) -> None:
    headers = tmp_path / "weakened"
    shutil.copytree(NATIVE, headers, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    text = (headers / "bus_send.h").read_text()
    strong = "atomic_store_explicit(&ring->tail, outlet->tail, memory_order_release);"
    assert strong in text
    (headers / "bus_send.h").write_text(text.replace(strong, strong.replace("release", "relaxed")))
    _, said = stress(build(headers, tmp_path / "stress"), 3, 1)
    assert "ThreadSanitizer: data race" in said
