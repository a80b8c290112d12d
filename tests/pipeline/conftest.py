"""One Spark session for all pipeline tests: starting one costs more than most of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs pyspark: pip install 'ringcast[pipeline]'")

from ringcast.pipeline.java import JavaNotFound
from ringcast.pipeline.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENVIRONMENT = dict(os.environ)  # before a session was started here
_SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.memory": "1g",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    try:
        with spark_session("local[2]", _SMALL) as session:
            yield session
    except JavaNotFound as error:
        pytest.skip(str(error))
