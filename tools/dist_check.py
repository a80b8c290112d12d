"""Installs each wheel of dist/, and the source archive, into an empty environment and uses it there.

For each: the version, `ringcast demo --quick`, a group of three in one program, two benchmarks, whose figures must be
there without what the package lacks, and the shared-memory bus where the wheel is native; a pure wheel must say in one
sentence that it has no bus. The archive must hold what the README speaks
of. One line for each, exit code 1 if any failed.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import interpreters

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"

GROUP = """
import asyncio
import ringcast

async def main():
    first = await ringcast.join("three", name="a")
    others = [await ringcast.join("three", name=name, seeds=first.me.endpoint) for name in "bc"]
    for group in (first, *others):
        await group.wait_for(3, timeout=60)
    await first.send(b"hello")
    for group in others:
        while not isinstance(event := await group.receive(timeout=60), ringcast.Message):
            pass
        assert event.payload == b"hello"
    for group in (*others, first):
        await group.leave()

asyncio.run(main())
"""

BUS = """
import os
from ringcast.bus import SharedBus

with SharedBus.open(f"dist-check-{os.getpid()}") as bus, bus.attach("alice") as alice, bus.attach("bob") as bob:
    alice.queue(b"hello", to=["bob"])
    assert next(iter(bob)).payload == b"hello"
"""

NO_BUS = """
from ringcast.bus import NativeMissing, SharedBus

try:
    SharedBus.open("dist-check")
except NativeMissing as error:
    assert "pip install" in str(error), error
else:
    raise SystemExit("a pure wheel has a bus?")
"""

BENCH = """
import json, subprocess, sys

def bench(*arguments):
    command = [sys.executable, "-m", "ringcast", "bench", *arguments, "--seconds", "0.2", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)

found = bench("multicast", "--members", "3", "--peers")
assert found["complete"] and found["messages_per_second_per_receiver"] > 0, found
assert sorted(found["left_out"]) == ["pyzmq", "raw limit"], found
assert bench("latency")["p50_us"] > 0
"""


def check(wheel: Path, python: Path) -> str | None:
    """What is wrong, or None."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([python, "-m", "venv", f"{directory}/venv"], check=True)
        inside = f"{directory}/venv/bin"
        is_pure = wheel.name.endswith("-none-any.whl")
        steps = [
            [f"{inside}/pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)],
            [f"{inside}/ringcast", "--version"],
            [f"{inside}/ringcast", "demo", "--quick", "--json"],
            [f"{inside}/python", "-c", GROUP],
            [f"{inside}/python", "-c", BENCH],
            [f"{inside}/python", "-c", NO_BUS if is_pure else BUS],
        ]
        for step in steps:
            done = subprocess.run(step, cwd=directory, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return f"{Path(step[0]).name} {step[1][:40]}: {(done.stderr or done.stdout).strip()[-500:]}"
    return None


def missing(archive: Path) -> str | None:
    """What the README links to and the source archive does not hold."""
    with tarfile.open(archive) as held:
        names = {name.partition("/")[2] for name in held.getnames()}
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", (ROOT / "README.md").read_text())
    lost = sorted({link for link in links if not any(name == link or name.startswith(f"{link}/") for name in names)})
    return f"it lacks {', '.join(lost)}" if lost else None


def main() -> int:
    found = interpreters.interpreters()
    failed = False
    for path in (*sorted(DIST.glob("*.whl")), *DIST.glob("*.tar.gz")):
        is_archive = path.name.endswith(".tar.gz")
        tag = "" if is_archive else path.name.split("-")[2]
        version = f"{tag[2]}.{tag[3:]}" if tag.startswith("cp") else next(iter(found))
        wrong = (missing(path) if is_archive else None) or check(path, found[version])
        failed = failed or wrong is not None
        print(f"{path.name}: {'works' if wrong is None else 'FAILS: ' + wrong}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
