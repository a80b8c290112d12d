"""Functions, classes and methods of the inner rooms that nothing in `src` uses: rules that are wired to nothing.

A use is the name in any other place of `src` that is not an import or an `__all__`; tests do not count. What a name
means is not looked up, so a dead method that shares its name with a living one is not found; what is printed is dead.
`ALLOWED` holds what others call by a way that cannot be seen here, each with its reason.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("core", "model", "window", "order", "wire", "runtime")
ALLOWED = {
    "with_entry": "scenario D03 is about this value alone",
    "rekey": "the queue rule of seed 002 with the counters of a group; the ordering is held against it by tests",
}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(tree: ast.AST) -> Iterator[Definition]:
    for node in ast.walk(tree):
        if isinstance(node, Definition) and not (node.name.startswith("__") and node.name.endswith("__")):
            yield node


def uses(tree: ast.AST) -> Counter[str]:
    """Names and attributes that are read."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found[node.id] += 1
        elif isinstance(node, ast.Attribute):
            found[node.attr] += 1
    return found


def exported(tree: ast.Module) -> set[str]:
    """What the public face hands on: names imported by `ringcast/__init__.py`."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def is_protocol(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def dead(package: Path, rooms: tuple[str, ...] = ROOMS) -> list[str]:
    trees = {file: ast.parse(file.read_text()) for file in sorted(package.rglob("*.py"))}
    used: Counter[str] = Counter()
    for tree in trees.values():
        used += uses(tree)
    face = exported(trees[package / "__init__.py"]) if package / "__init__.py" in trees else set()
    known = face | set(ALLOWED)
    public = {name for file, tree in trees.items() for name in _members_of(tree, face)}
    return [
        f"{file.relative_to(package)}:{node.lineno}: {node.name}"
        for file, tree in trees.items()
        if file.relative_to(package).parts[0] in rooms
        for node in definitions(tree)
        if not used[node.name] and node.name not in known and node.name not in public
    ]


def _members_of(tree: ast.Module, face: set[str]) -> Iterator[str]:
    """Methods of what users hold, and of protocols, which others implement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and (node.name in face or is_protocol(node)):
            yield from (part.name for part in definitions(node))


def main() -> int:
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "src" / "ringcast"
    found = dead(package)
    print(*(f"{line} is used by nothing in src" for line in found), sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
