"""The README's quick start and the tutorial, copied line by line into a fresh directory, work; broken ones do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.readme_session import Session
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


# A command, and a program, that a page could show by mistake.
BROKEN = {
    "a command that fails": ("ringcast trace ls recodings", None, "recodings ended with 2"),
    "a program that the page does not show": ("python shop.py", None, "shop.py ended with 2"),
    "a program that raises at once": ("python shop.py", "import ringcst", "shop.py ended with 1"),
    "a program that raises later": ("python shop.py", "print(1, flush=True)\nsold.ad()", "shop.py ended with 1"),
    "a program that Ctrl-C breaks": (
        "python shop.py",
        "import time\nprint(1, flush=True)\ntime.sleep(60)",
        "Traceback",
    ),
}


@pytest.mark.parametrize(("command", "program", "says"), BROKEN.values(), ids=list(BROKEN))
def test_a_line_of_a_page_that_is_broken_is_caught(
    command: str, program: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    session = Session(tmp_path)
    if program is not None:
        session.save(f"# shop.py\n{program}\n")
    with pytest.raises(AssertionError, match=says):
        session.type(command)
        for _, child in session.staying if says != "Traceback" else ():
            child.wait(60)  # or Ctrl-C would come first
        session.end()
