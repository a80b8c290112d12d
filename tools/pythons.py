"""Runs tiers of tests on every CPython that can be had here, each in an environment of its own below .cache.

    python tools/pythons.py [--only 3.12] [tests/unit tests/scenario ...]

The environment has the same locked packages as .venv; the native parts are compiled for each version beside the others.
Before its tests each version runs some simulated seeds, whose traces must be those of .venv's Python.
Ends with one line for each version; exit code 1 if any of them failed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import interpreters

ROOT = Path(__file__).resolve().parent.parent
TIERS = ["tests/unit", "tests/scenario", "tests/integration"]
HASHES = ["tools/trace_hashes.py", "--seeds", "12"]


def environment_for(version: str, python: Path) -> Path:
    """Its Python, with everything installed as the locks say."""
    home = ROOT / ".cache" / f"python-{version}"
    inside = home / "bin" / "python"
    stamp = home / "locks"
    locks = (ROOT / "locks" / "all.txt").read_text()
    if not (stamp.exists() and stamp.read_text() == locks):
        print(f"Installing the pinned packages for CPython {version} into {home.relative_to(ROOT)} ...", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", home], check=True)
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", "locks/build.txt"], cwd=ROOT, check=True)
        all_packages = ["--require-hashes", "--no-build-isolation", "-r", "locks/all.txt"]
        subprocess.run([*pip, *all_packages], cwd=ROOT, check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", "."], cwd=ROOT, check=True)
        stamp.write_text(locks)
    subprocess.run([inside, "tools/build_native.py"], cwd=ROOT, check=True)
    return inside


def run_on(python: Path, traces: Path, tiers: list[str]) -> int:
    """Both, the seeds and the tests; 1 if any of them failed."""
    env = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    commands = ([*HASHES, "--against", str(traces)], ["-m", "pytest", "-q", *tiers])
    codes = [subprocess.run([python, *command], cwd=ROOT, env=env, check=False).returncode for command in commands]
    return int(any(codes))


def main(arguments: list[str]) -> int:
    only = arguments[1] if arguments[:1] == ["--only"] else None
    tiers = (arguments[2:] if only else arguments) or TIERS
    found = interpreters.interpreters()
    results = {}
    with tempfile.TemporaryDirectory() as kept:
        traces = Path(kept) / "traces.json"
        subprocess.run([sys.executable, *HASHES, "--out", traces], cwd=ROOT, check=True)
        for version, python in found.items():
            if only in (None, version):
                results[version] = run_on(environment_for(version, python), traces, tiers)
    for version, code in results.items():
        print(f"CPython {version}: {'passed' if code == 0 else f'FAILED ({code})'}: {' '.join(tiers)}")
    if notice := interpreters.missing(found):
        print(notice)
    return int(any(results.values()) or not results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
