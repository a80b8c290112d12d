"""One Spark session for all pipeline tests: starting one costs more than most of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs pyspark: pip install 'ringcast[pipeline]'")

from ringcast.pipeline.java import JavaNotFound
from ringcast.pipeline.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
ENVIRONMENT = dict(os.environ)  # before a session was started here
_SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.memory": "1g",
}


@pytest.hookimpl(tryfirst=True)  # before `-m` is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file with a test on Spark runs with the one session (`-m spark`); the others run beside what is pure."""
    here = [item for item in items if item.path.parent == HERE]
    with_spark = {item.path for item in here if "spark" in getattr(item, "fixturenames", ())}
    for item in here:
        if item.path in with_spark:
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    try:
        with spark_session("local[2]", _SMALL) as session:
            yield session
    except JavaNotFound as error:
        pytest.skip(str(error))
