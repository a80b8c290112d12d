"""Set-up repeats only what changed, takes turns, and tells failures in words. pip and the compiler are stood in for."""

import fcntl
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"


class Stage:
    """A checkout in a temporary directory, and the list of what set-up ran in it."""

    def __init__(self, tool: ModuleType, root: Path) -> None:
        self.tool, self.root = tool, root
        self.ran: list[str] = []
        self.fails_at: str | None = None
        self.says = ""

    def run(self, *command: object) -> bool:
        line = " ".join(map(str, command))
        self.ran.append(line)
        if "-m venv" in line:
            self.write(".venv/bin/python", "")
        failed = self.fails_at is not None and self.fails_at in line
        with self.tool.LOG.open("a") as log:
            log.write(self.says if failed else "")
        return not failed

    def build_native(self, *, required: bool) -> bool:
        self.ran.append("native")
        self.write("src/ringcast/native/_probe.abi.so", "")
        return True

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def set_up(self, core: bool = False) -> list[str]:
        self.ran.clear()
        self.tool.main(native_asked=False, core=core)
        return [next(key for key in KEYS if key in line) for line in self.ran]


KEYS = ("-m venv", "import sys, pip", "build.txt", "core.txt", "all.txt", "-e .", "native", "classes")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.syspath_prepend(str(TOOLS))
    spec = importlib.util.spec_from_file_location("set_up", TOOLS / "set_up.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    stage = Stage(tool, tmp_path)
    for name in ("ROOT", "VENV", "VENV_PYTHON", "STAMP", "CACHE", "LOG", "NATIVE"):
        monkeypatch.setattr(tool, name, tmp_path / getattr(tool, name).relative_to(TOOLS.parent))
    monkeypatch.setattr(tool, "run", stage.run)
    monkeypatch.setattr(tool, "build_native", stage.build_native)
    locks = ("locks/build.txt", "locks/core.txt", "locks/all.txt")
    for name in (*locks, "pyproject.toml", "setup.py", "src/ringcast/native/_probe.c"):
        stage.write(name, "first")
    return stage


def test_a_fresh_checkout_gets_everything_and_a_second_set_up_does_nothing(stage: Stage) -> None:
    assert stage.set_up() == ["-m venv", "build.txt", "all.txt", "-e .", "native", "classes"]
    assert stage.set_up() == []


def test_without_an_archive_of_classes_there_is_a_notice_and_no_other_try(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.fails_at, stage.says = "pipeline.classes", "ringcast: Java left no archive of its classes: it said nothing\n"
    assert stage.set_up()[-1] == "classes"
    assert "Notice: ringcast: Java left no archive of its classes" in capsys.readouterr().out
    assert stage.set_up() == []


def test_the_core_alone_installs_only_its_lock_and_everything_adds_the_rest(stage: Stage) -> None:
    assert stage.set_up(core=True) == ["-m venv", "build.txt", "core.txt", "-e .", "native"]
    assert stage.set_up(core=True) == []
    assert stage.set_up() == ["import sys, pip", "build.txt", "all.txt", "classes"]
    assert stage.set_up(core=True) == [], "who has everything has the core"


@pytest.mark.parametrize(
    ("changed", "repeated"),
    [
        ("locks/all.txt", ["import sys, pip", "build.txt", "all.txt", "classes"]),
        ("pyproject.toml", ["import sys, pip", "-e ."]),
        ("setup.py", ["import sys, pip", "-e .", "native"]),
        ("src/ringcast/native/_probe.c", ["native"]),
        ("src/ringcast/native/ring.h", ["native"]),
    ],
)
def test_a_change_repeats_only_what_was_made_from_it(stage: Stage, changed: str, repeated: list[str]) -> None:
    stage.set_up()
    stage.write(changed, "second")
    assert stage.set_up() == repeated
    assert stage.set_up() == []


def test_a_compiled_part_that_was_removed_is_compiled_again(stage: Stage) -> None:
    stage.set_up()
    (stage.root / "src/ringcast/native/_probe.abi.so").unlink()
    assert stage.set_up() == ["native"]


def test_a_moved_checkout_gets_a_new_environment(stage: Stage) -> None:
    stage.set_up()
    stage.tool.remember("root", "/somewhere/else")
    assert stage.set_up()[0] == "-m venv"


def test_a_step_that_failed_is_tried_again_and_those_before_it_are_not(stage: Stage) -> None:
    stage.fails_at = "-e ."
    with pytest.raises(
        stage.tool.SetUpError, match=r"Installing ringcast itself failed\. The whole output is in \.cache/setup\.log"
    ):
        stage.set_up()
    stage.fails_at = None
    assert stage.set_up() == ["import sys, pip", "-e .", "native", "classes"]


def test_a_missing_network_is_named(stage: Stage) -> None:
    stage.fails_at, stage.says = "all.txt", "ERROR: Temporary failure in name resolution\n"
    with pytest.raises(stage.tool.SetUpError, match="could not be reached: is there a network"):
        stage.set_up()


def test_a_python_without_venv_names_the_package_that_has_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage.tool.debian, "may_install", lambda: False)
    stage.fails_at, stage.says = "-m venv", "ensurepip is not available\n"
    with pytest.raises(stage.tool.SetUpError) as failure:
        stage.set_up()
    assert str(failure.value).startswith(f"{sys.executable} cannot make a virtual environment.")
    assert str(failure.value).endswith("apt-get install python3-venv")


def test_two_set_ups_at_once_take_turns_and_the_second_finds_it_done(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.write(".cache/setup.lock", "")
    with (stage.root / ".cache/setup.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = threading.Thread(target=stage.tool.main, kwargs={"native_asked": False})
        waiting.start()
        while "waiting for it" not in capsys.readouterr().out:
            waiting.join(0.01)
        assert stage.ran == []
    waiting.join()
    assert stage.ran
    assert stage.set_up() == []
