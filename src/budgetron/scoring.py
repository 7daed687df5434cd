"""`Scorer`: predictions for the rows of a batch, a table in and a table out, for any engine.

Spark (`mapInArrow`), Ray (`ray.data.map_batches`), Dask (`map_partitions`) and a loop over a file
call the same object with the batches of a large table. It can be pickled: a worker gets the model
with it and needs no file. Columns are found by name if the model knows names: from its table
encoder, or from fitting.

A row costs as much as `predict`, and the same again for `probabilities` and for `decisions`.
May use fleets, model files and the layers below them.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError
from budgetron.fleet import Fleet
from budgetron.model_file import read
from budgetron.tables.frames import arrow, table_of

Array = NDArray[Any]


class Field(NamedTuple):
    """A column that a `Scorer` adds.

    Parameters
    ----------
    name : of the column
    kind : {"text", "whole", "boolean", "number"}

    Examples
    --------
    >>> from budgetron.scoring import Field
    >>> Field("probability_yes", "number").kind
    'number'
    """

    name: str
    kind: str


class Scorer:
    """Predicts each row of a batch; optionally with probabilities and decisions.

    Parameters
    ----------
    model : a fitted estimator, of this package or of scikit-learn, a Pipeline, a `Fleet`; or the
        path of a file of `budgetron.save`, `budgetron run --save` or `Fleet.save`. The file is
        read here, once: workers need not see it
    columns : names of the features, in the model's order; or the name of one column with an array
        of numbers per row. None: the names that the model knows. A model that was fitted on arrays
        knows none
    key : the column with the keys of a fleet
    probabilities : add one column ``probability_CLASS`` per class
    decisions : add a column ``decision``, or beyond two classes one ``decision_CLASS`` per class
    keep : columns of the batch to copy to the front of the answer

    Examples
    --------
    >>> from budgetron import BudgetronClassifier, TableEncoder
    >>> from budgetron.scoring import Scorer
    >>> from sklearn.pipeline import make_pipeline
    >>> table = {"age": [31, 45, 28, 60], "town": ["Rome", "Oslo", "Rome", "Oslo"]}
    >>> model = make_pipeline(TableEncoder(), BudgetronClassifier(budget=50))
    >>> scorer = Scorer(model.fit(table, ["no", "yes", "no", "yes"]), keep=["id"])
    >>> scorer({"id": [7, 8], "town": ["Oslo", "Rome"], "age": [50, 33]})
    {'id': [7, 8], 'prediction': array(['yes', 'no'], dtype='<U3')}
    """

    def __init__(
        self,
        model: Any,
        *,
        columns: Sequence[str] | str | None = None,
        key: str | None = None,
        probabilities: bool = False,
        decisions: bool = False,
        keep: Sequence[str] = (),
    ) -> None:
        self.model = _opened(model) if isinstance(model, str | os.PathLike) else model
        if not hasattr(self.model, "predict"):
            kind = type(self.model).__name__
            raise BudgetronError(f"{kind} has no predict: pass an estimator, a Fleet or a file")
        what = type(self.model).__name__
        if isinstance(self.model, Fleet) != (key is not None):
            hint = "takes no key" if key is not None else "predicts by key: pass the column, key="
            raise BudgetronError(f"{what} {hint}")
        self._known = columns is None
        if columns is None:
            columns = _names(self.model)
        if columns is None:
            raise BudgetronError(f"this {what} knows no column names: pass columns=")
        self.columns = columns if isinstance(columns, str) else list(columns)
        self.key = key
        self.keep = [keep] if isinstance(keep, str) else list(keep)
        classes = getattr(self.model, "classes_", None)
        self.classes: Array | None = None if classes is None else np.asarray(classes)
        if self.classes is not None and self.classes.dtype.kind not in "biufUO":
            raise BudgetronError(f"{what} has classes that are not text, numbers or booleans")
        for wanted, method in ((probabilities, "predict_proba"), (decisions, "decision_function")):
            if wanted and not hasattr(self.model, method):
                raise BudgetronError(f"{what} has no {method.replace('_', ' ')}: leave it out")
        self.probabilities, self.decisions = probabilities, decisions

    def __repr__(self) -> str:
        return f"<Scorer of {self.model!r}>"

    @property
    def needs(self) -> list[str]:
        """The columns of a batch that are read; others may be missing."""
        features = [self.columns] if isinstance(self.columns, str) else self.columns
        key = [] if self.key is None else [self.key]
        return list(dict.fromkeys([*self.keep, *key, *features]))

    @property
    def fields(self) -> list[Field]:
        """The columns that are added, in order."""
        kind = "number" if self.classes is None else _kind(self.classes)
        names = [] if self.classes is None else [str(each) for each in self.classes.tolist()]
        found = [Field("prediction", kind)]
        if self.probabilities:
            found += [Field(f"probability_{name}", "number") for name in names]
        if self.decisions:
            several = [f"decision_{name}" for name in names] if len(names) > 2 else ["decision"]
            found += [Field(name, "number") for name in several]
        return found

    def __call__(self, batch: Any) -> Any:
        """The columns of `keep` and `fields`, one row per row of the batch.

        Parameters
        ----------
        batch : a pandas frame, an Arrow table or record batch, or a dict of columns

        Returns
        -------
        batch : of the same type; a pandas frame keeps its index

        Raises
        ------
        BudgetronError
            If a column is missing, or a column of numbers holds something else.
        """
        table = table_of(batch)
        missing = [name for name in self.needs if name not in table.column_names]
        if missing:
            listed = ", ".join(map(repr, missing[:5]))
            raise BudgetronError(f"the table has no column {listed}: the model needs it")
        return self._like(batch, table, self._answers(table))

    def _answers(self, table: Any) -> dict[str, Array]:
        fields = self.fields
        if not table.num_rows:
            kept = None if self.classes is None else self.classes.dtype
            return {
                field.name: np.zeros(0, kept if field.name == "prediction" else np.float64)
                for field in fields
            }
        rows = self._rows(table)
        given = (rows,) if self.key is None else (table.column(self.key), rows)
        found = [np.asarray(self.model.predict(*given))]
        if self.probabilities:
            found += list(np.asarray(self.model.predict_proba(*given)).T)
        if self.decisions:
            decided = np.asarray(self.model.decision_function(*given))
            found += [decided] if decided.ndim == 1 else list(decided.T)
        names = [field.name for field in fields]
        return dict(zip(names, found, strict=True))

    def _rows(self, table: Any) -> Any:
        """The input of the model: a frame if it knows names, else an array."""
        if isinstance(self.columns, str):
            return stacked(table.column(self.columns), self.columns)
        chosen = table.select(self.columns)
        if not self._known:
            return np.column_stack([numbers(chosen.column(n), n) for n in self.columns])
        if _reads_tables(self.model):
            return chosen
        if not hasattr(self.model, "_engine"):  # scikit-learn takes the columns of a frame by name
            return chosen.to_pandas()
        pa = arrow()
        return pa.table({n: numbers(chosen.column(n), n) for n in self.columns})

    def _like(self, batch: Any, table: Any, answers: dict[str, Array]) -> Any:
        """Columns to keep and answers as a batch of the type that came."""
        if isinstance(batch, Mapping):
            return {**{name: batch[name] for name in self.keep}, **answers}
        if hasattr(batch, "iloc"):
            return batch[self.keep].assign(**answers)
        pa = arrow()
        columns = {name: table.column(name) for name in self.keep}
        for field in self.fields:
            values = answers[field.name]
            plain = values.tolist() if values.dtype.kind in "UO" else values
            columns[field.name] = pa.array(plain, _arrow_type(field.kind))
        whole = pa.table(columns)
        if not isinstance(batch, pa.RecordBatch):
            return whole
        parts = whole.combine_chunks().to_batches()
        return parts[0] if parts else pa.RecordBatch.from_pylist([], schema=whole.schema)


def _opened(path: str | os.PathLike[str]) -> Any:
    return Fleet.load(path) if zipfile.is_zipfile(path) else read(path)[0]


def _reads_tables(model: Any) -> bool:
    """Whether the model begins with a table encoder, which reads columns of any kind."""
    steps = getattr(model, "steps", None)
    first = steps[0][1] if steps else None
    return type(first).__name__ == "TableEncoder" or getattr(model, "_table", None) is not None


def _names(model: Any) -> list[str] | None:
    """The columns that a model knows by name."""
    encoder = getattr(model, "table_encoder_", model)
    names = getattr(encoder, "feature_names_in_", None)
    return None if names is None else [str(each) for each in names]


def _kind(classes: Array) -> str:
    kinds = {"b": "boolean", "i": "whole", "u": "whole", "f": "number"}
    return kinds.get(classes.dtype.kind, "text")


def _arrow_type(kind: str) -> Any:
    pa = arrow()
    return {
        "text": pa.string(),
        "whole": pa.int64(),
        "boolean": pa.bool_(),
        "number": pa.float64(),
    }[kind]


def numbers(column: Any, name: str) -> NDArray[np.float64]:
    """A column as numbers, with NaN for a gap.

    Parameters
    ----------
    column : of Arrow
    name : for the error, if it holds something else

    Examples
    --------
    >>> import pyarrow as pa
    >>> from budgetron.scoring import numbers
    >>> numbers(pa.array([1, None]), "age").tolist()
    [1.0, nan]
    """
    pa = arrow()
    try:
        found = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowException, TypeError):
        what = f"column {name!r} holds {column.type}, not numbers"
        raise BudgetronError(f"{what}: learn with a TableEncoder, or cast it") from None
    return np.asarray(found, dtype=np.float64)


def stacked(column: Any, name: str) -> NDArray[np.float64]:
    """A column with an array per row, as rows.

    Parameters
    ----------
    column : of Arrow, of lists that have one length
    name : for the error, if it holds something else

    Examples
    --------
    >>> import pyarrow as pa
    >>> from budgetron.scoring import stacked
    >>> stacked(pa.array([[1, 2], [3, 4]]), "point").tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    pa = arrow()
    import pyarrow.compute as pc

    whole = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ExtensionArray):
        whole = whole.storage
    kind = whole.type
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    lengths = pc.list_value_length(whole) if any(is_one(kind) for is_one in lists) else None
    if lengths is None or whole.null_count or len(pc.unique(lengths)) != 1:
        what = f"column {name!r} must hold an array of numbers per row, all of one length"
        raise BudgetronError(what)
    return numbers(whole.flatten(), name).reshape(len(whole), -1)
