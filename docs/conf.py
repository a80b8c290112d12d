"""How Sphinx makes the site from these pages: `make docs` (decision 0186)."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from ringcast import __version__  # noqa: E402

project = "ringcast"
copyright = "the ringcast authors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # transcripts and drawings that are in no language

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}
default_role = "code"  # our docstrings write `names` as Markdown does

html_theme = "furo"
html_title = f"ringcast {release}"
html_static_path: list[str] = []
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

# External addresses are not asked by `make docs`, which needs no network: `make docs-links` does.
linkcheck_ignore = [
    r"http://127\.0\.0\.1",
    r"http://10\.",
    r"http://www\.jgroups\.org",
]


def source_link(app, docname, source):  # type: ignore[no-untyped-def]
    """Links to files that are no pages (examples, deploy, tests) are downloads of the site; a directory stands as text."""
    import os
    import re

    here = Path(app.srcdir, docname).parent

    def leads(found: "re.Match[str]") -> str:
        target = Path(os.path.normpath(here / found[2]))
        is_page = target.suffix == ".md" and target.is_relative_to(app.srcdir)
        if is_page or target.suffix in (".png", ".svg") or not target.exists():
            return found[0]
        words = found[1].strip("`")
        return f"`{words}`" if target.is_dir() else f"{{download}}`{words} <{found[2]}>`"

    source[0] = re.sub(r"(?<!!)\[([^]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)", leads, source[0])


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("source-read", source_link)
