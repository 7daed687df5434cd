"""Rows and columns of River's models: rows are dicts, features have names.

A feature has the number that the model gave its name; an unknown name has none, and does not
affect the decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from budgetron.explaining.columns import Known, number, placed
from budgetron.tables.encoding import Encoding
from budgetron.tables.frames import table_of


def is_river(model: Any) -> bool:
    """Whether it is a learner of `budgetron.river`, or a pipeline of River that ends with one."""
    learner = _steps(model)[-1]
    return hasattr(learner, "_names") and hasattr(learner, "estimator")


def learner_of(model: Any) -> Any:
    """The estimator inside."""
    return _steps(model)[-1].estimator


def rows_of(model: Any, rows: Any) -> tuple[Any, list[Known]]:
    """The rows as the estimator inside takes them, CSR, and the columns of the features.

    Parameters
    ----------
    model : for which `is_river` holds
    rows : a frame, a dict of columns, or a list of dicts
    """
    *before, learner = _steps(model)
    names: Mapping[Any, int] = learner._names
    width = learner.estimator.n_features_in_
    values, indices, ends = [], [], [0]
    for row in _dicts(rows):
        for step in before:
            row = step.transform_one(row)
        found = {names[name]: float(each) for name, each in row.items() if name in names}
        kept = sorted(place for place in found if place < width)
        indices += kept
        values += [found[place] for place in kept]
        ends.append(len(indices))
    parts = (np.array(values, float), np.array(indices, np.int64), np.array(ends))
    X = scipy.sparse.csr_array(parts, shape=(len(ends) - 1, width))
    return X, _columns(before, names, width)


def column_lists(rows: Sequence[Mapping[Any, Any]]) -> dict[str, list[Any]]:
    """Rows that are dicts as a dict of columns; None where a row lacks one."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): [row.get(name) for row in rows] for name in names}


def _steps(model: Any) -> list[Any]:
    steps = getattr(model, "steps", None)
    return list(steps.values()) if isinstance(steps, Mapping) else [model]


def _dicts(rows: Any) -> Iterator[dict[Any, Any]]:
    if isinstance(rows, list):
        yield from rows
    else:
        yield from table_of(rows).to_pylist()


def _columns(before: Sequence[Any], names: Mapping[Any, int], width: int) -> list[Known]:
    encoding = getattr(before[-1], "_encoding", None) if before else None
    if not isinstance(encoding, Encoding):
        of_name = sorted(names.items(), key=lambda each: each[1])
        return [Known(str(name), np.array([at]), number) for name, at in of_name if at < width]
    columns = []
    for coding, start in zip(encoding.coded, encoding.starts, strict=False):
        features = encoding.features[start : start + coding.width]
        places = np.array([names.get(each, -1) for each in features], np.int64)
        places[places >= width] = -1
        columns.append(placed(coding, places))
    return columns
