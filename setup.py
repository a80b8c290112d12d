"""What pyproject.toml cannot say of packaging: the native build, and the README with links that lead on from anywhere.

Every `src/ringcast/native/_NAME.c` becomes the module `ringcast.native._NAME`, described by `_NAME.pyi` beside it.
Other `.c` and `.h` files there are for inclusion and are never built alone; a change in any of them rebuilds.

Each extension is optional: where it cannot be compiled the installation succeeds and that module is missing.
RINGCAST_NATIVE=required lets the build fail instead (`make native`, and the wheels of `make wheels`);
RINGCAST_NATIVE=none leaves them out, and the wheel is a pure one, py3-none-any, and says so.
"""

import os
import re
import tomllib
from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("src/ringcast/native")


def extension(source: Path) -> Extension:
    included = sorted(str(path) for path in NATIVE.glob("*.[ch]") if path != source)
    return Extension(
        f"ringcast.native.{source.stem}",
        sources=[str(source)],
        depends=included,
        extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra"],
        optional=os.environ.get("RINGCAST_NATIVE") != "required",
    )


def readme() -> str:
    """The README as a package index shows it: links to files of this tree lead to the repository, if it has one."""
    home = tomllib.loads(Path("pyproject.toml").read_text())["project"].get("urls", {}).get("Repository")
    page = Path("README.md")
    text = page.read_text() if page.exists() else ""
    if home is None:
        return without_links(text) if text else ""
    absolute = re.sub(r"(!\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{home}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{home}/blob/main/", absolute)


def without_links(text: str) -> str:
    """Where nothing can be linked to, paths stand as text and pictures are left out."""
    text = re.sub(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*", "", text)

    def named(found: re.Match[str]) -> str:
        words, path = found[1], found[2].partition("#")[0]
        return words if words.rstrip("/") == path else f"{words} ({path})"

    text = re.sub(r"\[([^]]*)\]\((?!https?:|#)([^)]*)\)", named, text)
    return f"{text}\nPaths are those of the source archive.\n"


wanted = [] if os.environ.get("RINGCAST_NATIVE") == "none" else sorted(NATIVE.glob("_*.c"))
setup(
    ext_modules=[extension(source) for source in wanted],
    long_description=readme(),
    long_description_content_type="text/markdown",
)
