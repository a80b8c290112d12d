"""The answers of docs/where-is.md are true: each file is there, and defines the name that is said to hold the rule."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\d+) \| .+ \| `(.+)` \| `(.+)` \|$", re.MULTILINE)


def names_in(file: Path) -> set[str]:
    """What a file defines, at any depth."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_every_rule_is_where_the_page_says() -> None:
    rows = ROW.findall((ROOT / "docs" / "where-is.md").read_text())
    assert [number for number, _, _ in rows] == [str(number) for number in range(1, 25)]
    wrong = [(file, name) for _, file, name in rows if name not in names_in(ROOT / "src" / "ringcast" / file)]
    assert wrong == []
