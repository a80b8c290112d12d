"""The native build: the one part of packaging that pyproject.toml cannot say.

Every `src/ringcast/native/_NAME.c` becomes the module `ringcast.native._NAME`, described by `_NAME.pyi` beside it.
Other `.c` and `.h` files there are for inclusion and are never built alone; a change in any of them rebuilds.

Each extension is optional: where it cannot be compiled the installation succeeds and that module is missing.
With RINGCAST_NATIVE=required the build fails instead; `make native`, for use after a change, sets it.
"""

import os
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


setup(ext_modules=[extension(source) for source in sorted(NATIVE.glob("_*.c"))])
