"""The weight of a row: sample_weight and class_weight become one number per row.

A row of weight w moves f by w times as much: what the update adds for it is multiplied by w. What
does not depend on the row stays: decays, norm balls, BOGD's largest coef. A row of weight 0 counts
as if it had not come.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron._engine import Floats
from budgetron.errors import BudgetronError, as_budgetron_error

# Above this, squares of coefs overflow.
LARGEST = 1e100


def sample_weights(sample_weight: Any, count: int, *, some: bool = False) -> Floats | None:
    """One number from 0 to LARGEST per row, None if none were given; a scalar is for all rows.

    `some`: not all of them may be 0.
    """
    if sample_weight is None:
        return None
    try:
        with as_budgetron_error():  # text
            weights: Floats = np.ascontiguousarray(np.asarray(sample_weight, dtype=np.float64))
    except OverflowError:  # a large Python integer
        raise BudgetronError(f"a sample weight is not a number from 0 to {LARGEST:g}") from None
    if np.asarray(sample_weight).ndim == 0:
        weights = np.full(count, float(weights[0]))
    if weights.shape != (count,):
        raise BudgetronError(f"sample_weight has shape {weights.shape}, but there are {count} rows")
    _check(weights)
    if some and not weights.any():
        raise BudgetronError("Sample weights must contain at least one non-zero number.")
    return weights


def product(rows: Floats | None, classes: Floats) -> Floats:
    """The weights of rows times those of their classes."""
    if rows is None:
        return classes
    weights = rows * classes  # at most LARGEST squared
    _check(weights)
    return weights


def product_one(row: float, of_class: float) -> float:
    """The same for one row."""
    weight = row * of_class
    if weight > LARGEST:
        _check(np.array([weight]))
    return weight


def _check(weights: Floats) -> None:
    bad = ~((weights >= 0) & (weights <= LARGEST))
    if bad.any():
        value = weights[bad.argmax()]
        raise BudgetronError(f"sample weight {value:g} is not a number from 0 to {LARGEST:g}")


class ClassWeights:
    """The weights of labels as rows come.

    Parameters
    ----------
    rule : a weight for each label (others: 1), or "balanced": n_t / (K_t n_{y,t}), from
        the rows 1..t, the classes among them and the rows of the label y of row t
    """

    def __init__(self, rule: dict[Any, float] | str) -> None:
        if isinstance(rule, dict):
            for label, weight in rule.items():
                if not (isinstance(weight, Real) and 0 <= weight <= LARGEST):
                    raise BudgetronError(
                        f"class_weight[{label!r}]={weight!r} must be a number from 0 to {LARGEST:g}"
                    )
        self.rule = rule
        self.counts: dict[Any, int] = {}  # rows seen per label; only for "balanced"

    def check(self, classes: NDArray[Any]) -> None:
        """Raise BudgetronError if a named label is not one of these, which are all."""
        if isinstance(self.rule, dict):
            known = set(classes.tolist())
            for label in self.rule:
                if label not in known:
                    raise BudgetronError(
                        f"class_weight names {label!r}, which is not among the classes "
                        f"{classes.tolist()}"
                    )

    @property
    def counts_rows(self) -> bool:
        """Whether weights depend on the rows so far: "balanced"."""
        return not isinstance(self.rule, dict)

    @property
    def seen(self) -> int:
        """Rows counted so far."""
        return sum(self.counts.values())

    def of_one(self, label: Any) -> float:
        """The weight of a next row with this label; call `count` when it has come."""
        if isinstance(self.rule, dict):
            return float(self.rule.get(label, 1.0))
        before = self.counts.get(label, 0)
        classes = len(self.counts) + (before == 0)
        return (self.seen + 1) / (classes * (before + 1))

    def count(self, label: Any) -> None:
        """Count a row with this label."""
        if self.counts_rows:
            self.counts[label] = self.counts.get(label, 0) + 1

    def count_rows(self, y: NDArray[Any]) -> None:
        """Count rows with these labels."""
        if self.counts_rows:
            labels, numbers = np.unique(y, return_counts=True)
            for label, number in zip(labels.tolist(), numbers.tolist(), strict=True):
                self.counts[label] = self.counts.get(label, 0) + number

    def of_rows(self, y: NDArray[Any], counted: NDArray[np.bool_] | None = None) -> Floats:
        """The weights of the next rows; rows not `counted` are ignored.

        Changes nothing: call `count_rows` when the rows have come.
        """
        if isinstance(self.rule, dict):
            labels, codes = np.unique(y, return_inverse=True)
            return np.array([float(self.rule.get(v, 1.0)) for v in labels.tolist()])[codes]
        if counted is not None and not counted.all():
            weights = np.zeros(len(y))
            weights[counted] = self.of_rows(y[counted])
            return weights
        labels, firsts, codes, numbers = np.unique(
            y, return_index=True, return_inverse=True, return_counts=True
        )
        names = labels.tolist()
        before = np.array([self.counts.get(name, 0) for name in names], dtype=np.int64)
        # The number of rows of its label up to each row of this call.
        grouped = np.argsort(codes, kind="stable")
        starts = np.cumsum(numbers) - numbers
        own = np.empty(len(y), dtype=np.int64)
        own[grouped] = np.arange(len(y)) - np.repeat(starts, numbers) + 1
        joined = np.zeros(len(y), dtype=np.int64)
        joined[firsts[before == 0]] = 1
        seen = self.seen + np.arange(1, len(y) + 1)
        classes = len(self.counts) + np.cumsum(joined)
        weights = seen / (classes * (before[codes] + own))
        return np.asarray(weights, dtype=np.float64)
