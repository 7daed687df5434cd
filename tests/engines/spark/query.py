"""A query with which a fleet learns, in a process that tests may kill: `python -m ... FOLDER`.

FOLDER has `rows/*.parquet`, one file per micro-batch. The query writes `totals/N.json` for each
micro-batch N, and at the end `state.json`: the bytes of the state of every bucket, as digests.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import budgetron
from budgetron.spark import fleets, learn_fleet
from tests.engines.spark.session import session

BUCKETS = 4
FEATURES = ["a", "b", "c"]
SCHEMA = "user string, number long, y string, a double, b double, c double"


def made() -> budgetron.Fleet:
    """The initial fleet of each bucket."""
    return budgetron.Fleet(
        "budgetron", memory="2MB", classes=["buys", "leaves"], shared=30, budget=4
    )


def digest(data: bytes | bytearray) -> str:
    """A short digest of bytes."""
    return hashlib.sha256(data).hexdigest()


def main(folder: Path) -> None:
    """Learn all rows that are there, from where the last process stopped."""
    spark = session(folder)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    names = {"key": "user", "sequence": "number", "label": "y", "features": FEATURES}
    totals = learn_fleet(stream.parquet(str(folder / "rows")), made(), buckets=BUCKETS, **names)
    (folder / "totals").mkdir(exist_ok=True)

    def keep(frame: Any, number: int) -> None:
        rows = {row["bucket"]: row.asDict() for row in frame.collect()}
        path = folder / "totals" / f"{number}.json"
        path.with_suffix(".new").write_text(json.dumps(rows))
        os.replace(path.with_suffix(".new"), path)

    query = (
        totals.writeStream.outputMode("update")
        .foreachBatch(keep)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    reader = spark.read.format("statestore").option("stateVarName", "fleet")
    state = {}
    for row in reader.load(str(folder / "checkpoint")).select("key.bucket", "value.*").collect():
        state[row["bucket"]] = {
            name: digest(value) if isinstance(value, bytes | bytearray) else value
            for name, value in row.asDict().items()
        }
    found = fleets(spark, folder / "checkpoint")
    for bucket, fleet in found.items():
        state[bucket]["read"] = digest(fleet.to_bytes())
    (folder / "state.json").write_text(json.dumps(state))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
