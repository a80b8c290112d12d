"""The documentation site is made without a warning, and what is wrong in a page is one."""

import shutil
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def make_site(pages: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """As `make docs` does, without writing the pages."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dummy", str(pages), str(out)]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    done = make_site(DOCS, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


WRONG = {
    "[a](gone.md)": "'gone.md'",
    "[a](#not-here)": "'not-here'",
    "[a](index.md#not-there)": "'not-there'",
    "![a](gone.png)": "gone.png",
    "```{eval-rst}\n.. autofunction:: ringcast.jion\n```": "jion",
}


def test_what_is_wrong_in_a_page_is_caught(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    shutil.copy(DOCS / "conf.py", pages)
    (pages / "index.md").write_text("\n\n".join(["# Start", *WRONG, ""]))
    done = make_site(pages, tmp_path / "out")
    assert done.returncode == 1
    assert [says for says in WRONG.values() if says not in done.stderr] == []
