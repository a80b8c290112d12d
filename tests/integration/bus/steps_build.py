"""The native bus with its named steps compiled in, so that a test can kill or stop a process exactly there.

Only for tests: the production module has no such switch. A child process puts this build in the production module's
place before it imports ringcast.bus; the layout of the shared memory is the same.
"""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

NATIVE = Path(__file__).resolve().parents[3] / "src" / "ringcast" / "native"


def compile_steps(directory: Path) -> Path:
    target = directory / f"_bus{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    options = ["-std=c11", "-O2", "-shared", "-fPIC", "-DBUS_STEPS", f"-I{sysconfig.get_path('include')}"]
    subprocess.run([*compiler, *options, str(NATIVE / "_bus.c"), "-o", str(target)], check=True)
    return target


def load_steps(module: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("ringcast.native._bus", module)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    sys.modules["ringcast.native._bus"] = loaded
    return loaded
