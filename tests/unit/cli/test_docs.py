"""What README and guides show is there: every command line parses, every Python block compiles, links lead on."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import ringcast
from ringcast.cli.app import app

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    yield from FENCE.findall(page.read_text())


def command_lines() -> Iterator[tuple[str, str]]:
    """Every `ringcast ...` line inside a fence, without its comment."""
    for page in PAGES:
        for language, text in blocks(page):
            for line in text.splitlines() if language in ("", "sh") else ():
                if re.match(r"(\$ )?ringcast [a-z-]", line):
                    yield page.name, line.removeprefix("$ ")


def parse(line: str) -> None:
    """As the shell and the command would, without running it."""
    words = shlex.split(line, comments=True)[1:]
    if any(word.isupper() and word.isalpha() for word in words[:1]):
        return  # a placeholder such as COMMAND
    command: click.Command = app
    context = click.Context(app, info_name="ringcast")
    while isinstance(command, click.Group):
        name, *words = words
        inner = command.get_command(context, name)
        assert inner is not None, f"{name!r} is no command"
        command, context = inner, click.Context(inner, parent=context, info_name=name)
    command.make_context(command.name, words, parent=context.parent)


@pytest.mark.parametrize(("page", "line"), sorted(set(command_lines())))
def test_every_command_line_that_is_shown_parses(page: str, line: str) -> None:
    parse(line)


@pytest.mark.parametrize(
    "line",
    ["ringcast nod chat", "ringcast node chat --nme bob", "ringcast bench multicast --size many", "ringcast key nw"],
)
def test_a_command_line_that_is_broken_is_caught(line: str) -> None:
    with pytest.raises((click.UsageError, AssertionError)):
        parse(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_block_compiles(page: Path) -> None:
    for language, text in blocks(page):
        if language == "python":
            compile(text, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_first_program_of_the_readme_has_eight_lines_and_two_that_start_it() -> None:
    program = next(text for language, text in blocks(ROOT / "README.md") if language == "python")
    lines = [line for line in program.splitlines() if line and not line.startswith("#")]
    start = next(number for number, line in enumerate(lines) if line.startswith("with contextlib.suppress"))
    assert (start, len(lines) - start) == (8, 2)


def anchors(page: Path) -> set[str]:
    """What a link behind # can name: the headings, as GitHub and the site spell them."""
    headings = re.findall(r"^#{1,4} (.+)$", FENCE.sub("", page.read_text()), re.M)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def links_into_nothing(page: Path) -> list[str]:
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text())):
        place, _, anchor = link.partition("#")
        target = page.parent / place if place else page
        if place.startswith(("http:", "https:", "mailto:")):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_page_of_ours_leads_somewhere(page: Path) -> None:
    assert links_into_nothing(page) == []


def test_a_link_into_nothing_is_caught(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# Other\n\n## Who is here, and `why`?\n\n```sh\n# no heading\n```\n")
    page.write_text(
        "## Here\n[a](other.md) [b](other.md#who-is-here-and-why) [c](#here) [d](https://example.org/x)\n"
        "[e](gone.md) [f](other.md#gone) [g](#gone) [h](other.md#no-heading)\n"
    )
    assert links_into_nothing(page) == ["gone.md", "other.md#gone", "#gone", "other.md#no-heading"]


def unknown_names(text: str) -> list[str]:
    return sorted(name for name in set(re.findall(r"\bringcast\.([A-Za-z_]+)\(", text)) if not hasattr(ringcast, name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_of_the_package_that_is_shown_exists(page: Path) -> None:
    assert unknown_names("".join(text for _, text in blocks(page))) == []


def test_a_name_that_does_not_exist_is_caught() -> None:
    assert unknown_names("ringcast.join() ringcast.jion()") == ["jion"]
