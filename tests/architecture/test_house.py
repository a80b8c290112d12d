"""Small rules of the house that a glance would miss: docstrings, tiers, locks, and no path of anybody's machine."""

import ast
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# Too common to tell a machine by; a checkout under one of these is not looked for.
COMMON_PLACES = {"/", "/tmp", "/var/tmp", "/home", "/usr", "/usr/src", "/opt", "/srv", "/mnt"}


def committed_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("this is not a git checkout, so there is no list of committed files")
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def modules_without_docstring(package: Path) -> list[str]:
    written = [file for file in sorted(package.rglob("*.py")) if file.read_text().strip()]
    return [str(file.relative_to(package)) for file in written if not ast.get_docstring(ast.parse(file.read_text()))]


def machine_paths(places: set[Path], files: list[Path]) -> list[str]:
    words = [f"{place}/".encode() for place in places if str(place) not in COMMON_PLACES]
    return [f"{file.name} contains {word.decode()}" for file in files for word in words if word in file.read_bytes()]


def directories_outside_tiers(tests: Path, tiers: list[str]) -> list[str]:
    holding = {file.relative_to(tests.parent).parts[:2] for file in tests.rglob("test_*.py")}
    return sorted(name for parts in holding if (name := "/".join(parts)) not in tiers)


def test_every_module_says_what_it_is() -> None:
    assert modules_without_docstring(ROOT / "src") == []


def test_a_module_that_does_not_is_caught(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text("x = 1\n")
    (tmp_path / "spoken.py").write_text('"""What it is."""\n')
    assert modules_without_docstring(tmp_path) == ["silent.py"]


def test_no_committed_file_names_a_place_of_this_machine() -> None:
    assert machine_paths({ROOT.parent, Path.home()}, committed_files()) == []


def test_a_path_of_a_machine_is_caught_and_a_common_place_is_not(tmp_path: Path) -> None:
    file = tmp_path / "note.md"
    file.write_text("see /srv/ann/ringcast and /tmp/x")
    assert machine_paths({Path("/srv/ann"), Path("/tmp"), Path("/srv/bob")}, [file]) == ["note.md contains /srv/ann/"]


def test_every_directory_with_tests_is_a_tier_that_runs() -> None:
    assert directories_outside_tiers(ROOT / "tests", PYPROJECT["tool"]["pytest"]["ini_options"]["testpaths"]) == []


def test_a_directory_that_would_never_run_is_caught(tmp_path: Path) -> None:
    for directory in ("unit/deep", "attic"):
        (tmp_path / "tests" / directory).mkdir(parents=True)
        (tmp_path / "tests" / directory / "test_x.py").touch()
    assert directories_outside_tiers(tmp_path / "tests", ["tests/unit"]) == ["tests/attic"]


@pytest.mark.parametrize("lock", ["build.txt", "core.txt", "all.txt", "image.txt"])
def test_a_lock_pins_by_version_and_hash_and_names_no_index(lock: str) -> None:
    text = (ROOT / "locks" / lock).read_text()
    requirements = [line for line in text.splitlines() if line and line[0] not in "# "]
    assert requirements
    assert all("==" in line and line.endswith("\\") for line in requirements)
    assert "://" not in text and "--index" not in text and "--find-links" not in text
