"""Does what the tutorial says, line by line, and the killing of step 4 in between.

    python tutorial_session.py tutorial.md DIRECTORY

Made to run in a network namespace of its own, as readme_session.py is.
"""

import subprocess
import sys
from pathlib import Path

from readme_session import FENCE, Session


def play(page: Path, directory: Path) -> None:
    session = Session(directory)
    parts = FENCE.findall(page.read_text())
    for language, text in parts:
        if language == "python":
            session.save(text)
    try:
        for language, text in parts:
            for line in text.splitlines() if language == "sh" else ():
                if line.startswith("pytest"):
                    kill_and_start_again(session)
                session.type(line)
    finally:
        session.end()


def kill_and_start_again(session: Session) -> None:
    """Step 4: `status` names its process, the others go on without it, and it comes back with their votes."""
    command, child = session.staying[-1]
    assert f"127.0.0.1:7013 cem, process {child.pid}\n" in asked(session, "ringcast status")
    log = session.directory / f"shell-{len(session.staying) - 1}.txt"
    session.await_text(log, '"ann": "tea"', child)
    child.kill()
    child.wait()
    session.staying.pop()
    session.stay("RINGCAST_KEY_FILE=poll.key ", command)
    session.await_text(log, '"ann": "tea"', session.staying[-1][1])
    assert "cem is not in the group" not in asked(session, "ringcast explain ann")
    session.everybody_says("typed")


def asked(session: Session, command: str) -> str:
    done = subprocess.run(command.split(), cwd=session.directory, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    play(Path(sys.argv[1]), Path(sys.argv[2]))
