"""Sends this package to the workers of a cluster, so that they need Python, numpy, pyarrow and msgspec but no ringcast.

Only Python files go: what a task runs needs nothing native. A session that we start on a cluster ships by itself; with
a session of your own call `ship(spark)` once, or give `ringcast pack -o ringcast.zip` to `spark-submit --py-files`.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from ringcast._version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STAMP = (2020, 1, 1, 0, 0, 0)


def pack(path: Path) -> Path:
    """Write the package as a zip that Python can import from; the same files give the same bytes."""
    root = Path(__file__).parents[1]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.rglob("*.py")):
            name = zipfile.ZipInfo(f"ringcast/{file.relative_to(root).as_posix()}", _STAMP)
            archive.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return path


def ship(spark: SparkSession) -> None:
    """Make the package importable in every Python task of this session."""
    place = Path(tempfile.mkdtemp(prefix="ringcast-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)  # executors that come later fetch it from here
    spark.addArtifacts(str(pack(place / f"ringcast-{__version__}.zip")), pyfile=True)
