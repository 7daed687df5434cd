"""Budgetron on Dask: one model learned in shards, and a fleet whose buckets are in actors.

A sweep on Dask is `budgetron compare --backend dask`. To score a table use
`table.map_partitions(budgetron.scoring.Scorer(model))`: docs/guide/dask.md.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from budgetron.engines import imported
from budgetron.engines.buckets import SpreadFleet
from budgetron.engines.dask_engine import DaskEngine
from budgetron.engines.training import learn_in_shards

__all__ = ["fleet", "load_fleet", "train"]

Model = TypeVar("Model")
AHEAD = 2  # partitions read ahead, per worker


def train(
    model: Model,
    table: Any,
    label: str,
    *,
    features: Sequence[str] | None = None,
    workers: int | None = None,
    merge_every: int | None = None,
    client: Any = None,
) -> Model:
    """Let a model learn a Dask dataframe, in shards that are merged.

    The model learns the first 7,000 rows here; then `workers` tasks learn rounds of `merge_every`
    rows, which are merged, as in `budgetron run --workers` (docs/guide/merge.md). The result
    depends on the rows and their order, on `workers` and on `merge_every`; the number of machines,
    and which of them died, changes no bit.

    Parameters
    ----------
    model : an estimator that can be merged; it learns in place
    table : dask.dataframe; partitions are read in order, each once
    label : column of the labels
    features : columns; None: all others
    workers : parts of a round; None: one per thread of the cluster
    merge_every : rows between two merges; None: 200 per example of the budget, at least 20,000
    client : a `distributed` client; None: the current one, else processes of this machine

    Returns
    -------
    model : the same object

    Examples
    --------
    >>> import dask.dataframe as dd, budgetron.dask  # doctest: +SKIP
    >>> model = budgetron.make("budgetron", budget=100)  # doctest: +SKIP
    >>> budgetron.dask.train(model, dd.read_parquet("rows/"), "y")  # doctest: +SKIP
    """
    engine = _engine(client)
    try:
        blocks = _partitions(engine, table, AHEAD * (workers or engine.count))
        return learn_in_shards(
            model, engine, blocks, label, features=features, workers=workers, every=merge_every
        )
    finally:
        engine.close()


def fleet(client: Any = None, **settings: Any) -> SpreadFleet:
    """Make a fleet whose buckets are in Dask actors.

    Parameters
    ----------
    client : of `distributed`; None: the one there is
    **settings : of `budgetron.engines.buckets.SpreadFleet` (buckets, actors, snapshot_rows, memory)
        and of `budgetron.Fleet`

    Examples
    --------
    >>> fleet = budgetron.dask.fleet(buckets=8, memory="1GB", classes=[0, 1])  # doctest: +SKIP
    >>> fleet.learn(keys, X, y)  # doctest: +SKIP
    """
    return SpreadFleet(_engine(client), **settings)


def load_fleet(folder: str | os.PathLike[str], client: Any = None, **more: Any) -> SpreadFleet:
    """Load the fleet that `SpreadFleet.save` wrote to a folder, there or on another engine.

    Parameters
    ----------
    folder : that of `SpreadFleet.save`
    client : of `distributed`; None: the one there is
    **more : settings of `budgetron.engines.buckets.SpreadFleet` that may differ (actors,
        snapshot_rows)

    Examples
    --------
    >>> fleet = budgetron.dask.load_fleet("kept")  # doctest: +SKIP
    """
    return SpreadFleet.load(folder, _engine(client), **more)


def _engine(client: Any) -> DaskEngine:
    """The engine of a client; of the current one; else of processes of this machine."""
    distributed = imported("dask", "distributed")
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            return DaskEngine.opened(None, None)
    return DaskEngine(client)


def _partitions(engine: DaskEngine, table: Any, ahead: int) -> Iterator[Any]:
    """References to the partitions; a few are read ahead."""
    waiting: deque[Any] = deque()
    for part in table.to_delayed():
        waiting.append(engine.computed(part))
        if len(waiting) > ahead:
            yield waiting.popleft()
    yield from waiting
