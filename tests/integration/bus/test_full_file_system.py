"""No memory for the rings is an error when attaching, not a fault when writing; tried on a real, small tmpfs."""

import subprocess
import sys
from pathlib import Path

import pytest

from needs.probes import command_path

pytestmark = pytest.mark.needs("native")

STORY = """
import sys
from ringcast.bus import BusUnusable, SharedBus

directory = sys.argv[1]
try:
    SharedBus.open("full", directory=directory, max_peers=64, ring_bytes=1 << 20).attach("a")
    print("attached")
except BusUnusable as refusal:
    print(refusal)
with SharedBus.open("full", directory=directory, ring_bytes=1 << 12, max_peers=4) as bus:
    peers = [bus.attach(name) for name in "ab"]
    peers[0].queue(b"fits", to="b")
    print(peers[1].dequeue().payload)
    for peer in peers:
        peer.detach()
"""


def test_a_full_file_system_is_one_sentence_and_leaves_the_bus_usable(tmp_path: Path) -> None:
    script = tmp_path / "story.py"
    script.write_text(STORY)
    place = tmp_path / "small"
    place.mkdir()
    unshare = command_path("unshare")
    if unshare is None:
        pytest.skip("needs unshare (Debian package util-linux)")
    mount = f"mount -t tmpfs -o size=512k none {place} && exec {sys.executable} {script} {place}"
    run = subprocess.run([unshare, "-Urm", "sh", "-c", mount], capture_output=True, text=True, check=False)
    if "mount:" in run.stderr or "unshare:" in run.stderr:
        pytest.skip(f"no tmpfs may be mounted here ({run.stderr.strip()})")
    first, second = run.stdout.splitlines()
    assert "has no room for the" in first and "smaller ring_bytes" in first, run.stderr
    assert second == "b'fits'"
