"""The README's quick start and the tutorial, copied line by line into a fresh directory, work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ringcast.lab import namespace

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize(
    ("page", "session"), [("README.md", "readme_session.py"), ("docs/tutorial.md", "tutorial_session.py")]
)
def test_a_page_copied_line_by_line_works(page: str, session: str, tmp_path: Path) -> None:
    script = Path(__file__).with_name(session)
    command = [sys.executable, str(script), str(ROOT / page), str(tmp_path)]
    fresh = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",  # what activating the environment does
        "RINGCAST_SOCKETS": str(tmp_path / "sockets"),
        "HOME": str(tmp_path),
        "PYTHONUNBUFFERED": "1",  # as in a terminal
    }
    done = subprocess.run(
        namespace.command_inside(command), capture_output=True, text=True, timeout=280, check=False, env=fresh
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
