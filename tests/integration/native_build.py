"""A native module built as no user builds it: with its named steps compiled in, or under a sanitizer.

Only for tests: the production modules have no such switches. A child process puts the build in the production module's
place before it imports what uses it; whatever it shares with others (the layout of the bus's memory) is the same.
"""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

NATIVE = Path(__file__).resolve().parents[2] / "src" / "ringcast" / "native"


def compiler() -> list[str]:
    return shlex.split(sysconfig.get_config_var("CC") or "cc")


def compile_native(name: str, directory: Path, *options: str) -> Path:
    target = directory / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    usual = ["-std=c11", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    source = str(NATIVE / f"{name}.c")
    subprocess.run([*compiler(), *usual, *options, source, "-o", str(target)], check=True, capture_output=True)
    return target


def load_native(module: Path) -> ModuleType:
    """Imported from here under its own name, for all who import it afterwards."""
    name = f"ringcast.native.{module.name.split('.')[0]}"
    spec = importlib.util.spec_from_file_location(name, module)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    sys.modules[name] = loaded
    return loaded
