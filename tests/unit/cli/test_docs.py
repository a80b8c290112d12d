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
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
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


@pytest.mark.parametrize(("page", "line"), sorted(set(command_lines())))
def test_every_command_line_that_is_shown_parses(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    if any(word.isupper() and word.isalpha() for word in words[:1]):
        return  # a placeholder such as COMMAND
    command: click.Command = app
    context = click.Context(app, info_name="ringcast")
    while isinstance(command, click.Group):
        name, *words = words
        inner = command.get_command(context, name)
        assert inner is not None, f"{page} shows {name!r}, which is no command"
        command, context = inner, click.Context(inner, parent=context, info_name=name)
    command.make_context(command.name, words, parent=context.parent)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_page_of_ours_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    ours = [link for link in links if not link.startswith("http")]
    assert [link for link in ours if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_of_the_package_that_is_shown_exists(page: Path) -> None:
    names = {name for _, text in blocks(page) for name in re.findall(r"\bringcast\.([A-Za-z_]+)\(", text)}
    assert sorted(name for name in names if not hasattr(ringcast, name)) == []
