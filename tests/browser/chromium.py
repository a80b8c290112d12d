"""Chromium as a command: a page is opened, looked at, printed. No driver, no network.

Each call is a process of its own; what the page says on its console comes back with it.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
LIMIT_SECONDS = 120
_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    # Whatever the page might ask for by name is not there.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    *("--enable-logging=stderr", "--log-level=0"),
)


@dataclass(frozen=True, slots=True)
class Opened:
    """What came of it: standard output, and what the page said on its console."""

    output: str
    console: list[str]


class Chromium:
    def __init__(self, profile: Path) -> None:
        self._command = next(path for path in map(shutil.which, NAMES) if path)
        self._profile = profile

    def dom(self, page: Path) -> Opened:
        """The page as the browser understood it."""
        return self._open(page, "--dump-dom")

    def screenshot(self, page: Path, to: Path, width: int, height: int, *, dark: bool = False) -> Opened:
        scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        return self._open(page, f"--screenshot={to}", f"--window-size={width},{height}", *scheme)

    def print(self, page: Path, to: Path) -> Opened:
        return self._open(page, f"--print-to-pdf={to}", "--no-pdf-header-footer")

    def _open(self, page: Path, *what: str) -> Opened:
        run = subprocess.run(
            [self._command, *_QUIET, f"--user-data-dir={self._profile}", *what, page.as_uri()],
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=True,
        )
        return Opened(run.stdout, [line for line in run.stderr.splitlines() if "CONSOLE" in line])
