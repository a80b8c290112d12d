"""The pytest fixture, used as a user would: on the example, on many seeds, and on a service with a mistake."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "test_replicated_store.py"

FORGETFUL = """
from unit.testing.stores import Forgetful

def test_it(ringcast_world):
    world = ringcast_world(Forgetful, members=3)
    world.isolate("A")
    world.advance(5)
    world.do("A", world.apps["A"].put("x", "1"))
    world.heal()
    world.settle()
    world.same(lambda app: app.data)
"""

CARELESS = """
from job_owners import JobOwners
from test_job_owners import check_that_every_job_counts_once

class Careless(JobOwners):
    def free(self, members):
        pass  # the mistake: who is gone keeps its keys

def test_every_job_counts_once(ringcast_world):
    check_that_every_job_counts_once(ringcast_world(Careless, members=4, partition="primary"))
"""

BROKEN = """
from ringcast.sim.planted import KNOWN, plant
from unit.testing.stores import Log

def test_it(ringcast_world):
    world = ringcast_world(Log, members=3)
    with plant(next(bug for bug in KNOWN if bug.name == "purge without the silent member")):
        world.fault("mute", "C")
        world.do("A", world.apps["A"].say("x"))
        world.advance(0.3)
        world.heal()
        world.advance(1)
"""


def run_pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process and a directory of its own, with the plugin named, whether its entry point is installed or not."""
    plugin = ["-p", "no:ringcast", "-p", "ringcast.pytest_plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "--rootdir", str(directory), *arguments]
    env = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}:{EXAMPLE.parent}", "PATH": ""}
    return subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, check=False)


def test_the_example_holds_on_several_seeds(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, str(EXAMPLE), "--ringcast-seeds", "3", "--import-mode=importlib")
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def test_a_mistake_of_the_service_is_shown_with_the_seed_and_the_story(tmp_path: Path) -> None:
    (tmp_path / "test_forgetful.py").write_text(FORGETFUL)
    done = run_pytest(tmp_path, "--ringcast-seed", "17")
    assert done.returncode == 1
    assert "test_it[seed=17]" in done.stdout
    assert "A holds {'x': '1'}; B, C hold {}" in done.stdout
    assert "replay: pytest --ringcast-seed 17 test_forgetful.py::test_it[seed=17]" in done.stdout
    assert "begins: isolate A" in done.stdout


def test_a_mistake_that_needs_a_crash_at_the_wrong_moment_is_found_among_a_few_seeds(tmp_path: Path) -> None:
    (tmp_path / "test_careless.py").write_text(CARELESS)
    done = run_pytest(tmp_path, "--ringcast-seeds", "50", "--exitfirst")
    assert done.returncode == 1
    assert "test_every_job_counts_once[seed=" in done.stdout and "Right contains" in done.stdout
    assert "replay: pytest --ringcast-seed" in done.stdout


def test_a_broken_guarantee_fails_the_test_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text(BROKEN)
    done = run_pytest(tmp_path)
    assert done.returncode == 1
    assert "Violated: G3" in done.stdout


def test_the_plugin_is_light_until_a_world_is_asked_for() -> None:
    rooms = "('ringcast.testing', 'ringcast.core', 'ringcast.runtime')"
    code = f"import sys, ringcast.pytest_plugin as _; print([room for room in {rooms} if room in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
