"""Connections when the system gives no more descriptors: nothing is raised or logged, all are taken later."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = """
import asyncio, contextlib, json, logging, os, resource, sys
from pathlib import Path
from ringcast.runtime.http_server import PLAIN, HttpServer
from ringcast.runtime.inspection import Inspection

lines = []
class Kept(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())
logging.getLogger().addHandler(Kept())

async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: lines.append(str(context)))
    if sys.argv[1] == "http":
        at = await HttpServer({"/": lambda: (200, PLAIN, "yes")}).open("127.0.0.1:0")
        place = at.port
    else:
        place = sys.argv[2]
        await Inspection(Path(place), {"who": lambda: {"name": "a"}}, lambda: contextlib.nullcontext(dict)).open()
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    print(json.dumps(place), flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)  # many wait now, and none could be accepted
    await asyncio.sleep(0.05)
    for descriptor in held:
        os.close(descriptor)
    print(json.dumps(lines), flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["http", "unix"])
def test_at_the_descriptor_limit_nothing_is_logged_and_who_waits_is_answered_later(kind: str, tmp_path: Path) -> None:
    """asyncio's own servers wrote a hundred tracebacks a second."""
    tmp_path.chmod(0o700)
    command = [sys.executable, "-c", SERVER, kind, str(tmp_path / "g@a.sock")]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None and server.stdout is not None
    place = json.loads(server.stdout.readline())
    family, to = (socket.AF_INET, ("127.0.0.1", place)) if kind == "http" else (socket.AF_UNIX, place)
    waiting = [socket.socket(family) for _ in range(20)]
    try:
        for line in waiting:
            line.settimeout(30)
            line.connect(to)
            line.sendall(b"GET / HTTP/1.1\r\n\r\n" if kind == "http" else b'{"ask": "who"}\n')
        server.stdin.write("now\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline()) == []
        assert all(line.recv(1_000) for line in waiting)
    finally:
        for line in waiting:
            line.close()
        server.communicate("end\n", timeout=30)
