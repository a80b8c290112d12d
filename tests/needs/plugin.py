"""The pytest plugin behind `@pytest.mark.needs("nft")`: a test says what it needs from the machine.

Where that is missing the test is skipped; with RINGCAST_REQUIRE_ALL=1 it fails. Every run ends with the list of what
did not run and why, whatever the reason was. A fixture or a test body may ask too, by the fixture `needs`.

A suite cut into several runs of pytest gives all of them one file (RINGCAST_NOT_RUN): each adds its list, so that the
last lines of the last run speak for all.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from needs.probes import PROBES, missing


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
    terminalreporter.section("not run", sep="-")
    for line in _lines(_with_earlier_runs(by_reason)):
        terminalreporter.write_line(line)


def _with_earlier_runs(by_reason: dict[str, list[str]]) -> dict[str, list[str]]:
    name = os.environ.get("RINGCAST_NOT_RUN")
    if not name:
        return by_reason
    with Path(name).open("a") as file:  # One line each: runs beside each other do not overwrite each other's.
        file.write(json.dumps(by_reason) + "\n")
    together: dict[str, list[str]] = {}
    for line in Path(name).read_text().splitlines():
        for reason, tests in json.loads(line).items():
            together.setdefault(reason, []).extend(tests)
    return together


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
