"""`ringcast page` as a process, and a real browser in front of it: a mouse, a keyboard, and ears for the console."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from needs.probes import command_path

_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
LIMIT_MS = 60_000


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The address of a page that runs as long as the block."""
    command = [sys.executable, "-m", "ringcast", "page", "--json", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"]
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def browsing() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = command_path("chromium", "chromium-browser", "google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def opened(browser: Browser | BrowserContext, address: str, heard: list[str], **options: object) -> Page:
    """The page, once it has drawn its first scene; `heard` gets every word on its console."""
    page = browser.new_page(**options)  # type: ignore[arg-type]
    page.set_default_timeout(LIMIT_MS)
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.goto(address)
    page.wait_for_selector("#state[data-views]")
    return page


def until_views(page: Page, count: int) -> None:
    page.wait_for_selector(f'#state[data-views="{count}"]')
