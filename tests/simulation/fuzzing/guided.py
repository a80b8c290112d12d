"""Fuzzing led by coverage (atheris, which is libFuzzer for Python): inputs that reach new code are kept and changed on.

    python guided.py frame --runs 1000000 --seed 1    one target; exits at the first input that raises, and shows it
    python guided.py frame --runs 1000000 --keep      ... and writes back the inputs that reached new code

`make fuzz-guided` does it for every target. The kept corpus (corpus/*.hex) is read by `make test`, too.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

LARGEST_INPUT = 2_048


def fuzz(target: str, arguments: list[str]) -> None:
    """Does not come back: libFuzzer ends the process."""
    atheris = importlib.import_module("atheris")  # only where `make fuzz-guided` has installed it
    with atheris.instrument_imports(include=["ringcast"]):
        from simulation.fuzzing.targets import TARGETS
    atheris.Setup([sys.argv[0], *arguments], TARGETS[target])
    atheris.Fuzz()


def run(target: str, arguments: list[str]) -> None:
    """In a process of its own, whose last lines say what was found."""
    command = [sys.executable, __file__, target, "--inside", *arguments]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(done.stderr[-4_000:], file=sys.stderr)
        raise SystemExit(f"{target}: an input raised, see above")
    last = [line for line in done.stderr.splitlines() if re.match(r"#\d|Done", line)]
    print(f"{target}: {' / '.join(last[-2:])}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs (default: a million)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="write the corpus back")
    options = parser.parse_args()

    from simulation.fuzzing.targets import CORPUS, TARGETS, kept

    if options.target not in TARGETS:
        raise SystemExit(f"no target {options.target!r}; there are: {', '.join(TARGETS)}")
    with tempfile.TemporaryDirectory() as place:
        for number, data in enumerate(kept(options.target)):
            Path(place, f"{number:06}").write_bytes(data)
        limits = [f"-max_len={LARGEST_INPUT}", "-rss_limit_mb=2048", "-timeout=10"]
        run(options.target, [f"-runs={options.runs}", f"-seed={options.seed}", *limits, place])
        if options.keep:
            inputs = sorted({path.read_bytes() for path in Path(place).iterdir()}, key=lambda data: (len(data), data))
            (CORPUS / f"{options.target}.hex").write_text("".join(data.hex() + "\n" for data in inputs if data))


if __name__ == "__main__":
    if sys.argv[2:3] == ["--inside"]:
        fuzz(sys.argv[1], sys.argv[3:])
    else:
        main()
