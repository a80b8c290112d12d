"""The pytest plugin behind `@pytest.mark.needs("nft")`: a test says what it needs from the machine.

Where that is missing the test is skipped; with RINGCAST_REQUIRE_ALL=1 it fails. Every run ends with the list of what
did not run and why, whatever the reason was. A fixture or a test body may ask too, by the fixture `needs`.

A suite cut into several runs of pytest, also beside each other, gives all of them one file (RINGCAST_NOT_RUN): each
adds a line with its counts and its list. `python -m needs.plugin FILE` closes the suite: what all of them say together.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from needs.probes import PROBES, missing

OUTCOMES = ("failed", "error", "passed", "skipped", "xfailed")


def pytest_configure(config: pytest.Config) -> None:
    names = ", ".join(sorted(PROBES))
    config.addinivalue_line("markers", f"needs(name, ...): what the test needs from the machine, of: {names}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            require(name)


@pytest.fixture(scope="session")
def needs() -> Callable[[str], None]:
    return require


def require(name: str) -> None:
    reason = missing(name)
    if reason is None:
        return
    sentence = f"needs {name}: {reason}"
    if all_is_required():
        pytest.fail(f"{sentence} (RINGCAST_REQUIRE_ALL is set: nothing may be left out)", pytrace=False)
    pytest.skip(sentence)


def all_is_required() -> bool:
    return os.environ.get("RINGCAST_REQUIRE_ALL", "0") not in ("", "0")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    by_reason: dict[str, list[str]] = {}
    for report in terminalreporter.stats.get("skipped", []):
        by_reason.setdefault(_reason(report), []).append(report.nodeid)
    name = os.environ.get("RINGCAST_NOT_RUN")
    if name and not hasattr(terminalreporter.config, "workerinput"):  # Workers report to the run that started them.
        counts = {kind: len(terminalreporter.stats[kind]) for kind in OUTCOMES if kind in terminalreporter.stats}
        with Path(name).open("a") as file:  # One line each: runs beside each other do not overwrite each other's.
            file.write(json.dumps([counts, by_reason]) + "\n")
    terminalreporter.section("not run", sep="-")
    for line in _lines(by_reason):
        terminalreporter.write_line(line)


def closing(file: Path) -> Iterator[str]:
    """What all runs that wrote to this file did and did not run."""
    counts: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    together: dict[str, list[str]] = {}
    runs = [json.loads(line) for line in file.read_text().splitlines()]
    for counted, by_reason in runs:
        for kind, count in counted.items():
            counts[kind] += count
        for reason, tests in by_reason.items():
            together.setdefault(reason, []).extend(tests)
    yield "---- not run, of all tiers ----"
    yield from _lines(together)
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    yield f"==== {len(runs)} runs together: {said or 'nothing ran'} ===="


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    # A skipped report carries (file, line, "Skipped: why").
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return why.removeprefix("Skipped: ")


def _lines(by_reason: dict[str, list[str]]) -> Iterator[str]:
    if not by_reason:
        yield "Nothing was left out."
    for reason in sorted(by_reason):
        tests = by_reason[reason]
        yield f"{len(tests)} not run: {reason}"
        yield from (f"    {where}" for where in dict.fromkeys(test.partition("::")[0] for test in tests))


if __name__ == "__main__":
    print(*closing(Path(sys.argv[1])), sep="\n")
