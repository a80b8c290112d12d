"""The report of a run of real processes, opened in a real browser: it shows what it must, says nothing on the console,
needs no network, and prints."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the report needs pyarrow: pip install 'ringcast[pipeline]'")

from browser.chromium import Chromium
from browser.png import colours_in, first_colour, size_of
from ringcast.lab import Company, Stage
from ringcast.pipeline import judge_local
from ringcast.pipeline.report import gather, render

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three members join, talk, one leaves."""
    root = tmp_path_factory.mktemp("run")
    asyncio.run(_live(root / "recordings"))
    (outcome,) = judge_local([str(root / "recordings")])
    path = root / "report.html"
    path.write_text(render(gather(outcome, "Three members")), encoding="utf-8")
    return path


async def _live(record: Path) -> None:
    async with Stage() as stage:
        company = Company(stage, record)
        await company.form(["a", "b", "c"])
        company.load("ab", rate=2_000)
        await asyncio.sleep(0.5)  # not to wait for anything: so long they talk
        await company.hush()
        await company.settle()
        await company["c"]("close")
        await company.until_view("ab")
        await company.ask("ab", "close")


@pytest.fixture
def chromium(tmp_path: Path) -> Chromium:
    return Chromium(tmp_path / "profile")


def test_the_report_opens_without_a_word_on_the_console(page: Path, chromium: Chromium) -> None:
    opened = chromium.dom(page)
    assert opened.console == []
    for part in ("Held", "Guarantees", "Views and merges", "Throughput", "Latency", "Windows and waiting", "Members"):
        assert part in opened.output
    found = r'<td class="id">(G[0-9]+)</td>.*?class="pill ([a-z]+)".*?class="number">([0-9,]+)'
    rows = {name: (verdict, examined) for name, verdict, examined in re.findall(found, opened.output)}
    assert list(rows) == [f"G{number}" for number in range(1, 19)]
    assert rows["G1"][0] == "held" and int(rows["G1"][1].replace(",", "")) > 100
    assert opened.output.count("<svg") >= 4


def test_the_report_asks_for_nothing_from_elsewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text and not re.search(r"""(src|href)\s*=|url\(|@import""", text)


@pytest.mark.parametrize("width", [1200, 500], ids=["screen", "narrow"])
def test_the_report_is_drawn(page: Path, chromium: Chromium, tmp_path: Path, width: int) -> None:
    shot = tmp_path / "shot.png"
    chromium.screenshot(page, shot, width, 1500)
    assert size_of(shot) == (width, 1500)
    assert len(colours_in(shot)) > 20


def test_the_report_follows_a_dark_screen(page: Path, chromium: Chromium, tmp_path: Path) -> None:
    light, dark = tmp_path / "light.png", tmp_path / "dark.png"
    chromium.screenshot(page, light, 600, 400)
    chromium.screenshot(page, dark, 600, 400, dark=True)
    assert max(first_colour(dark)) < 64 < 192 < min(first_colour(light))


def test_the_report_prints(page: Path, chromium: Chromium, tmp_path: Path) -> None:
    paper = tmp_path / "report.pdf"
    chromium.print(page, paper)
    data = paper.read_bytes()
    assert data.startswith(b"%PDF") and 1 < len(re.findall(rb"/Type\s*/Page\b", data)) < 30
