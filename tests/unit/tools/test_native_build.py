"""The native build is optional at installation and strict for `make native`; it is tried on a real small extension."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOUND = """
#include <Python.h>
#include "answer.h"
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_probe", NULL, -1, NULL, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__probe(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module) PyModule_AddIntConstant(module, "answer", ANSWER);
    return module;
}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    native = tmp_path / "src" / "ringcast" / "native"
    native.mkdir(parents=True)
    shutil.copy(ROOT / "setup.py", tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "ringcast"\nversion = "0"\n')
    for room in (native.parent, native):
        (room / "__init__.py").touch()
    (native / "answer.h").write_text("#define ANSWER 42\n")
    (native / "answer.c").write_text("not built alone, so this may be anything")
    (native / "_probe.c").write_text(SOUND)
    return tmp_path


def python(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    everything = {**os.environ, "PYTHONPATH": str(checkout / "src"), **environment}
    return subprocess.run(
        [sys.executable, *arguments], cwd=checkout, env=everything, capture_output=True, text=True, check=False
    )


def answer(checkout: Path) -> str:
    return python(checkout, "-c", "from ringcast.native._probe import answer; print(answer)").stdout.strip()


def break_source(checkout: Path) -> None:
    (checkout / "src" / "ringcast" / "native" / "_probe.c").write_text("this is not C\n")


@pytest.mark.needs("compiler")
def test_each_underscored_source_becomes_a_module_and_a_changed_header_rebuilds_it(checkout: Path) -> None:
    assert python(checkout, "setup.py", "-q", "build_ext", "--inplace").returncode == 0
    assert answer(checkout) == "42"
    (checkout / "src" / "ringcast" / "native" / "answer.h").write_text("#define ANSWER 43\n")
    assert python(checkout, "tools/build_native.py").returncode == 0
    assert answer(checkout) == "43"


@pytest.mark.needs("compiler")
def test_a_source_that_does_not_compile_leaves_the_installation_standing(checkout: Path) -> None:
    break_source(checkout)
    assert python(checkout, "setup.py", "-q", "build_ext", "--inplace").returncode == 0
    assert answer(checkout) == ""


@pytest.mark.needs("compiler")
def test_make_native_fails_on_it_and_shows_what_the_compiler_said(checkout: Path) -> None:
    break_source(checkout)
    build = python(checkout, "tools/build_native.py")
    assert build.returncode == 1
    assert "_probe.c:1" in build.stdout
    assert build.stderr == "The compiler refused the native sources; its words stand above.\n"


def test_without_a_compiler_the_build_is_skipped_and_make_native_says_what_to_install(checkout: Path) -> None:
    no_compiler = {"CC": "no-such-compiler"}
    assert python(checkout, "setup.py", "-q", "build_ext", "--inplace", **no_compiler).returncode == 0
    build = python(checkout, "tools/build_native.py", **no_compiler)
    assert build.returncode == 1
    assert build.stderr == "There is no C compiler (no-such-compiler). On Debian: apt-get install gcc\n"
