"""A fleet that learns a stream on Spark: the operator, and the fleets in its checkpoint."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.fleet import Fleet
from budgetron.spark.missing import spark_module
from budgetron.spark.packing import PACKED, Columns, Packer
from budgetron.spark.processor import STATE, TOTALS, FleetProcessor

STORES = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def learn_fleet(
    stream: Any,
    fleet: Fleet,
    *,
    key: str,
    sequence: str,
    label: str,
    features: Sequence[str] | str,
    buckets: int = 16,
    output: str = "totals",
    remember: int = 1_000_000,
) -> Any:
    """Let a fleet learn a streaming DataFrame: one fleet per bucket of keys, exactly once.

    The hash of a key gives its bucket (`Fleet.bucket_of`), and each bucket is a fleet with its own
    shared model, which learns the bucket's rows. Its state is in Spark's state store (RocksDB,
    which this function sets) and in the checkpoint of the query. Within a bucket, rows are learned
    in the order of their sequence numbers.

    Parameters
    ----------
    stream : a streaming DataFrame
    fleet : the start of each bucket; its memory is that of one bucket. If it has learned, each
        bucket starts with the shared model and its own keys. The object does not change
    key : column of the keys: text, whole numbers, times
    sequence : column of whole numbers that grow with the rows of a key: an offset, a counter, a
        time. A row whose number is not above the last one of its key is a repeat or too late: it
        is counted as repeated and not learned
    label : column of the labels. A row without key, number or label, with a label that is not one
        of the fleet's classes, or with an infinite feature is counted as bad and not learned
    features : columns of numbers; or one column with an array of numbers per row. A null is a
        missing value if the fleet takes them (``scale="auto"``), else the row is bad
    buckets : at least the number of processors. It is fixed for a checkpoint
    output : "totals": after each micro-batch, one row per bucket that had rows, with its counts so
        far: ``bucket``, ``rows`` learned, ``mistakes``, ``repeated``, ``bad``, ``batches``,
        ``keys``, ``state_bytes``. "rows": one row per row learned, with key, sequence number, label
        and the ``prediction`` from before it was learned
    remember : number of keys per bucket whose last sequence number is kept, 32 bytes each

    Returns
    -------
    DataFrame : for ``writeStream`` in output mode "update", with a ``checkpointLocation``

    Raises
    ------
    BudgetronError
        If PySpark is not installed, a column is not there, or an argument is not valid.

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.spark import learn_fleet
    >>> fleet = budgetron.Fleet("budgetron", memory="100MB", classes=[0, 1])
    >>> totals = learn_fleet(
    ...     stream, fleet, key="user", sequence="offset", label="y", features=["a", "b"]
    ... )  # doctest: +SKIP
    >>> query = totals.writeStream.outputMode("update").foreachBatch(keep).option(
    ...     "checkpointLocation", "checkpoint"
    ... ).start()  # doctest: +SKIP
    """
    spark_module()
    columns = Columns(
        key, sequence, label, features if isinstance(features, str) else tuple(features)
    )
    missing = [name for name in columns.names if name not in stream.columns]
    if missing:
        there = ", ".join(stream.columns)
        raise BudgetronError(f"the stream has no column {missing[0]!r}; it has {there}")
    if not columns.features:
        raise BudgetronError("features=[]: name at least one column")
    if output not in ("totals", "rows"):
        raise BudgetronError(f'output={output!r} must be "totals" or "rows"')
    for name, value in (("buckets", buckets), ("remember", remember)):
        if not isinstance(value, int) or not 1 <= value < 2**31:
            raise BudgetronError(f"{name}={value!r} must be a whole number, 1 at least")
    if fleet.task != "classification":
        raise BudgetronError("a fleet on Spark learns classes, not numbers")
    if fleet.file is not None:
        raise BudgetronError("a fleet on Spark keeps no file: give it more memory or buckets")
    session = stream.sparkSession
    session.conf.set(STORES, ROCKSDB)
    width = fleet.n_features_in_ if fleet.n_seen_ else None
    packer = Packer(columns, fleet.classes_.tolist(), buckets, gaps=_takes_gaps(fleet), width=width)
    packed = stream.select(*columns.names).mapInArrow(packer, PACKED)
    if fleet.n_seen_:
        parts = [(each.number, fleet.to_bytes(each)) for each in fleet.buckets(buckets)]
        first = session.createDataFrame(parts, "bucket int, fleet binary").groupBy("bucket")
        fresh = _unlearned(fleet)
    else:
        first, fresh = None, copy.deepcopy(fleet)
    schema = TOTALS if output == "totals" else _schema_of_rows(stream, columns)
    processor = FleetProcessor(fresh, columns, output, remember)
    return packed.groupBy("bucket").transformWithStateInPandas(
        processor, schema, "Update", "None", first
    )


def fleets(session: Any, checkpoint: str | os.PathLike[str]) -> dict[int, Fleet]:
    """The fleets in the checkpoint of a query of `learn_fleet`: bucket -> fleet.

    These are the fleets of the last committed micro-batch; the query may be running. The fleet of a
    key is ``found[fleet.bucket_of([key], buckets)[0]]`` with any fleet of them. A bucket that has
    learned nothing yet is missing.

    Parameters
    ----------
    session : a SparkSession
    checkpoint : the ``checkpointLocation`` of the query

    Examples
    --------
    >>> from budgetron.spark import fleets
    >>> found = fleets(spark, "checkpoint")  # doctest: +SKIP
    """
    spark_module()
    session.conf.set(STORES, ROCKSDB)
    reader = session.read.format("statestore").option("stateVarName", STATE)
    rows = reader.load(os.fspath(checkpoint)).select("key.bucket", f"value.{STATE}").collect()
    parts = {int(row[0]): row[1] for row in rows if row[1] is not None}
    return {bucket: Fleet.from_bytes(bytes(parts[bucket])) for bucket in sorted(parts)}


def _unlearned(fleet: Fleet) -> Fleet:
    """A new fleet with the same settings."""
    names = ("algorithm", "memory", "budget", "shared", "half_life", "caution", "random_state")
    settings = {name: getattr(fleet, name) for name in names}
    return Fleet(classes=fleet.classes_, **settings, **fleet.parameters)


def _takes_gaps(fleet: Fleet) -> bool:
    return bool(fleet.parameters.get("scale", getattr(fleet._made, "scale", None)) == "auto")


def _schema_of_rows(stream: Any, columns: Columns) -> Any:
    """Key and label as in the stream, the number as a long, the prediction like the label."""
    types = spark_module("pyspark.sql.types")
    kinds = {field.name: field.dataType for field in stream.schema.fields}
    return types.StructType(
        [
            types.StructField(columns.key, kinds[columns.key]),
            types.StructField(columns.sequence, types.LongType()),
            types.StructField(columns.label, kinds[columns.label]),
            types.StructField("prediction", kinds[columns.label]),
        ]
    )
