"""The report in a real browser: wide, on a phone, dark and on paper; zoom and cursor over all charts; its links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="the report is opened by playwright: pip install 'ringcast[dev]'")

from playwright.sync_api import Browser, Page

from browser.looks import CONTRAST
from browser.served import LIMIT_MS, browsing, served
from ringcast.cli.app import run
from ringcast.model import Address, Event, Kind
from ringcast.trace import FileRecorder, Header
from ringcast.trace.story import MS, Story

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with crashes, cuts and merges."""
    root = tmp_path_factory.mktemp("simulated")
    assert run(["simulate", "--seed", "7", "--record", str(root / "run")]) == 0
    assert run(["report", str(root / "run"), "-o", str(root / "report.html"), "--checkers", "--title", "Seed 7"]) == 0
    return root / "report.html"


@pytest.fixture(scope="module")
def violated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a and b the second delivers message 99 behind 40; a cut is healed, b is killed."""
    root = tmp_path_factory.mktemp("violated")
    story = Story("ab").view("ab")
    for _ in range(10):
        story.passed("ab", "a", 4)
    story.deliver("b", "a", 99, 1).passed("ab", "b", 3)
    for recording in story.recordings():
        recorder = FileRecorder(root / "run", recording.header)
        recorder.extend(list(recording.events)[1:-1])
        recorder.close(story.now_ns)
    harness = FileRecorder(root / "run", Header(Address("harness", 0, "lab:harness"), "g", {"role": "harness"}))
    harness.append(Event(Kind.FAULT, 20 * MS, detail={"what": "cut", "left": ["a"], "right": ["b"]}))
    harness.append(Event(Kind.HEAL, 30 * MS, value=1))
    harness.close(story.now_ns)
    assert run(["report", str(root / "run"), "-o", str(root / "report.html"), "--checkers"]) == 1
    return root / "report.html"


def opened(browser: Browser, report: Path, heard: list[str], **options: object) -> Page:
    page = browser.new_page(**options)  # type: ignore[arg-type]
    page.set_default_timeout(LIMIT_MS)
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on(
        "request", lambda request: heard.append(request.url) if not request.url.startswith(("file:", "data:")) else None
    )
    page.goto(report.as_uri())
    page.wait_for_selector("#charts .chart canvas")
    return page


def span(page: Page) -> tuple[float, float]:
    first, last = re.findall(r"[\d.]+", page.inner_text("#span"))
    return float(first), float(last)


def test_the_report_shows_what_it_must_and_asks_for_nothing(browser: Browser, simulated: Path) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard)
    assert page.inner_text("h1") == "Seed 7" and page.inner_text(".verdict").startswith("Held")
    heads = page.locator("#charts h3").all_inner_texts()
    assert [head.split()[0] for head in heads][:5] == ["Views", "Delivered", "Sent", "Latency", "Send"]
    cards = page.locator("[data-guarantee]")
    assert cards.evaluate_all("all => all.map((one) => one.dataset.guarantee)") == [f"G{n}" for n in range(1, 19)]
    assert int(page.get_attribute('[data-guarantee="G1"]', "data-examined") or 0) > 100
    assert "E (2)" in page.inner_text("#members") and "harness" not in page.inner_text("#members")
    for word in ("UTC", "ringcast report", "--judge checkers"):
        assert word in page.inner_text("#about")
    for link in page.locator("nav a").all():
        target = link.get_attribute("href")
        assert target is not None and page.locator(target).count() == 1
    page.locator(".heat td b").first.wait_for()
    assert heard == []
    page.close()


def test_one_zoom_and_one_cursor_for_all_charts(browser: Browser, simulated: Path) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard)
    whole = span(page)
    chart = page.locator("#charts .chart .u-over").nth(1)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40, steps=5)
    page.mouse.up()
    zoomed = span(page)
    assert whole[0] < zoomed[0] < zoomed[1] < whole[1]
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40)
    times = page.locator("#charts .u-legend .u-series:first-child .u-value").all_inner_texts()
    assert len(times) >= 3 and len(set(times)) == 1 and times[0].endswith(" s")
    page.mouse.dblclick(box["x"] + box["width"] * 0.6, box["y"] + 40)
    assert span(page) == whole
    page.uncheck("#stretch")
    assert span(page) == whole
    assert heard == []
    page.close()


def test_moments_and_zoom_are_reached_by_keyboard(browser: Browser, simulated: Path) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard)
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.dataset.zoom ?? document.activeElement.className"))
        if reached[-1] == "jump":
            break
    assert [name for name in ("in", "out", "left", "right", "all") if name not in reached] == []
    whole = span(page)
    page.keyboard.press("Enter")
    zoomed = span(page)
    assert zoomed[1] - zoomed[0] < (whole[1] - whole[0]) / 2
    page.focus('[data-zoom="all"]')
    page.keyboard.press("Enter")
    assert span(page) == whole
    page.close()


def painted(page: Page, chart: int, t: float) -> bool:
    """Is something red drawn at this time in this chart?"""
    return bool(
        page.evaluate(
            """([chart, place]) => {
              const canvas = document.querySelectorAll("#charts canvas")[chart];
              const over = canvas.parentElement.querySelector(".u-over").getBoundingClientRect();
              const [box, scale] = [canvas.getBoundingClientRect(), devicePixelRatio];
              const x = Math.round((over.left - box.left + place * over.width) * scale);
              const y = Math.round((over.top - box.top) * scale) + 6;
              const pixels = canvas.getContext("2d").getImageData(x - 2, y, 5, 30).data;
              for (let i = 0; i < pixels.length; i += 4) {
                const [r, g, b, alpha] = pixels.slice(i, i + 4);
                if (alpha > 40 && r > g + 60 && Math.abs(g - b) < 30) return true;
              }
              return false;
            }""",
            [chart, t],
        )
    )


def test_faults_are_drawn_across_every_chart(browser: Browser, violated: Path) -> None:
    heard: list[str] = []
    page = opened(browser, violated, heard)
    page.uncheck("#stretch")  # an even axis: places are shares of the run
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    cut, length = next(fault for fault in data["faults"] if fault["what"] == "cut"), data["length"]
    assert round(cut["to"] - cut["from"], 3) == 0.01
    assert heard == []  # before the test reads pixels, which Chromium comments on
    count = page.locator("#charts canvas").count()
    assert count >= 4
    for chart in range(count):
        assert painted(page, chart, cut["from"] / length)
        assert not painted(page, chart, cut["from"] / length / 2)
    page.close()


def test_a_violation_leads_to_its_events_to_the_charts_and_to_the_page(browser: Browser, violated: Path) -> None:
    pytest.importorskip("starlette", reason="the page needs starlette: pip install 'ringcast[page]'")
    heard: list[str] = []
    page = opened(browser, violated, heard)
    page.locator('[data-guarantee="G1"] a').click()
    article = page.locator("#G1-1")
    assert "DELIVER" in article.locator("tr.evidence").first.inner_text()
    article.locator("a.jump").click()
    first, last = span(page)
    when = float(article.locator(".when").inner_text().removesuffix(" s"))
    assert first < when < last
    link = article.locator('a[href^="http"]').get_attribute("href")
    assert link is not None
    with served(str(violated.parent / "run")) as address:
        other = browser.new_page()
        other.set_default_timeout(LIMIT_MS)
        other.goto(address + link.partition("8642/")[2])
        other.wait_for_selector("#log tr.evidence")
        assert "DELIVER" in other.inner_text("#log tr.evidence")
        other.close()
    assert heard == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_words_stand_out_and_nothing_is_wider_than_the_screen(
    browser: Browser, violated: Path, scheme: str, width: int
) -> None:
    heard: list[str] = []
    page = opened(browser, violated, heard, viewport={"width": width, "height": 850}, color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.locator("#members tbody tr").first.evaluate("row => getComputedStyle(row).display")
    assert shown == ("block" if width < 760 else "table-row")  # cards on a phone
    assert heard == []
    page.close()


def test_the_report_prints_in_light_colours_and_within_the_paper(browser: Browser, simulated: Path) -> None:
    heard: list[str] = []
    page = opened(browser, simulated, heard, viewport={"width": 700, "height": 1000}, color_scheme="dark")
    data = page.pdf(format="A4")
    assert data.startswith(b"%PDF") and 1 < len(re.findall(rb"/Type\s*/Page\b", data)) < 30
    page.emulate_media(media="print")
    page.wait_for_function("() => document.querySelector('#charts canvas').getBoundingClientRect().width <= 690")
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRAST) == []
    assert heard == []
    page.close()
