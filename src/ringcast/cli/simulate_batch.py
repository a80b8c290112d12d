"""Many seeds for `ringcast simulate`: here or on Spark, kept in a file, with progress; may be stopped at any time.

Whoever stops a batch (Ctrl-C, or kill) gets the summary of what was done so far; what is in the file stays there.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
from rich import progress
from rich.console import Console

from ringcast.cli.check import lacks_spark
from ringcast.cli.output import say_progress
from ringcast.errors import UsageError
from ringcast.sim import Kept, Outcome, Summary, Sweeper, Task, run_all

Runner = Callable[[list[Task]], Iterator[Outcome]]

_PROGRESS_SECONDS = 2.0


@dataclass(slots=True)
class Batch:
    """What was run, how long it took, and whether somebody stopped it."""

    summary: Summary
    seconds: float = 0.0
    is_stopped: bool = False


def run_rest(tasks: list[Task], kept: Kept, runner: Runner) -> Batch:
    """The seeds that are not in the file yet."""
    known = kept.outcomes()
    summary = Summary([known[task.seed] for task in tasks if task.seed in known])
    left = [task for task in tasks if task.seed not in known]
    say_progress(f"{len(summary.outcomes)} of {len(tasks)} seeds are in {kept.path}, {len(left)} are left")
    return run_many(left, summary, runner, kept)


def run_many(tasks: list[Task], summary: Summary, runner: Runner = run_all, kept: Kept | None = None) -> Batch:
    """Whatever was run before an interruption counts."""
    batch = Batch(summary)
    shown = Progress(len(tasks))
    with _stoppable(batch), shown:
        for outcome in runner(tasks):
            summary.add(outcome)
            if kept is not None:
                kept.add(outcome)
            if not outcome.is_good:
                say_progress(failure(outcome))
            shown.note(len(summary.failed))
    if batch.is_stopped:
        say_progress(f"stopped with {shown.left} seeds left; the same command goes on" if kept else "stopped")
    batch.seconds = shown.seconds
    return batch


class Progress:
    """How far a batch has come and how long it will take: a bar in a terminal, else a line now and then."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._done = 0
        self._began = self._shown = time.monotonic()
        self._bar = _bar() if sys.stderr.isatty() else None
        self._task = None if self._bar is None else self._bar.add_task("seeds", total=count, failed=0)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def left(self) -> int:
        return self._count - self._done

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def note(self, failed: int) -> None:
        self._done += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, failed=failed)
            return
        if time.monotonic() - self._shown < _PROGRESS_SECONDS:
            return
        self._shown = time.monotonic()
        per_second = self._done / self.seconds
        minutes = self.left / per_second / 60
        say_progress(
            f"{self._done} of {self._count} seeds, {failed} failed, {per_second:.1f} per second, {minutes:.0f} min left"
        )


def _bar() -> progress.Progress:
    """On standard error; what is said meanwhile appears above it."""
    return progress.Progress(
        progress.TextColumn("{task.completed} of {task.total} seeds, {task.fields[failed]} failed"),
        progress.BarColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def on_spark(master: str | None) -> Runner:
    """Seeds as a Spark job; an outcome is the same wherever its seed runs."""
    lacking = lacks_spark()
    if lacking:
        raise UsageError(f"--spark cannot be used: {lacking}")

    def run(tasks: list[Task]) -> Iterator[Outcome]:
        from ringcast.pipeline import run_seeds, spark_session

        if not tasks:
            return
        with spark_session(master) as spark:
            for line in run_seeds(spark, [task.seed for task in tasks], Sweeper(tasks[0].asked, tasks[0].record)):
                yield msgspec.json.decode(line, type=Outcome)

    return run


@contextmanager
def _stoppable(batch: Batch) -> Iterator[None]:
    """Both ways of being stopped, also for a batch in the background, where Ctrl-C is not listened to by default."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        batch.is_stopped = True
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def failure(outcome: Outcome) -> str:
    return f"seed {outcome.seed} ({outcome.members} members): {outcome.sentences[0]}"
