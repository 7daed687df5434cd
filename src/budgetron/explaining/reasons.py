"""Why a model decided as it did: how far each column moved the decision, and stored examples.

A column's move is f(x) minus f of the row in which all features of that column are their means over
the stream, the others unchanged. The means are those that the model keeps to scale its rows; a
model that does not scale (scale=None) keeps none, and the means of its stored examples are used.

f is counted towards the prediction: beyond two classes as the lead over the next class, in
regression as the prediction itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from budgetron._csr import SparseRows, sparse_rows
from budgetron.estimators._base.explanation import Explanation
from budgetron.explaining.columns import Floats, Known
from budgetron.explaining.text import as_text
from budgetron.tables.codings import Cell

CUT = 4 * (1 - 1e-6)  # units from the centre: scale="auto" clips values there


@dataclass(frozen=True)
class Move:
    """How a column moved a decision.

    Attributes
    ----------
    column, value : its name, and what it held
    change : change of f towards the prediction, or of a regressor's prediction
    changes : change of each output of the model, in the order of its classes
    share : part of f towards the prediction from its features without any example, in the straight
        part of a learner that has one; else 0
    shares : share in each output
    """

    column: str
    value: Any
    change: float
    changes: list[float]
    share: float
    shares: list[float]


@dataclass(frozen=True)
class Example:
    """A stored example behind a decision.

    Attributes
    ----------
    round : number of rows that had been learned before it
    similarity : kernel value between it and the row
    share : share of f towards the prediction
    shares : share in each output
    values : what its columns held, by name; None is a gap
    """

    round: int
    similarity: float
    share: float
    shares: list[float]
    values: dict[str, Cell]


@dataclass(frozen=True)
class Reason:
    """Why a model decided as it did for one row; its text is a table of at most 80 characters.

    Attributes
    ----------
    row : its number among the given rows, or its name
    prediction : a label, or a number
    probability : probability of the predicted class; None in regression
    decision : f towards the prediction, or the prediction
    against : beyond two classes, the next class; of two, the other; else None
    moves : moves of the columns, the largest first
    examples : stored examples with the largest shares; none if the learner stores none
    n_examples : number of stored examples
    constant : the part that comes from neither columns nor examples: all shares and it sum to
        `decision`. In regression it includes the centre of the targets; None for a learner that
        stores no examples
    """

    row: Any
    prediction: Any
    probability: float | None
    decision: float
    against: Any
    moves: list[Move]
    examples: list[Example]
    n_examples: int
    constant: float | None

    def to_dict(self) -> dict[str, Any]:
        """The reason as plain data, for JSON."""
        return {
            **{
                name: getattr(self, name)
                for name in ("row", "prediction", "probability", "decision", "against")
            },
            "columns": [vars(each) for each in self.moves],
            "examples": [vars(each) for each in self.examples],
            "n_examples": self.n_examples,
            "constant": self.constant,
        }

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__


@dataclass
class Explainer:
    """Explains the decisions of a fitted estimator by its columns.

    Parameters
    ----------
    estimator : an estimator of this package
    columns : the columns of its features
    examples : largest number of stored examples in a reason
    """

    estimator: Any
    columns: Sequence[Known]
    examples: int = 3
    _features: NDArray[np.int64] = field(init=False)  # of all columns; arrays are in their order
    _units: tuple[Floats, Floats] = field(init=False)
    _means: Floats = field(init=False)

    def __post_init__(self) -> None:
        all_of_them = [each.features for each in self.columns]
        self._features = np.unique(np.concatenate([np.zeros(0, np.int64), *all_of_them]))
        centres, sizes, means = self.estimator._deciding.units(self._features.astype(np.int32))
        self._units = centres, sizes
        unknown = np.isnan(means)
        if unknown.any():
            means[unknown] = self._stored_means()[unknown]
        self._means = means

    def _places(self, column: Known) -> NDArray[np.intp]:
        """The positions of a column's features among those of all."""
        return np.searchsorted(self._features, column.features)

    def reasons(
        self, X: Any, raw: Sequence[dict[str, Any]] | None = None, first: int = 0
    ) -> list[Reason]:
        """The reason for each row.

        Parameters
        ----------
        X : rows that the estimator has checked (`_rows`), an array or CSR
        raw : what the columns of each row held, by name, if known
        first : number of the first row
        """
        rows = scipy.sparse.csr_array(X)
        rows = scipy.sparse.csr_array(
            (rows.data, rows.indices, rows.indptr),
            shape=(rows.shape[0], max(rows.shape[1], self.estimator.n_features_in_)),
        )
        known: Sequence[dict[str, Any]] = [{}] * rows.shape[0] if raw is None else raw
        return [self._reason(first + i, rows[[i]], cells) for i, cells in enumerate(known)]

    def _reason(self, number: int, x: Any, raw: dict[str, Any]) -> Reason:
        estimator = self.estimator
        columns = self.columns
        outputs = self._outputs(self._with_means(x, columns))
        lead, prediction, probability, against = self._read(x, outputs[0])
        changes = outputs[0] - outputs[1:]
        leads = changes @ lead
        order = np.argsort(-np.abs(leads), kind="stable")
        row = x[:, self._features].toarray()[0]
        why = estimator._explained(self._checked(x)) if estimator._stores_examples else None
        straight, constant = self._straight(why, len(lead))
        moves = [
            Move(
                columns[i].name,
                _told(raw[columns[i].name])
                if columns[i].name in raw
                else self._held(columns[i], row),
                float(leads[i]),
                changes[i].tolist(),
                float(straight[i] @ lead),
                straight[i].tolist(),
            )
            for i in order.tolist()
        ]
        return Reason(
            row=number,
            prediction=prediction,
            probability=probability,
            decision=float(outputs[0] @ lead),
            against=against,
            moves=moves,
            examples=[] if why is None else self._behind(why, lead),
            n_examples=0 if why is None else len(why.rounds),
            constant=None if why is None else float(constant @ lead),
        )

    def _straight(self, why: Explanation | None, outputs: int) -> tuple[Floats, Floats]:
        """The part of each column's features in every output without examples, and the rest."""
        shares = np.zeros((len(self.columns), outputs))
        if why is None:
            return shares, np.zeros(outputs)
        constant = why.decision - why.shares.sum(axis=0)
        if why.straight is not None and len(why.features):
            width = self.estimator.n_features_in_
            features = why.features % width if self._flags else why.features
            for i, each in enumerate(self.columns):
                shares[i] = why.straight[np.isin(features, each.features)].sum(axis=0)
        return shares, constant - shares.sum(axis=0)

    @property
    def _flags(self) -> bool:
        return bool(self.estimator._engine.preparation.flags)

    # ---- moves -------------------------------------------------------------------------------

    def _with_means(self, x: Any, columns: Sequence[Known]) -> Any:
        """The row, and below it the row with each column's features at their means."""
        width = x.shape[1]
        indices, values, ends = [x.indices], [x.data], [x.nnz]
        for each in columns:
            kept = ~np.isin(x.indices, each.features)
            means = self._means[self._places(each)]
            new = each.features[means != 0]
            places = np.concatenate([x.indices[kept], new])
            numbers = np.concatenate([x.data[kept], means[means != 0]])
            order = np.argsort(places, kind="stable")
            indices.append(places[order])
            values.append(numbers[order])
            ends.append(ends[-1] + len(places))
        parts = (np.concatenate(values), np.concatenate(indices), np.array([0, *ends]))
        return scipy.sparse.csr_array(parts, shape=(len(ends), width))

    def _outputs(self, rows: Any) -> Floats:
        outputs: Floats = self.estimator._answer(self._checked(rows))[0]
        return outputs

    def _checked(self, rows: Any) -> SparseRows:
        """Rows as the compiled model reads them; `reasons` only takes checked ones."""
        return sparse_rows(rows.astype(self.estimator._engine.dtype))

    def _read(self, x: Any, outputs: Floats) -> tuple[Floats, Any, float | None, Any]:
        """The direction of f towards the prediction, the prediction, its probability, the other."""
        classes = getattr(self.estimator, "classes_", None)
        if classes is None:
            return np.ones(1), float(outputs[0]), None, None
        labels = classes.tolist()
        lead = np.zeros(len(outputs))
        other = None
        if len(outputs) == 1:
            code = int(outputs[0] >= 0) if len(labels) > 1 else 0
            lead[0] = 1.0 if code or len(labels) == 1 else -1.0
            other = labels[1 - code] if len(labels) > 1 else None
        else:
            code = int(np.argmax(outputs))
            rest = np.where(np.arange(len(outputs)) == code, -np.inf, outputs)
            second = int(np.argmax(rest))
            lead[code], lead[second] = 1.0, -1.0
            other = labels[second]
        shares = self.estimator._answer(self._checked(x), probabilities=True)[0]
        return lead, labels[code], float(shares[0, code]), other

    # ---- examples ----------------------------------------------------------------------------

    def _behind(self, why: Explanation, lead: Floats) -> list[Example]:
        shares = why.shares @ lead
        order = np.argsort(-np.abs(shares), kind="stable")[: self.examples]
        stored = self._unscaled(why.examples[order])
        cut = self._cut(why.examples[order])
        return [
            Example(
                int(why.rounds[i]),
                float(why.kernels[i]),
                float(shares[i]),
                why.shares[i].tolist(),
                {each.name: self._held(each, values, lost) for each in self.columns},
            )
            for i, values, lost in zip(order.tolist(), stored, cut, strict=True)
        ]

    def _unscaled(self, examples: Any) -> Floats:
        """Stored examples in the units of the rows; NaN if a flag says that it was missing."""
        stored = _dense(examples[:, self._features])
        centres, sizes = self._units
        sizes = np.where(np.isinf(sizes), 0.0, sizes)
        values: Floats = sizes * stored.astype(float) + centres
        rounding = 16 * np.finfo(self.estimator._engine.dtype).eps * (np.abs(centres) + sizes)
        values[np.abs(values) <= rounding] = 0.0  # as it was before it was scaled
        if self._flags:
            flags = _dense(examples[:, self.estimator.n_features_in_ + self._features])
            values[flags != 0] = np.nan
        return values

    def _cut(self, examples: Any) -> NDArray[np.bool_]:
        """Which values of stored examples are clipped."""
        cut: NDArray[np.bool_] = np.abs(_dense(examples[:, self._features])) >= CUT
        return cut & (self.estimator.scale_ is not None)

    def _stored_means(self) -> Floats:
        if not self.estimator._stores_examples or not self.estimator.n_support_:
            return np.zeros(len(self._features))
        rows = _dense(self.estimator._shown_examples()[:, self._features])
        means: Floats = rows.mean(axis=0, dtype=np.float64)
        return means

    def _held(self, column: Known, values: Floats, cut: NDArray[np.bool_] | None = None) -> Cell:
        places = self._places(column)
        own = values[places]
        if cut is not None and cut[places].any():
            own = column.mended(own, cut[places])
        held = column.decode(own)
        if not isinstance(held, float):
            return held
        digits = 6 if self.estimator._engine.dtype == np.float32 else 12
        return float(f"{held:.{digits}g}")


def _dense(rows: Any) -> Any:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def _told(value: Any) -> Any:
    """What a cell held, for JSON; None for a gap."""
    if value is None or value != value:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float | str) else str(value)
