"""The CPythons that can be had on this machine, one for each version that ringcast supports.

Looked for on PATH, below pyenv's directory, and among those that uv manages; nothing is downloaded.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def interpreters() -> dict[str, Path]:
    """Version -> interpreter, of those that run."""
    found = {}
    for version in VERSIONS:
        python = next((path for path in _candidates(version) if _runs(path, version)), None)
        if python is not None:
            found[version] = python
    return found


def missing(found: dict[str, Path]) -> str:
    """A notice about the others, or nothing."""
    absent = [version for version in VERSIONS if version not in found]
    return f"Not on this machine, so left out: CPython {', '.join(absent)}." if absent else ""


def _candidates(version: str) -> Iterator[Path]:
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield Path(on_path)
    roots = (Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions", _managed())
    for root in roots:
        yield from sorted(root.glob(f"*{version}.*/bin/python{version}"), reverse=True)


def _managed() -> Path:
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "uv" / "python"


def _runs(python: Path, version: str) -> bool:
    code = "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout
    return said.split() == ["cpython", version]
