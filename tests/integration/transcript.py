"""A session at the shell, kept as a text file that reads like one: comments, `$ command`, what it said, its exit code.

What differs from run to run (times, ports, counters, incarnations, view numbers) is written as N. A test compares what
was said with the file; RINGCAST_REWRITE=1 writes the files anew, to be reviewed as a diff.
"""

import asyncio
import os
import re
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

import pytest

DIRECTORY = Path(__file__).parent / "transcripts"

_VOLATILE = [
    (re.compile(r"^still looking .*\n", re.M), ""),  # said only when it takes long
    (re.compile(r"\d+\.\d s\b"), "N.N s"),
    (re.compile(r"\|\d+"), "|N"),
    (re.compile(r"#[0-9a-z]{2,}"), ""),
    (re.compile(r"-- view \d+"), "-- view N"),
    (re.compile(r"^[0-9a-f]{8}(?=  primary)", re.M), "NNNNNNNN"),  # the name of a key
    (re.compile(r"up to \d+ of \d+"), "up to N of N"),
    (re.compile(r"\d+ packets"), "N packets"),
    (re.compile(r"^\d+ messages of", re.M), "N messages of"),
    (re.compile(r"[\d,]+ (examined|events judged)"), r"N \1"),
    (re.compile(r"\d+/(\d{4,}) bytes"), r"N/\1 bytes"),
    (re.compile(r"sent \d+, acked by all \d+"), "sent N, acked by all N"),
    (re.compile(r"(me, coordinator) +[1-9]\d*"), r"\1 N"),  # received: how much others took before they stopped differs
    (re.compile(r"sends [\d,]+ and receives [\d,]+"), "sends N and receives N"),
    (re.compile(r" +N examined"), " N examined"),
]

_MEMBERS_HERE = re.compile(r"(members here: )(.+)")  # listed by their sockets, whose ports differ from run to run


def settled(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


class Transcript:
    """One session. `names` stand in the file for what this run happens to have: places, directories."""

    def __init__(self, name: str, question: str, state: str) -> None:
        self.file = DIRECTORY / f"{name}.txt"
        self.names: dict[str, str] = {}
        self._parts = [f"# {question}\n#\n# {state}"]

    def remark(self, text: str) -> None:
        self._parts.append(f"\n# {text}")

    async def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """A command as it stands in the file, with names; the real values are put in their places."""
        words = [self._real(word) for word in line.split()]
        command = [sys.executable, "-m", *words]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, timeout=120, check=False
        )
        self.told(f"$ {line}", done.stdout + done.stderr)
        if done.returncode:
            self._parts.append(f"(exit code {done.returncode})")
        return done

    def told(self, head: str, text: str) -> None:
        """Something that was said, in this run's own words."""
        text = self.named(text)
        text = _MEMBERS_HERE.sub(lambda found: found[1] + ", ".join(sorted(found[2].split(", "))), text)
        self._parts.append(f"\n{head}\n{settled(text)}")

    def named(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(value, name)
        return text

    def _real(self, word: str) -> str:
        for name, value in self.names.items():
            word = word.replace(name, value)
        return word

    def compare(self) -> None:
        said = "\n".join(self._parts) + "\n"
        if os.environ.get("RINGCAST_REWRITE"):
            self.file.write_text(said)
        kept = self.file.read_text()
        if said != kept:
            lines = unified_diff(kept.splitlines(), said.splitlines(), "kept", "said now", lineterm="")
            pytest.fail(f"{self.file.name} tells it otherwise; RINGCAST_REWRITE=1 writes it anew\n" + "\n".join(lines))
