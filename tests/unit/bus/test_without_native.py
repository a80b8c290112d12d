"""Where the C part was not built: the room can be imported, and SharedBus says how to get it."""

import subprocess
import sys

STORY = """
import sys
sys.modules["ringcast.native._bus"] = None
from ringcast.bus import LocalBus, NativeMissing, SharedBus
with LocalBus.open() as bus, bus.attach("a") as a:
    a.queue(b"x", to="a")
    assert a.dequeue().payload == b"x"
try:
    SharedBus.open("x")
except NativeMissing as refusal:
    print(refusal)
"""


def test_the_room_works_without_it_and_the_shared_bus_says_what_to_do() -> None:
    run = subprocess.run([sys.executable, "-c", STORY], capture_output=True, text=True, check=True)
    assert "apt-get install gcc python3-dev" in run.stdout
    assert "make native" in run.stdout
    assert len(run.stdout.splitlines()) == 1
