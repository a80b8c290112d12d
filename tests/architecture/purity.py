"""The pure rooms: inputs and a time go in, effects come out, and a seed replays a run bit for bit.

So nothing there reads a clock, draws a random number, does input or output, or depends on the order of a set,
on `hash()` or on `id()`, which differ from one process to the next. Judged by syntax: a set is what is written as one,
annotated as one, or made from one in the same function.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from architecture.imports import imports_of

PURE_ROOMS = ("model", "window", "order", "core")

IMPURE_MODULES = (
    *("asyncio", "concurrent", "contextvars", "multiprocessing", "queue", "sched", "threading"),
    *("io", "logging", "os", "pathlib", "shutil", "subprocess", "signal", "tempfile"),
    *("select", "selectors", "socket", "ssl"),
    *("datetime", "random", "secrets", "time", "uuid"),
)
IMPURE_CALLS = ("hash", "id", "uuid4", "open", "print", "input", "globals", "exec", "eval")

SET_TYPES = ("set", "frozenset", "Set", "AbstractSet", "FrozenSet", "MutableSet")
SET_METHODS = ("union", "intersection", "difference", "symmetric_difference", "copy")
ITERATING_CALLS = ("list", "tuple", "iter", "enumerate", "zip", "map", "filter", "deque", "OrderedDict", "chain")
ITERATING_METHODS = ("extend", "join", "fromkeys", "from_iterable")

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def purity_violations(package: Path) -> list[str]:
    return [*_impure_imports(package), *_impure_expressions(package)]


def _impure_imports(package: Path) -> Iterator[str]:
    for found in imports_of(package):
        if found.room in PURE_ROOMS and found.module.split(".")[0] in IMPURE_MODULES:
            yield f"{found}: {found.room} is pure"


def _impure_expressions(package: Path) -> Iterator[str]:
    for path in sorted(path for room in PURE_ROOMS for path in (package / room).rglob("*.py")):
        file, tree = path.relative_to(package), ast.parse(path.read_text(), str(path))
        yield from (f"{file}:{line} {what}" for line, what in sorted({*_impure_calls(tree), *_set_iterations(tree)}))


def _impure_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr="uuid4" as name)) if name in IMPURE_CALLS:
                yield node.lineno, f"calls {name}(): its answer differs from one process to the next"


def _set_iterations(tree: ast.Module) -> Iterator[tuple[int, str]]:
    attributes = _attributes_holding_sets(tree)
    for scope in ast.walk(tree):
        if isinstance(scope, Scope):
            sets = _Sets(attributes, _names_holding_sets(scope))
            for node in _inside(scope):
                yield from ((line, "iterates a set: its order does not repeat") for line in sets.iterated_by(node))


def _inside(scope: Scope) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions in it, which have names of their own."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Scope):
            waiting.extend(ast.iter_child_nodes(node))


def _is_set_annotation(annotation: ast.expr | None) -> bool:
    match annotation:
        case ast.Subscript(value=inner):
            return _is_set_annotation(inner)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in SET_TYPES
        case ast.Constant(value=str(text)):
            return text.split("[")[0] in SET_TYPES
    return False


def _attributes_holding_sets(tree: ast.Module) -> frozenset[str]:
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(body=body):
                fields = [field for field in body if isinstance(field, ast.AnnAssign)]
                names |= {
                    f.target.id for f in fields if isinstance(f.target, ast.Name) and _is_set_annotation(f.annotation)
                }
            case ast.AnnAssign(target=ast.Attribute(attr=name), annotation=annotation) if _is_set_annotation(
                annotation
            ):
                names.add(name)
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if _Sets().is_set(value):
                names.add(name)
    return frozenset(names)


def _names_holding_sets(scope: Scope) -> frozenset[str]:
    names = set()
    if not isinstance(scope, ast.Module):
        arguments = [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]
        names |= {argument.arg for argument in arguments if _is_set_annotation(argument.annotation)}
    for node in _inside(scope):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if _is_set_annotation(annotation):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _Sets().is_set(value):
                names.add(name)
    return frozenset(names)


class _Sets:
    """Tells which expressions are sets, given the names that hold one, and where one is iterated."""

    def __init__(self, attributes: frozenset[str] = frozenset(), names: frozenset[str] = frozenset()) -> None:
        self.attributes = attributes
        self.names = names

    def is_set(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
                return True
            case ast.Name(id=name):
                return name in self.names
            case ast.Attribute(attr=name):
                return name in self.attributes
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in SET_METHODS:
                return self.is_set(inner)
            case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub(), right=right):
                return any(self.is_set(side) or _is_key_view(side) for side in (left, right))
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_set(body) or self.is_set(orelse)
        return False

    def iterated_by(self, node: ast.AST) -> Iterator[int]:
        match node:
            case ast.For(iter=source) | ast.AsyncFor(iter=source) | ast.comprehension(iter=source):
                iterated = [source]
            case ast.Starred(value=source) | ast.YieldFrom(value=source):
                iterated = [source]
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in ITERATING_CALLS:
                iterated = arguments
            case ast.Call(func=ast.Attribute(attr=method), args=arguments) if method in ITERATING_METHODS:
                iterated = arguments
            case ast.Call(func=ast.Attribute(value=source, attr="pop"), args=[]):
                iterated = [source]  # which one it gives is the same question as which comes first
            case _:
                iterated = []
        yield from (source.lineno for source in iterated if self.is_set(source))


def _is_key_view(node: ast.expr) -> bool:
    """`a.keys() - b` is a set, although neither side is written as one."""
    match node:
        case ast.Call(func=ast.Attribute(attr="keys" | "items"), args=[]):
            return True
    return False
