"""Reads which modules each file of a source tree imports, by its syntax alone: nothing is executed.

Imports inside functions and under TYPE_CHECKING count like any other; so does importlib.import_module with a constant.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "ringcast"


@dataclass(frozen=True, slots=True)
class Import:
    """One import: `file` is relative to the package, `module` the absolute name of what is imported."""

    file: Path
    line: int
    module: str

    @property
    def room(self) -> str:
        """The room that imports: a directory of the package, or a module at its top such as `errors`."""
        return self.file.parts[0].removesuffix(".py")

    @property
    def target(self) -> str | None:
        """The room that is imported, or None where the import leaves the package."""
        parts = self.module.split(".")
        if parts[0] != PACKAGE:
            return None
        return parts[1] if len(parts) > 1 else "__init__"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def imports_of(package: Path) -> Iterator[Import]:
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package)
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            for module in _modules(node, file, package):
                yield Import(file, getattr(node, "lineno", 0), module)


def _modules(node: ast.AST, file: Path, package: Path) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(names=names):
            base = _base(node, file)
            yield from dict.fromkeys(_narrowest(base, alias.name, package) for alias in names)
        case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")):
            match node.args:
                case [ast.Constant(value=str(name)), *_]:
                    yield name


def _base(node: ast.ImportFrom, file: Path) -> str:
    if node.level == 0:
        return node.module or ""
    here = (PACKAGE, *file.parts[:-1])
    above = here[: len(here) - node.level + 1]
    return ".".join((*above, node.module) if node.module else above)


def _narrowest(base: str, name: str, package: Path) -> str:
    """`from ringcast.core import node` imports the module node, unless the room itself offers that name."""
    room = package.joinpath(*base.split(".")[1:])
    is_file = base.split(".")[0] == PACKAGE and any((room / module).exists() for module in (name, f"{name}.py"))
    return f"{base}.{name}" if is_file and name not in _offered(room / "__init__.py") else base


def _offered(door: Path) -> list[str]:
    """What a room names in `__all__`."""
    for statement in ast.parse(door.read_text()).body if door.exists() else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=names):
                return list(ast.literal_eval(names))
    return []
