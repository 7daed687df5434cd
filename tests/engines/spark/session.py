"""A Spark session on two workers of this machine, each a process of its own with one core."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def session(folder: Path) -> Any:
    """A session of `local-cluster` with two workers; what it writes goes below `folder`."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_WORKER_DIR"] = str(folder / "work")
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("budgetron")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
