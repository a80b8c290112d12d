"""The end of a tour: its recordings judged, by Spark with a page to look at, or by the checkers.

Judged by the very commands that a user would run, `ringcast report` or `ringcast check`, in a process of its own:
what Spark says while it starts goes into a log beside the recordings, and who interrupts the tour ends it at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ringcast.checkers import GUARANTEES
from ringcast.demo.steps import DemoError, Steps

Verdict = dict[str, Any]
ALL = ",".join(GUARANTEES)
PATIENCE_SECONDS = 5.0
TITLE = "The demo: form, talk, wait, crash, split, merge, order, go on by majority"


async def judged_by_checkers(record: Path, steps: Steps) -> Verdict:
    async with steps.step("The recordings are judged by the checkers (--quick: not by Spark)"):
        return _told(await _run(["check", str(record), "--checkers", "--require", ALL], record / "check.log"), steps)


async def judged_by_spark(record: Path, page: Path, steps: Steps) -> Verdict:
    async with steps.step("The recordings are judged by Spark"):
        steps.tell("Spark starts, reads what every member recorded, and applies a rule for each guarantee")
        command = ["report", str(record), "-o", str(page), "--judge", "spark", "--title", TITLE, "--require", ALL]
        return _told(await _run(command, record / "spark.log"), steps)


async def _run(command: list[str], log: Path) -> Verdict:
    """The JSON that this command of ours prints."""
    with log.open("wb") as words:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "ringcast",
            *command,
            "--json",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=words,
            start_new_session=True,
        )
    try:
        said, _ = await child.communicate()
    finally:
        if child.returncode is None:
            await _end(child)
    try:
        verdict: Verdict = json.loads(said)
    except ValueError:
        raise DemoError(f"ringcast {command[0]} gave no verdict: {_last_words(log)} (see {log})") from None
    return verdict


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace").strip().rpartition("\n")[2] or "no words"


async def _end(child: asyncio.subprocess.Process) -> None:
    """It and everything it started; Spark runs in a process of its own below it."""
    os.killpg(child.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await child.wait()
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)


def _told(verdict: Verdict, steps: Steps) -> Verdict:
    for name, finding in verdict["guarantees"].items():
        found = f"{finding['examined']:>9,} facts examined"
        if finding["violations"]:
            found += f", {finding['violations']} violations"
        steps.tell(f"{name:>3} {finding['verdict']:<8} {found}   {MEANING[name]}")
    steps.tell(f"verdict over {verdict['events']:,} recorded events: {verdict['verdict']}")
    return verdict


MEANING = {
    "G1": "in order, no gap",
    "G2": "windows bounded",
    "G3": "purged means delivered",
    "G4": "views agree",
    "G5": "agreed cut",
    "G6": "merge apart from view",
    "G7": "suspensions end",
    "G8": "no hearsay in a merge",
    "G9": "merges are whole",
    "G10": "merges repeat nothing",
    "G11": "local order",
    "G12": "one order for all",
    "G13": "causality",
    "G14": "nothing blocks for ever",
    "G15": "handed over once",
    "G16": "all destinations",
    "G17": "one primary",
    "G18": "state cut at the view",
}
