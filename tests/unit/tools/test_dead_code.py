"""What nothing uses is found; what the public face, a protocol or another file uses is not."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "tools" / "dead_code.py"


def dead(package: Path) -> list[str]:
    ran = subprocess.run([sys.executable, TOOL, package], capture_output=True, text=True, check=False)
    assert ran.returncode == bool(ran.stdout), ran
    return [line.split(" is used")[0] for line in ran.stdout.splitlines()]


def test_a_function_that_only_tests_would_call_is_found(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "__init__.py").write_text("from ringcast.core import Face\n")
    (tmp_path / "core" / "__init__.py").write_text("from ringcast.core.rule import unused\n__all__ = ['unused']\n")
    (tmp_path / "core" / "rule.py").write_text(
        "class Face:\n    def method(self): ...\n\ndef used(): ...\ndef unused(): ...\n\n"
        "class Rule:\n    def on_fact(self): ...\n"
    )
    (tmp_path / "core" / "other.py").write_text("used()\nRule()\n")
    assert dead(tmp_path) == ["core/rule.py:5: unused", "core/rule.py:8: on_fact"]
