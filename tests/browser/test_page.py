"""The live page in a real browser: a simulated group is cut with the mouse and healed, time is set back, a recording is
opened at its violation, a real group is watched; by keyboard alone, in light and dark, wide and on a phone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="the page is driven by playwright: pip install 'ringcast[dev]'")
pytest.importorskip("starlette", reason="the page needs starlette: pip install 'ringcast[page]'")

from playwright.sync_api import Browser, Page

from browser.looks import CONTRAST
from browser.served import browsing, opened, served, until_views
from ringcast.lab import Company, Stage
from ringcast.trace import FileRecorder
from ringcast.trace.story import Story

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def simulated() -> Iterator[str]:
    with served("--seed", "7", "--members", "5") as address:
        yield address


def knife(page: Page) -> None:
    """Drag across the map, below its middle: the two lower members are cut from the three upper ones."""
    box = page.locator("#map").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] * 0.62
    page.mouse.move(box["x"] + box["width"] * 0.08, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.92, y, steps=6)
    page.mouse.up()


def drag_out(page: Page, name: str) -> None:
    """Drag a member to the right, out of the circle."""
    box, whole = page.locator(f'.node[data-member="{name}"] circle').bounding_box(), page.locator("#map").bounding_box()
    assert box is not None and whole is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(whole["x"] + whole["width"] - 4, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()


def begin_again(page: Page, seed: int) -> None:
    page.fill("#seed", str(seed))
    page.click("#again")
    page.wait_for_function(f"() => document.getElementById('title').textContent.endsWith('seed {seed}')")
    until_views(page, 1)
    if page.inner_text("#play") == "play":
        page.click("#play")


def test_a_group_forms_is_cut_with_the_mouse_and_heals(browser: Browser, simulated: str) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard)
    begin_again(page, 7)
    assert page.locator("#map .node").count() == 5
    knife(page)
    page.wait_for_selector("#map .link.cut")
    assert page.locator("#map .link.cut").count() == 6
    until_views(page, 2)
    page.click("#heal")
    until_views(page, 1)
    assert page.locator("#map .link.cut").count() == 0
    page.wait_for_selector("#merges .merge")
    assert "installed" in page.inner_text("#merges")
    assert heard == []
    page.close()


def test_what_was_typed_stays_until_it_is_used(browser: Browser, simulated: str) -> None:
    """A scene that came between pressing and releasing the button put the old seed back into its field."""
    heard: list[str] = []
    page = opened(browser, simulated, heard)
    begin_again(page, 6)
    page.fill("#seed", "5")
    page.focus("#again")
    for _ in range(2):
        before = page.inner_text("#clock")
        page.wait_for_function(f"() => document.getElementById('clock').textContent !== '{before}'")
    assert page.input_value("#seed") == "5"
    page.click("#again")
    page.wait_for_function("() => document.getElementById('title').textContent.endsWith('seed 5')")
    assert heard == []
    page.close()


def test_time_can_be_set_back_and_stepped(browser: Browser, simulated: str) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard)
    begin_again(page, 8)
    page.select_option("#speed", "4")
    all_are_there = "document.getElementById('state').textContent.startsWith('5 members in one view')"
    page.wait_for_function(f"() => {all_are_there}")
    together = page.evaluate("() => Number(document.getElementById('time').value)")
    page.wait_for_function(f"() => Number(document.getElementById('time').value) > {together}")
    page.locator('.member[data-member="E"] [data-act="kill"]').click()
    page.wait_for_function("() => document.querySelector('#views').innerText.split('\\n')[0].includes('A, B, C, D')")
    page.click("#play")  # pause
    page.evaluate(f"() => {{ const t = document.getElementById('time'); t.value = {together}; t.onchange(); }}")
    page.wait_for_function(f"() => {all_are_there}")
    before = page.inner_text("#clock")
    page.click("#step")
    page.wait_for_function(f"() => document.getElementById('clock').textContent !== '{before}'")
    assert heard == []
    page.close()


def test_a_shared_link_shows_the_same_run(browser: Browser, simulated: str) -> None:
    heard: list[str] = []
    context = browser.new_context()
    page = opened(context, simulated, heard)
    begin_again(page, 9)
    drag_out(page, "B")
    until_views(page, 2)
    page.click("#play")
    page.wait_for_function("() => document.getElementById('play').textContent === 'play'")  # Nothing moves any more.
    page.click("#share")
    page.wait_for_function("() => location.hash.includes('seed=9')")
    link, shown = page.url, page.inner_text("#state")
    begin_again(page, 10)
    assert "token" not in link, "it can be sent to others; whoever may look has the cookie"
    other = opened(context, link, heard)
    other.wait_for_function(f"() => document.getElementById('state').textContent === {shown!r}")
    assert heard == []
    context.close()


def test_everything_can_be_done_by_keyboard(browser: Browser, simulated: str) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard)
    begin_again(page, 11)
    reached = []
    page.mouse.click(5, 5)  # From the top.
    for _ in range(80):
        page.keyboard.press("Tab")
        here = "const e = document.activeElement; return e.id || e.dataset.member || e.dataset.act || e.tagName"
        reached.append(str(page.evaluate(f"() => {{ {here} }}")))
        if reached[-1] == "log-box":
            break
    wanted = ["play", "step", "speed", "time", "heal", "seed", "count", "again", "share", *"ABCDE", "kill", "freeze"]
    assert [name for name in [*wanted, "isolate", "leave", "timeline", "log-search"] if name not in reached] == []
    page.focus('.node[data-member="D"]')
    page.keyboard.press("c")
    page.focus('.node[data-member="A"]')
    page.keyboard.press("c")
    page.wait_for_selector('[data-link="A~D"] .link.cut')
    page.keyboard.press("i")
    until_views(page, 2)
    page.keyboard.press("h")
    until_views(page, 1)
    page.keyboard.press("f")
    page.wait_for_selector('.node[data-member="A"]:has-text("frozen")')
    page.keyboard.press("f")
    page.keyboard.press(" ")
    page.wait_for_function("() => document.getElementById('play').textContent === 'play'")
    assert heard == []
    page.close()


def test_a_reader_that_stops_is_named_by_who_waits(browser: Browser, simulated: str) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard)
    begin_again(page, 12)
    page.select_option("#speed", "4")
    page.locator('.member[data-member="C"] [data-act="stop reading"]').click()
    page.wait_for_function("() => document.getElementById('waits').innerText.includes('send waits')")
    assert "C" in page.inner_text("#waits")
    assert heard == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_words_stand_out_and_nothing_is_wider_than_the_screen(
    browser: Browser, simulated: str, scheme: str, width: int, tmp_path: Path
) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard, viewport={"width": width, "height": 850}, color_scheme=scheme)
    page.wait_for_selector("#log td")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert heard == []
    page.close()


@pytest.fixture
def violated(tmp_path: Path) -> Path:
    """Member b delivers message 5 of a without message 4."""
    story = Story("ab").view("ab").passed("ab", "a", 3)
    story.send("a", 2).deliver("b", "a", 5, 1).passed("a", "a", 0)
    for recording in story.recordings():
        recorder = FileRecorder(tmp_path, recording.header)
        recorder.extend(list(recording.events)[1:-1])
        recorder.close(story.now_ns)
    return tmp_path


def test_a_recording_opens_and_jumps_to_its_violation(browser: Browser, violated: Path) -> None:
    heard: list[str] = []
    with served(str(violated)) as address:
        page = opened(browser, address, heard)
        assert "violated" in page.inner_text("#verdict")
        page.evaluate("() => { const t = document.getElementById('time'); t.value = 0; t.onchange(); }")
        page.wait_for_function("() => document.getElementById('clock').textContent === '0.000 s'")
        page.locator("#verdict .violations button").first.click()
        page.wait_for_selector("#log tr.evidence")
        assert "DELIVER" in page.inner_text("#log tr.evidence")
        assert "G1:" in page.inner_text("#log tr.evidence .violated")  # the rule that this event broke
        assert page.inner_text("#clock") != "0.000 s"
        assert page.evaluate(CONTRAST) == []
        page.evaluate("() => { const t = document.getElementById('time'); t.value = 0; t.onchange(); }")
        page.wait_for_function("() => document.getElementById('clock').textContent === '0.000 s'")
        page.click("#step")
        page.wait_for_function("() => document.getElementById('clock').textContent !== '0.000 s'")
        assert heard == []


def test_a_real_group_is_watched(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGCAST_SOCKETS", str(tmp_path / "sockets"))
    heard: list[str] = []

    async def live() -> None:
        async with Stage() as stage:
            company = Company(stage, tmp_path / "recordings", inspect=True)
            await company.form(["a", "b", "c"])
            company.load("ab", rate=500)
            await asyncio.to_thread(look)
            await company.hush()
            await company.ask("abc", "close")

    def look() -> None:
        with served() as address, browsing() as other:
            page = opened(other, address, heard)
            page.wait_for_function(
                "() => document.getElementById('state').textContent.startsWith('3 members in one view')"
            )
            page.wait_for_function("() => /receives [1-9][0-9]+/.test(document.getElementById('members').innerText)")
            assert page.locator("#controls").is_hidden()

    with ThreadPoolExecutor(1) as pool:  # The browser of the other tests has a loop in this thread.
        pool.submit(lambda: asyncio.run(live())).result()
    assert heard == []
