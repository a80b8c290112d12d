"""Brings .venv up to date with this checkout, and does nothing, quickly, when it already is.

Four steps, each remembered in .venv by the hash of what it was made from, so that a change repeats only what it must:

    packages   the exact pins of locks/, checked by hash
    ringcast   this package, editable, with its `ringcast` command
    native     the C extensions; without a compiler a notice, not a failure (`set_up.py native`: a failure)
    classes    an archive of Spark's classes, from which it starts in half the time; without it a notice

`set_up.py core` installs, instead of all packages, only those that the core and its commands need (locks/core.txt); a
later `set_up.py` adds the others.

Two runs at once take turns. Needs nothing but the standard library; what goes wrong is told in a sentence.
"""

import fcntl
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import debian

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
STAMP = VENV / "ringcast-setup.json"
CACHE = ROOT / ".cache"
LOG = CACHE / "setup.log"
NATIVE = ROOT / "src" / "ringcast" / "native"

MADE_FROM = {
    "packages": ["locks/build.txt", "locks/all.txt"],
    "core": ["locks/build.txt", "locks/core.txt"],
    "ringcast": ["pyproject.toml", "setup.py", "src/ringcast/_version.py"],
    "native": ["setup.py", "src/ringcast/native/*.c", "src/ringcast/native/*.h"],
    "classes": ["locks/all.txt", "src/ringcast/pipeline/classes.py"],
}
NO_NETWORK = (
    "name resolution",
    "Network is unreachable",
    "Connection refused",
    "ConnectTimeout",
    "Max retries",
    "timed out",
)

NO_VENV = ("ensurepip is not available", "No module named venv")


class SetUpError(Exception):
    """Set-up cannot go on; the message is for the reader."""


def digest(step: str) -> str:
    files = sorted({path for pattern in MADE_FROM[step] for path in ROOT.glob(pattern)})
    content = hashlib.sha256()
    for path in files:
        content.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return content.hexdigest()


def stamps() -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return found


def remember(step: str, value: str) -> None:
    STAMP.write_text(json.dumps({**stamps(), step: value}, indent=1))


def is_done(step: str) -> bool:
    return stamps().get(step) == digest(step) and (step != "native" or native_is_complete())


def native_is_complete() -> bool:
    return all(any(NATIVE.glob(f"{source.stem}.*.so")) for source in NATIVE.glob("_*.c"))


@contextmanager
def turn() -> Iterator[None]:
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another set-up is running in this checkout; waiting for it to finish ...", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(*command: str | Path) -> bool:
    with LOG.open("a") as log:
        log.write(f"\n$ {' '.join(map(str, command))}\n")
        log.flush()
        return subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False).returncode == 0


def why_it_failed(what: str) -> SetUpError:
    text = LOG.read_text(errors="replace")
    tail = "\n".join(f"    {line}" for line in text.strip().splitlines()[-12:])
    cause = (
        " The package index could not be reached: is there a network?"
        if any(sign in text for sign in NO_NETWORK)
        else ""
    )
    return SetUpError(f"{tail}\n{what} failed.{cause} The whole output is in {LOG.relative_to(ROOT)}.")


def venv_stands() -> bool:
    """Whether .venv is where it was made; if it was moved, the commands in .venv/bin name the old place."""
    return VENV_PYTHON.exists() and stamps().get("root", str(ROOT)) == str(ROOT)


def venv_works() -> bool:
    return venv_stands() and run(VENV_PYTHON, "-c", "import sys, pip; sys.exit(sys.version_info < (3, 11))")


def make_venv() -> None:
    if venv_works():
        return
    if VENV.exists():
        print("The .venv here does not work any more; making it again.", flush=True)
    make = (sys.executable, "-m", "venv", "--clear", str(VENV))
    if not run(*make):
        if not any(sign in LOG.read_text(errors="replace") for sign in NO_VENV):
            raise why_it_failed("Making .venv")
        if sentence := debian.install("python3-venv"):
            raise SetUpError(f"{sys.executable} cannot make a virtual environment. {sentence}")
        if not run(*make):
            raise why_it_failed("Making .venv")


def install_packages() -> None:
    print(
        "Installing the pinned packages into .venv. The first time this downloads about 650 MB and builds a wheel of",
        flush=True,
    )
    print("pyspark, one to three minutes in all; pip's cache keeps that wheel for the next time.", flush=True)
    if not pip("--require-hashes", "-r", "locks/build.txt"):
        raise why_it_failed("Installing the build tools")
    # Without isolation pyspark is built by the setuptools pinned above, not by whichever is newest.
    if not pip("--require-hashes", "--no-build-isolation", "-r", "locks/all.txt"):
        raise why_it_failed("Installing the pinned packages")


def install_core() -> None:
    print("Installing what the core needs into .venv; `make setup` adds Spark, the page and the tools.", flush=True)
    if not pip("--require-hashes", "-r", "locks/build.txt") or not pip("--require-hashes", "-r", "locks/core.txt"):
        raise why_it_failed("Installing the packages of the core")


def install_ringcast() -> None:
    if not pip("--no-deps", "--no-build-isolation", "-e", "."):
        raise why_it_failed("Installing ringcast itself")


def pip(*arguments: str) -> bool:
    return run(VENV_PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off", *arguments)


def build_native(*, required: bool) -> bool:
    build = subprocess.run(
        [VENV_PYTHON, "tools/build_native.py"], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False
    )
    if build.returncode == 0:
        return True
    if required:
        raise SetUpError(build.stderr.strip())
    print(
        f"Notice: {build.stderr.strip()}\n  Everything works but the shared-memory bus; `make native` tries again.",
        flush=True,
    )
    return False


def archive_classes() -> None:
    """Not again before something changed, even if there is none: Spark works without it."""
    print("Archiving Spark's classes (half a minute, 190 MB): Spark starts in half the time from then on.", flush=True)
    if not run(VENV_PYTHON, "-m", "ringcast.pipeline.classes"):
        said = LOG.read_text(errors="replace").strip().splitlines()[-1]
        print(f"Notice: {said}\n  Everything works without it; Spark starts as slowly as ever.", flush=True)


def steps_for(core: bool) -> tuple[str, ...]:
    """Whoever has everything has the core, too."""
    return ("core" if core and not is_done("packages") else "packages", "ringcast")


def bring_up_to_date(steps: tuple[str, ...]) -> None:
    if venv_stands() and all(is_done(step) for step in steps):
        return
    LOG.write_text("")
    make_venv()
    remember("root", str(ROOT))
    for step in steps:
        if not is_done(step):
            before = digest(step)  # of what is installed now, should a file change meanwhile
            INSTALL[step]()
            remember(step, before)


def main(native_asked: bool, core: bool = False) -> None:
    steps = steps_for(core)
    optional = ("native",) if steps[0] == "core" else ("native", "classes")
    if venv_stands() and all(is_done(step) for step in (*steps, *optional)) and not native_asked:
        return
    with turn():
        bring_up_to_date(steps)
        before = digest("native")
        if (native_asked or not is_done("native")) and build_native(required=native_asked):
            remember("native", before)
        if "classes" in optional and not is_done("classes"):
            before = digest("classes")
            archive_classes()
            remember("classes", before)
    print("Set-up is complete: .venv/bin/ringcast", flush=True)


INSTALL = {"packages": install_packages, "core": install_core, "ringcast": install_ringcast}


if __name__ == "__main__":
    try:
        main(native_asked="native" in sys.argv[1:], core="core" in sys.argv[1:])
    except SetUpError as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:
        sys.exit("Set-up was interrupted; the next one carries on from there.")
