"""Budgetron on Ray: one model learned in shards, and a fleet whose buckets are in actors.

A sweep on Ray is `budgetron compare --backend ray`. To score a table use
`dataset.map_batches(budgetron.scoring.Scorer(model))`: docs/guide/ray.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

from budgetron.engines.buckets import SpreadFleet
from budgetron.engines.ray_engine import RayEngine
from budgetron.engines.training import learn_in_shards

__all__ = ["fleet", "load_fleet", "train"]

Model = TypeVar("Model")


def train(
    model: Model,
    dataset: Any,
    label: str,
    *,
    features: Sequence[str] | None = None,
    workers: int | None = None,
    merge_every: int | None = None,
) -> Model:
    """Let a model learn a dataset of `ray.data`, in shards that are merged.

    As `budgetron.dask.train`: the same rounds, and the same model to the bit for the same rows in
    the same order. The dataset is materialised in Ray's object store first, which spills to disk.

    Parameters
    ----------
    model : an estimator that can be merged; it learns in place
    dataset : ray.data.Dataset; blocks are learned in order
    label : column of the labels
    features : columns; None: all others
    workers : parts of a round; None: one per processor of the cluster
    merge_every : rows between two merges; None: 200 per example of the budget, at least 20,000

    Returns
    -------
    model : the same object

    Examples
    --------
    >>> import ray, budgetron.ray  # doctest: +SKIP
    >>> model = budgetron.make("budgetron", budget=100)  # doctest: +SKIP
    >>> budgetron.ray.train(model, ray.data.read_parquet("rows/"), "y")  # doctest: +SKIP
    """
    engine = RayEngine.opened(None, None)
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        blocks = iter(dataset.to_pandas_refs())
    finally:
        options.preserve_order = before
    return learn_in_shards(
        model, engine, blocks, label, features=features, workers=workers, every=merge_every
    )


def fleet(**settings: Any) -> SpreadFleet:
    """Make a fleet whose buckets are in Ray actors, which reserve no processor.

    Parameters
    ----------
    **settings : of `budgetron.engines.buckets.SpreadFleet` (buckets, actors, snapshot_rows, memory)
        and of `budgetron.Fleet`

    Examples
    --------
    >>> fleet = budgetron.ray.fleet(buckets=8, memory="1GB", classes=[0, 1])  # doctest: +SKIP
    >>> fleet.learn(keys, X, y)  # doctest: +SKIP
    """
    return SpreadFleet(RayEngine.opened(None, None), **settings)


def load_fleet(folder: str | os.PathLike[str], **more: Any) -> SpreadFleet:
    """Load the fleet that `SpreadFleet.save` wrote to a folder, there or on another engine.

    Parameters
    ----------
    folder : that of `SpreadFleet.save`
    **more : settings of `budgetron.engines.buckets.SpreadFleet` that may differ (actors,
        snapshot_rows)

    Examples
    --------
    >>> fleet = budgetron.ray.load_fleet("kept")  # doctest: +SKIP
    """
    return SpreadFleet.load(folder, RayEngine.opened(None, None), **more)
