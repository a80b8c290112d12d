"""Compare the protocol of this tree with that of another commit: does a change that only moves code keep every run?

    tools/same_protocol.py BASE                  80 seeds, this tree under two hash seeds of Python (about two minutes)
    tools/same_protocol.py BASE --seeds 300      more of them

A worktree of BASE is made below build/, and its hashes are kept there for the next time. Every event and every frame of
every seed must be the same (trace_hashes.py). Of the first seeds that differ, the first line that differs is shown.
Then each planted bug is planted once, because one that no longer matches the code it edits would prove nothing, and
their names are compared with those of BASE. Exit code 1: something differs, a planted bug does not apply, or one is
gone. 2: the comparison could not be made.

Not seen: when a frame was sent, dropped frames, warnings, status and metrics; members that never change their view; and
whatever these seeds do not reach. Calls that come back to their caller are rare in them: equal hashes do not prove that
such a change is right.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path

from trace_hashes import Hashes, differences

ROOT = Path(__file__).resolve().parent.parent
HASHES = Path(__file__).with_name("trace_hashes.py")
NATIVE = Path("src", "ringcast", "native")
HASH_SEEDS = (0, 1)  # of Python: an order that depends on one of them is no order
SHOWN = 3  # seeds that differ, of which the first difference is shown


class CannotCompare(Exception):
    """The comparison could not be made; the text says why."""


# Run inside the tree that is judged: it says whose code it is, so that no tree is compared with itself by mistake.
_WHERE = "import ringcast; print(ringcast.__file__)"


def run_in(tree: Path, arguments: list[str], hash_seed: int) -> str:
    """What this prints, run with the code of `tree`."""
    path = os.pathsep.join(str(tree / part) for part in ("src", "tests"))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(hash_seed)}
    found = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=tree
    )
    if found.returncode != 0:
        raise CannotCompare(f"{' '.join(arguments)} failed in {tree}:\n{found.stderr}")
    return found.stdout


def hashes_in(tree: Path, seeds: int, jobs: int, out: Path, hash_seed: int = 0) -> Hashes:
    if not Path(run_in(tree, ["-c", _WHERE], hash_seed).strip()).is_relative_to(tree):
        raise CannotCompare(f"Python finds another ringcast than that of {tree}")
    part = out.with_suffix(f".{os.getpid()}")  # A comparison that is interrupted leaves no half of a file.
    run_in(tree, [str(HASHES), "--seeds", str(seeds), "--jobs", str(jobs), "--out", str(part)], hash_seed)
    part.replace(out)
    return dict(json.loads(out.read_text()))


def first_difference(here: Path, base: Path, seed: int) -> str:
    """The first line of the two runs of this seed that is not the same."""
    ours, theirs = (run_in(tree, [str(HASHES), "--story", str(seed)], 0).splitlines() for tree in (here, base))
    for mine, other in zip_longest(ours, theirs, fillvalue="(nothing more)"):
        if mine != other:
            return f"seed {seed}, base: {other}\nseed {seed}, here: {mine}"
    return f"seed {seed}: no event or frame differs under hash seed 0, so the order depends on Python's hash seed"


# ---- the other commit


def git(*arguments: str) -> str:
    said = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise CannotCompare(said.stderr.strip() or f"git {' '.join(arguments)} failed")
    return said.stdout.strip()


def worktree(base: str) -> Path:
    """A worktree of this commit with its native parts; made once, and those of other commits removed."""
    commit = git("rev-parse", "--verify", f"{base}^{{commit}}")
    tree = ROOT / "build" / "same-protocol" / commit[:12]
    for other in tree.parent.glob("*") if tree.parent.exists() else ():
        if other != tree:
            shutil.rmtree(other)
    git("worktree", "prune")
    if not tree.exists():
        git("worktree", "add", "--detach", str(tree), commit)
        try:
            _add_native_parts(tree, commit)
        except CannotCompare:
            shutil.rmtree(tree)
            raise
    return tree


def _add_native_parts(tree: Path, commit: str) -> None:
    """Copy them if their sources are the same, or compile them; a tree without a compiler has none on both sides."""
    built = list((ROOT / NATIVE).glob("*.so"))
    if not git("diff", "--name-only", commit, "--", str(NATIVE), "setup.py"):
        for part in built:
            shutil.copy(part, tree / NATIVE)
    elif built:
        run_in(tree, ["setup.py", "-q", "build_ext", "--inplace", "--force"], 0)


# ---- planted bugs


def plant_all(tree: Path) -> list[str]:
    """Return a sentence for each planted bug that no longer applies, and a last line that counts them."""
    return run_in(tree, ["-m", "simulation.plant_all"], 0).splitlines()


def planted_in(tree: Path) -> list[str]:
    """Return the names of all planted bugs; of a commit that cannot list them, none."""
    try:
        return run_in(tree, ["-m", "simulation.plant_all", "--names"], 0).splitlines()
    except CannotCompare:
        return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE", help="a commit")
    parser.add_argument("--seeds", type=int, default=80)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    if asked.seeds < 1 or asked.jobs < 1:
        parser.error("--seeds and --jobs take a whole number from 1 on")
    try:
        return compare(asked.base, asked.seeds, asked.jobs)
    except CannotCompare as error:
        print(f"same_protocol: {error}", file=sys.stderr)
        return 2


def compare(base: str, seeds: int, jobs: int) -> int:
    tree = worktree(base)
    tool = blake2b(HASHES.read_bytes(), digest_size=4).hexdigest()
    kept = tree / "build" / f"hashes-{seeds}-{tool}.json"
    kept.parent.mkdir(exist_ok=True)
    print(f"{seeds} seeds of {base} ({tree.name}) and of this tree ...", flush=True)
    before = dict(json.loads(kept.read_text())) if kept.exists() else hashes_in(tree, seeds, jobs, kept)
    different: dict[int, None] = {}
    for hash_seed in HASH_SEEDS:
        after = hashes_in(ROOT, seeds, jobs, kept.with_name("here.json"), hash_seed)
        names = differences(before, after)
        print(f"hash seed {hash_seed}: {len(after) - len(names)} of {len(after)} hashes are equal", *names, sep="\n  ")
        different |= dict.fromkeys(int(name.split()[1]) for name in names)
    for seed in list(different)[:SHOWN]:
        print(first_difference(ROOT, tree, seed))
    *lost, count = plant_all(ROOT)
    kept_bugs = planted_in(ROOT)
    lost += [f"the planted bug {name!r} of {base} is gone" for name in planted_in(tree) if name not in kept_bugs]
    print(*lost, count, sep="\n")
    return 1 if different or lost else 0


if __name__ == "__main__":
    sys.exit(main())
