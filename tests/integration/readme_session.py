"""Does what the README says, line by line: each fenced block is a shell of its own, in one fresh directory.

    python readme_session.py README.md DIRECTORY

Python blocks that begin with `# name.py` are saved under that name first. A command that stays (a node, a service) goes
on in its shell while the others run, and is ended with Ctrl-C at the end; every other one must end with the exit code
that the text promises. Made to run in a network namespace of its own, so that the ports of the text are free. What it
leaves out: `make` (that is where the environment comes from) and the two machines (test_transcripts.py has them).
"""

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
STAYS = ("ringcast node", "ringcast page", "python shop.py", "python store.py", "python hello.py", "python poll.py")
ASSIGNMENTS = re.compile(r"((?:\w+=\S+ )*)(.*)", re.S)
ELSEWHERE = (
    "make ",
    "pip ",
    "scp ",
    ".venv/",
    ". .venv",
    "python3 -m venv ",
    ". env/",
    "ringcast node chat --name alice --bind 10.",
    "ringcast node chat --name bob --bind 10.",
)
LIMIT_SECONDS = 60.0
# Promised in the text: bob's recording alone cannot be judged.
CODES = {
    "ringcast check recordings --checkers": 2,
    "ringcast report recordings -o report.html --checkers": 2,
}


class Session:
    """The shells of one reader."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.staying: list[tuple[str, subprocess.Popen[str]]] = []

    def save(self, text: str) -> None:
        found = re.match(r"# (\w+\.py)\n", text)
        if found:
            (self.directory / found[1]).write_text(text)

    def type(self, line: str) -> None:
        command = line.partition("#")[0].strip()
        if not command or line.startswith(ELSEWHERE) or (command.startswith("curl ") and shutil.which("curl") is None):
            return
        print(f"$ {command}", flush=True)
        if staying := self.stays(command):
            self.stay(*staying)
        else:
            self._run(command)

    def _run(self, command: str) -> None:
        done = subprocess.run(command, shell=True, cwd=self.directory, timeout=LIMIT_SECONDS, check=False)
        assert done.returncode == CODES.get(command, 0), f"{command} ended with {done.returncode}"

    def stays(self, command: str) -> tuple[str, str] | None:
        """The variables and the program of a command that stays in its shell."""
        found = ASSIGNMENTS.fullmatch(command)
        return (found[1], found[2]) if found and found[2].startswith(STAYS) else None

    def stay(self, variables: str, command: str) -> None:
        """Go on once it has said something: it is in its group then."""
        log = self.directory / f"shell-{len(self.staying)}.txt"
        with log.open("w") as out:
            child = subprocess.Popen(
                ["sh", "-c", f"{variables}exec {command}"],
                cwd=self.directory,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.staying.append((command, child))
        self.await_text(log, "", child)

    def await_text(self, log: Path, text: str, child: subprocess.Popen[str]) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while not (said := log.read_text()) or text not in said:
            assert child.poll() is None, f"it ended early: {said}"
            assert time.monotonic() < until, f"it never said {text!r}: {said}"
            time.sleep(0.05)

    def everybody_says(self, line: str) -> None:
        """Lines typed into one node appear in the other."""
        for number, (command, child) in enumerate(self.staying):
            if command.startswith("ringcast node"):
                assert child.stdin is not None
                child.stdin.write(f"{line} {number}\n")
                child.stdin.flush()
        nodes = [number for number, (command, _) in enumerate(self.staying) if command.startswith("ringcast node")]
        for number in nodes:
            for other in nodes:
                self.await_text(self.directory / f"shell-{number}.txt", f"{line} {other}", self.staying[number][1])

    def end(self) -> None:
        """With Ctrl-C, which each of them takes in good order."""
        for command, child in reversed(self.staying):
            child.send_signal(signal.SIGINT)
            child.wait(LIMIT_SECONDS)
            print(f"{command}: ended with {child.returncode}", flush=True)
        said = "\n".join(log.read_text() for log in sorted(self.directory.glob("shell-*.txt")))
        failed = [f"{command} ended with {child.returncode}" for command, child in self.staying if child.returncode]
        assert not failed and "Traceback" not in said, f"{failed}: {said}"


def play(page: Path, directory: Path) -> None:
    session = Session(directory)
    parts = FENCE.findall(page.read_text())
    for language, text in parts:
        if language == "python":
            session.save(text)
    try:
        for language, text in parts:
            for line in text.splitlines() if language == "sh" else ():
                if line.startswith("ringcast trace"):
                    session.everybody_says("typed")
                session.type(line)
    finally:
        session.end()
    check_what_was_said(session)


def check_what_was_said(session: Session) -> None:
    """By the words of the README: who sees what. The pages were looked at by nobody: they only say where they are."""
    said: dict[str, list[str]] = {}
    for number, (command, _) in enumerate(session.staying):
        program = " ".join(command.split()[:2])
        said.setdefault(program, []).append((session.directory / f"shell-{number}.txt").read_text())
    one, other = ([int(line) for line in shell.splitlines()] for shell in said["python shop.py"])
    assert one[0] == 1 < other[0] and not set(one) & set(other), (one, other)
    assert one == sorted(one) and other == sorted(other), (one, other)
    alice, bob = said["ringcast node"]
    assert "bob: typed" in alice and "alice: typed" in bob, (alice, bob)
    (hello,) = said["python hello.py"]
    assert "members: alice, bob, 127.0.0.1:7003" in hello and "hello, everybody" in hello, hello
    both = '{"joined at 127.0.0.1:7011": 0, "joined at 127.0.0.1:7012": 1}'
    assert all(both in shell for shell in said["python store.py"]), said["python store.py"]


if __name__ == "__main__":
    play(Path(sys.argv[1]), Path(sys.argv[2]))
