"""Compiles the C extensions in place, with the Python that runs this; fails with a sentence if it cannot.

The compiler's own words are shown when it fails and when it warns.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import debian

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "src" / "ringcast" / "native"


def modules() -> list[str]:
    return [source.stem for source in sorted(NATIVE.glob("_*.c"))]


def is_built(module: str) -> bool:
    return (NATIVE / f"{module}{sysconfig.get_config_var('EXT_SUFFIX')}").exists()


def obstacle() -> str | None:
    """What keeps this machine from compiling, if anything."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        return f"There is no C compiler ({compiler}). On Debian: apt-get install gcc"
    headers = Path(sysconfig.get_path("include"))
    if (headers / "Python.h").exists():
        return None
    if headers.is_relative_to("/usr/include"):
        return debian.install("python3-dev")
    return f"The C headers of this Python are missing: there is no {headers / 'Python.h'}"


def compile_all() -> str | None:
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
    environment = {**os.environ, "RINGCAST_NATIVE": "required"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    if run.returncode != 0 or "warning:" in said:
        print(said, flush=True)
    return None if run.returncode == 0 else "The compiler refused the native sources; its words stand above."


def main() -> int:
    sentence = obstacle() or compile_all()
    if sentence:
        print(sentence, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
