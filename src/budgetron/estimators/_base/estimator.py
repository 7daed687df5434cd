"""The base of all estimators: kernel parameters, the life of the engine, looking inside.

Estimators are dataclasses: a field is a parameter, its default is in the class body, and
scikit-learn reads both from the generated ``__init__``. An estimator names its own parameters, with
their allowed values (parameters.py), and how they become parts (`_machine`); all else is here, in
classifier.py and in regressor.py, also the descriptions of shared parameters (docstrings.py
combines them).
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from budgetron._batch import Batch
from budgetron._csr import SparseRows, sparse_rows
from budgetron._engine import Engine, Floats, PrecisionWarning, Preparation, Room
from budgetron.errors import BudgetronError
from budgetron.estimators._base.budgeted import Budgeted
from budgetron.estimators._base.cells import refused_cell
from budgetron.estimators._base.docstrings import complete
from budgetron.estimators._base.explanation import Explanation
from budgetron.estimators._base.frames import float_types, in_order, one_row
from budgetron.estimators._base.gaps import ADVICE, FLAGS, OLD, refuse_gaps, with_flags_last
from budgetron.estimators._base.parameters import Parameters, of
from budgetron.estimators._base.plain import plain_rows
from budgetron.estimators._base.scikit import (
    check_array,
    check_consistent_length,
    check_random_state,
    validate_data,
)
from budgetron.estimators._base.sharing import in_turn
from budgetron.estimators._base.sizes import parse_bytes
from budgetron.estimators._base.weights import sample_weights
from budgetron.estimators._base.widths import RACE, WidthText, median_factor
from budgetron.estimators._base.workers import Worker
from budgetron.parts import KERNELS, Gaussian, Learner, Part, Polynomial, Spec
from budgetron.parts.ranges import Numbers, OneOf, parameter, whole
from budgetron.tables.frames import is_frame, refuse_lazy

if TYPE_CHECKING:
    from budgetron.estimators.table_encoder import TableEncoder

# Rows, and about how many values in them, that are gathered at a time when `fit` shuffles.
PIECE, PIECE_VALUES = 8192, 2**18
# With n_epochs="auto": the number of rows to learn, or at most so many passes.
EPOCH_ROWS, MOST_EPOCHS = 1000, 5
LEAST_ROWS_A_THREAD = 256  # below, starting a thread costs more than it saves

PRECISION_MESSAGE = (
    "the features are so large that float32 rounds them by more than a thousandth of the kernel's "
    "width; scale the data or pass float64"
)


@dataclass(frozen=True)
class Origin:
    """What an engine was built from; later changes of parameters are checked against it.

    Parameters
    ----------
    params : parameters of the estimator, except random_state, which became the seed; a budget in
        bytes has become a number
    width : width of the first rows
    growing : whether later rows may be wider
    room : memory layout of a budget in bytes
    """

    params: dict[str, Any]
    width: int
    growing: bool
    room: Room = field(default_factory=Room)


@dataclass(frozen=True)
class TableRows:
    """How to read a table for a model that was learned from one.

    Parameters
    ----------
    encoder : a fitted TableEncoder, whose features are the model's
    written : the same and the label, as in the model file
    """

    encoder: Any
    written: dict[str, Any]


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineEstimator(Parameters, Worker, Budgeted):
    """A learner with scikit-learn's interface; subclasses say which parts it has.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "poly", "linear", "sigmoid"}
        k(x, z): "rbf" is exp(-gamma ||x - z||^2), "laplacian" exp(-gamma ||x - z||_1), "poly"
        (gamma x.z + coef0)^degree, "linear" x.z, "sigmoid" tanh(gamma x.z + coef0).
    gamma : float, "median", a multiple as "4*median", or "auto"
        Width of the kernel. "median" is 1 / median squared distance between the first 200 rows (for
        ``fit``, 200 rows drawn from all), in their units; it is found again when units change.
        "4*median" is four times that. "auto" is 1 / number of features; so is "median" for kernels
        that do not depend on a distance.
    degree, coef0 : int, float
        Parameters of the polynomial kernel; coef0 also of the sigmoid kernel.
    scale : {"auto", "standard", None}
        "auto" centres features and divides them, if they need it, by units that change when the
        stream does; ``fit`` finds them from all rows before it learns the first. "standard"
        divides them by their running standard deviations; None leaves them unchanged. The
        papers' guarantees hold for None with a numeric gamma.
    missing : {"mean", "flag"}
        A NaN is a missing value if scale is "auto", and else an error. The running mean of its
        feature replaces it; with "flag" an extra feature says that it was missing.
    average : {"last", "mean", "suffix"}
        The hypothesis that ``predict`` uses: the last one, the mean of all, or the mean of
        about the last half. Examples that leave take their share of the mean with them.
    n_epochs : int or "auto"
        How many times ``fit`` learns the rows. "auto" is once; if it shuffles fewer than 1,000
        rows, as often as it takes to learn 1,000, at most five times.
    shuffle : bool
        Whether ``fit`` learns the rows in random order, a new one each time; ``partial_fit``
        and ``prequential`` keep the order.
    n_jobs : int or None
        Threads of ``predict`` on many rows; None is 1, -1 all processors.
    random_state : int, RandomState instance or None
        Seed of ``shuffle`` and of the learner's random choices, if it has any. None is 0: the
        same rows give the same model.

    Attributes
    ----------
    n_features_in_ : int
        Number of features of the rows learned so far.
    feature_names_in_ : array of str
        Names of the features, if the first rows were a frame with named columns.
    """

    kernel: str = parameter("rbf", OneOf(*(part.kind for part in KERNELS)))
    gamma: float | str = of(Gaussian, "gamma", WidthText(), default="median")
    degree: int = of(Polynomial, "degree")
    coef0: float = of(Polynomial, "coef0")
    scale: str | None = parameter("auto", OneOf("standard", "auto"), None)
    missing: str = parameter("mean", OneOf("mean", "flag"))
    average: str = parameter("last", OneOf("last", "mean", "suffix"))
    n_epochs: int | str = parameter("auto", whole(1, None), OneOf("auto"))
    shuffle: bool = parameter(True, "boolean")
    n_jobs: int | None = parameter(
        None, whole(1, None), Numbers(None, -1, "right", whole=True), None
    )
    random_state: Any = parameter(None, "random_state")

    _task: ClassVar[str]
    _stores_examples: ClassVar[bool] = True
    # Attributes that learning sets beside `_engine` and `_origin`, with types: in model files.
    _fitted: ClassVar[dict[str, type]] = {
        "n_features_in_": int,
        "feature_names_in_": np.ndarray,
        "_seed": int,
        "_sparse": bool,
        "_warned": bool,
    }
    # Those of them that a model may lack.
    _optional: ClassVar[frozenset[str]] = frozenset({"feature_names_in_"})
    # Turns a frame into rows, if the model was learned from a table: from a file of `run`.
    _table: ClassVar[TableRows | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete(cls)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(cls._param_names())

    @classmethod
    @cache
    def _param_names(cls) -> tuple[str, ...]:
        return tuple(super()._get_param_names())  # from the signature, which takes time

    def _machine(self, kernel: Part) -> Learner:
        """The parts that this estimator's parameters describe.

        `_seed`, drawn from random_state, and `n_features_in_` are known by then.
        """
        raise NotImplementedError

    # ---- the engine ------------------------------------------------------------------------------

    def _kernel_part(self, width: int) -> Part:
        part = {part.kind: part for part in KERNELS}[self.kernel]
        if isinstance(self.gamma, str):  # for "median" until there are distances
            gamma = (median_factor(self.gamma) or 1.0) / max(width, 1)
        else:
            gamma = float(self.gamma)
        given = {"gamma": gamma, "degree": self.degree, "coef0": float(self.coef0)}
        return part(**{each.name: given[each.name] for each in fields(part)})

    def _preparation(self, width: int) -> Preparation:
        """The preparation of rows; `width` is 0 if it grows with the stream."""
        if self.missing == "flag" and self.scale != "auto":
            raise BudgetronError(f'missing="flag" needs scale="auto", not {self.scale!r}')
        factor = median_factor(self.gamma)
        rule = "fixed" if factor is None else "median"
        race = self.gamma == RACE
        metric = bool(getattr(self, "_learns_metric", False))
        return Preparation(
            self.scale or "none", rule, width, gamma_factor=factor or 1.0, metric=metric, race=race
        )

    def _start(
        self, width: int, classes: int, dtype: np.dtype[Any], *, growing: bool = False
    ) -> None:
        """Build the engine; gamma "auto" is fixed here."""
        seed = 0 if self.random_state is None else self.random_state
        self._seed = int(check_random_state(seed).randint(2**31 - 1))
        params = self.get_params(deep=False)
        del params["random_state"]
        self._origin = Origin(params, width, growing)
        budget = self._budget_in(params)
        if isinstance(budget, str):
            limit = parse_bytes(budget, self._budget_name)
            self._origin = self._within(self._origin, limit, classes, dtype)
        self._engine = self._watched(self._build(self._origin, classes, dtype))
        self._warned = False
        self.__dict__.pop("_changed", None)

    def _build(
        self,
        origin: Origin,
        classes: int,
        dtype: np.dtype[Any],
        refuse: Callable[[Spec], None] | None = None,
    ) -> Engine:
        """The engine for this origin and `_seed`, new or from a file.

        `refuse` may raise an error about what will be built.
        """
        twin = type(self)(**origin.params)
        twin._validate_params()
        twin._seed, twin.n_features_in_ = self._seed, origin.width
        machine = twin._machine(twin._kernel_part(origin.width))
        machine.check_fits()
        if refuse is not None:
            refuse(machine.spec())
        preparation = twin._preparation(0 if origin.growing else origin.width)
        if twin.missing == "flag":
            flags = origin.width if origin.room.slots else FLAGS
            preparation = replace(preparation, flags=flags)
        return Engine(
            machine.spec(),
            self._task,
            classes,
            self._seed,
            dtype,
            preparation,
            twin.average,
            origin.room,
            twin._keeps_intervals,
        )

    @property
    def _keeps_intervals(self) -> bool:
        """Whether the model keeps what intervals or sets need."""
        return bool(getattr(self, "intervals", False) or getattr(self, "sets", False))

    def _restored(self) -> None:
        """Check the attributes of `_fitted` that came from a file, and set what follows."""
        self._changed = True  # perhaps: the file has the parameters at the time of saving
        names = getattr(self, "feature_names_in_", None)
        if not 1 <= self.n_features_in_ < 2**31 or (
            names is not None and len(names) != self.n_features_in_
        ):
            raise BudgetronError("n_features_in_ and feature_names_in_ do not match")
        width, growing, room = self._origin.width, self._origin.growing, self._origin.room
        # Rows of hashed features may be wider than the first; a room is for one width.
        if self.n_features_in_ < width or (room.slots and (growing or self.n_features_in_ > width)):
            raise BudgetronError("n_features_in_ is not the width that the model was made for")
        if not 0 <= self._seed < 2**31:
            raise BudgetronError("_seed is not a seed")
        if names is not None and not all(isinstance(name, str) for name in names.tolist()):
            raise BudgetronError("feature_names_in_ are not all text")

    # ---- learning: first check all, then learn all --------------------------------------------

    @in_turn
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, /, *, anew: bool = False, **how: Any
    ) -> Floats | None:
        """Learn rows; return the decisions before learning, if they are recorded.

        If it ends early, by Ctrl-C or lack of memory, the rows before have been learned.
        """
        with self._unchanged_if_refused():
            batch = self._ready(X, y, sample_weight, anew=anew, **how)
            if anew:
                batch = self._surveyed(batch)
        decisions = None
        for rows in self._passes(batch, anew=anew):
            decisions = self._learn_rows(rows)
        self._warn_if_coarse()
        self._engine.native.call_alarm()
        return decisions

    def _ready(
        self,
        X: Any,
        y: NDArray[Any],
        sample_weight: Any,
        *,
        anew: bool = False,
        growing: bool = False,
        record: bool = False,
    ) -> Batch:
        """Check everything about a call and, the first time, build the model; learn nothing.

        Changes at most attributes, which `_unchanged_if_refused` restores, and nothing inside them.
        Subclasses build the model; this method checks parameters, rows, weights and the number of
        rows.
        """
        first = self._starts(anew)
        X = self._encoded(X, anew=anew)
        if first:
            self._validate_params()
        elif self._changed:
            self._follow_params()
        if getattr(X, "shape", ())[:1] != y.shape:
            check_consistent_length(X, y)
        weights = sample_weights(sample_weight, len(y), some=anew)
        rows = self._rows(X, first=first, growing=growing)
        if growing:
            self.n_features_in_: int = max(self.n_features_in_, rows.shape[1])
        if first:
            self._sparse = not isinstance(rows, np.ndarray)
        return Batch(rows, y, weights, record)

    def _learn_rows(self, batch: Batch) -> Floats | None:
        """Learn the rows of a batch that `_ready` checked, once, in order."""
        raise NotImplementedError

    def _starts(self, anew: bool) -> bool:
        """Whether a call builds the model."""
        return anew or not hasattr(self, "_engine")

    def _passes(self, batch: Batch, *, anew: bool) -> Iterator[Batch]:
        """The rows to learn; for `fit` over all epochs, and in pieces if it shuffles."""
        epochs = self._epochs(len(batch.y)) if anew else 1
        if not (anew and self.shuffle):
            yield batch
            again = replace(batch, calibrate=False) if epochs > 1 else batch
            yield from itertools.repeat(again, epochs - 1)
            return
        generator = np.random.default_rng(self._seed)
        for epoch in range(epochs):
            yield from _shuffled(replace(batch, calibrate=epoch == 0), generator)

    def _epochs(self, rows: int) -> int:
        """How many times `fit` learns so many rows.

        Once if it keeps their order, so that it equals `partial_fit`.
        """
        if isinstance(self.n_epochs, str):
            return min(MOST_EPOCHS, -(-EPOCH_ROWS // max(rows, 1))) if self.shuffle else 1
        return self.n_epochs

    def _surveyed(self, batch: Batch) -> Batch:
        """The rows of `fit` after a first pass over them, which sets units and gamma.

        Their order is that of the first epoch if `fit` shuffles; else it is random too.
        """
        native = self._engine.native
        if not native.surveys:
            return batch
        for rows in _shuffled(batch, np.random.default_rng(self._seed)):
            native.survey(rows.coded(self._targets(rows.y), unseen=False))
            if not native.surveys:
                break
        native.settle()
        return replace(batch, surveyed=True)

    def _targets(self, y: NDArray[Any]) -> Floats:
        """The labels or targets that `_ready` checked, as the compiled model learns them."""
        raise NotImplementedError

    def _answer(self, rows: Any, *, probabilities: bool = False) -> tuple[Floats, int]:
        """The outputs for checked rows, (n, outputs), or probabilities, (n, classes); and classes.

        All rows were answered with the same number of classes.
        """
        threads = rows.shape[0] // LEAST_ROWS_A_THREAD
        if threads > 1:
            threads = min(threads, effective_n_jobs(self.n_jobs), os.cpu_count() or 1)
        answer: tuple[Floats, int] = self._engine.native.predict(
            rows, max(threads, 1), probabilities
        )
        return answer

    def _covering(self, rows: Any, what: str, coverage: float = 0.9) -> tuple[Floats, int]:
        """Other answers for checked rows, "interval" or "set", and the classes."""
        threads = rows.shape[0] // LEAST_ROWS_A_THREAD
        if threads > 1:
            threads = min(threads, effective_n_jobs(self.n_jobs), os.cpu_count() or 1)
        answer: tuple[Floats, int] = self._engine.native.answer(
            rows, what, coverage, max(threads, 1)
        )
        return answer

    @contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        """A refused call leaves the estimator unchanged."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:  # also Ctrl-C
            self.__dict__ = before
            raise

    def _check_width(self, x: NDArray[Any]) -> None:
        """The only check of the one-row methods."""
        if len(x) != self.n_features_in_:
            raise BudgetronError(f"x has {len(x)} features, the model {self.n_features_in_}")

    def _rows(self, X: Any, *, first: bool = False, growing: bool = False) -> Any:
        """X as the engine reads it: C-ordered array or `SparseRows`, of its dtype.

        All values are finite, except NaN if the model takes missing values.
        """
        if scipy.sparse.issparse(X):
            X = sparse_rows(X)  # before SciPy touches it
        elif not first and type(X) is not np.ndarray:
            X = self._encoded(X)
        dtype: list[Any] = float_types(X) if first else [self._engine.dtype]
        names = None if first else getattr(self, "feature_names_in_", None)
        gaps = self.scale == "auto" if first else self._takes_gaps
        width = None if first else self.n_features_in_
        if names is None and plain_rows(X, dtype, width, gaps=gaps):
            if first:
                self._is_wide(X.shape[1])
            return self._below_flags(X)
        X = X.matrix() if isinstance(X, SparseRows) else in_order(X, names, type(self).__name__)
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": dtype, "order": "C"}
        how["ensure_all_finite"] = "allow-nan"  # checked below
        try:
            with np.errstate(over="ignore"):  # float64 to float32; checked too
                if growing and not first and names is None:
                    rows = check_array(X, estimator=self, **how)
                    if rows.shape[1] > self.n_features_in_ and self._origin.room.slots:
                        raise BudgetronError(
                            f"X has {rows.shape[1]} features; a model with a budget in bytes keeps "
                            f"to the {self.n_features_in_} it was made for"
                        )
                else:
                    rows = validate_data(self, X, reset=first, **how)
        except OverflowError:  # a large Python integer
            raise BudgetronError(
                "X has a number that is too large for float64; its numbers must be finite"
            ) from None
        except (BudgetronError, TypeError) as error:
            named = refused_cell(X, dtype[0], names, dates=isinstance(error, TypeError))
            raise named or error from None
        rows = sparse_rows(rows) if scipy.sparse.issparse(rows) else rows
        if not gaps:
            advice = ADVICE if first or self._origin.params["scale"] != "auto" else OLD
            refuse_gaps(rows, getattr(self, "feature_names_in_", None), advice)
        return self._below_flags(rows)

    def _encoded(self, X: Any, *, anew: bool = False) -> Any:
        """A frame as rows of features, if the model knows the columns of a table; else X.

        If it starts again with rows that are not a frame, it forgets these columns. TypeError for a
        lazy frame.
        """
        refuse_lazy(X)
        if self._table is None or not is_frame(X):
            if anew:
                self.__dict__.pop("_table", None)
            return X
        rows = self._table.encoder.transform(X)
        if not anew and rows.shape[1] < self.n_features_in_:  # from --n-features
            rows.resize((rows.shape[0], self.n_features_in_))
        return rows

    def _below_flags(self, rows: Any) -> Any:
        if self.missing == "flag" and rows.shape[1] > FLAGS:
            raise BudgetronError(f'missing="flag" takes {FLAGS} features, X has {rows.shape[1]}')
        return rows

    @property
    def _takes_gaps(self) -> bool:
        """Whether rows may have missing values, NaN."""
        if not hasattr(self, "_engine"):
            return self.scale == "auto"
        return bool(self._engine.native.takes_gaps)

    def _is_wide(self, width: int) -> None:
        """Set what scikit-learn sets for the first rows, if they have no names."""
        self.n_features_in_ = width
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _warn_if_coarse(self) -> None:
        if self._engine.native.coarse and not self._warned:
            self._warned = True
            warnings.warn(PRECISION_MESSAGE, PrecisionWarning, stacklevel=5)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_engine")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.scale == "auto"
        return tags

    # ---- looking inside --------------------------------------------------------------------------

    def explain(self, x: Any) -> Explanation:
        """The stored examples behind the decision for one row, with their shares.

        Parameters
        ----------
        x : one row: an array of shape (d,) or (1, d), a sparse matrix of one row, or a row of a
            frame

        Returns
        -------
        explanation : Explanation
            Its shares and its constant sum to the result of `decision_function` (for a
            regressor `predict`), up to rounding. Merged examples have the round of their merge.
            With averaging ("mean" or "suffix" of AVM) coefs are the averaged ones; those of
            NOGD follow from its weights on features; POMDR's last rows, from which it guesses,
            have shares too.

        Raises
        ------
        BudgetronError
            If the learner stores no examples, as FOGD.
        """
        self._deciding  # noqa: B018 (raises if nothing was learned)
        if not self._stores_examples:
            raise BudgetronError(
                f"{type(self).__name__} stores no examples, so none can explain its decisions"
            )
        rows = self._rows(one_row(x))
        if rows.shape[0] != 1:
            raise BudgetronError(f"explain takes one row, not {rows.shape[0]}")
        if isinstance(rows, np.ndarray):
            rows = sparse_rows(scipy.sparse.csr_array(rows))
        return self._explained(rows)

    def _explained(self, rows: SparseRows) -> Explanation:
        """The explanation of one checked row."""
        examples, rounds, kernels, shares, constant, features, straight, intercept = (
            self._native.explain(rows.indices, rows.values)
        )
        return Explanation(
            classes=getattr(self, "classes_", None),
            examples=self._as_rows(*examples),
            rounds=rounds,
            kernels=kernels,
            shares=shares,
            constant=constant,
            features=self._columns(features)[0],
            straight=straight,
            intercept=intercept,
        ).by_size()

    @property
    def _native(self) -> Any:
        if not hasattr(self, "_engine"):
            raise NotFittedError(f"this {type(self).__name__} has not learned anything yet")
        return self._engine.native

    @property
    def _deciding(self) -> Any:
        """The compiled model, for predictions; NotFittedError if it has no answer yet."""
        return self._native

    @property
    def table_encoder_(self) -> TableEncoder:
        """The `TableEncoder` of a model that was learned from a table by `budgetron run`."""
        if self._table is None:
            raise AttributeError(f"this {type(self).__name__} was not learned from a table")
        encoder: TableEncoder = self._table.encoder
        return encoder

    @property
    def support_vectors_(self) -> Any:
        """The stored examples, ``(n_support_, n_features_in_)``; sparse if the first batch was.

        With scaling these are the scaled values at the time they were stored, not those of the
        stream. With missing="flag" the flags follow all features: twice as many columns.
        """
        return self._shown_examples()

    def _shown_examples(self) -> Any:
        """The stored examples as the learner saw them."""
        return self._as_rows(*self._native.support())

    def _as_rows(self, indptr: Any, indices: Any, values: Any) -> Any:
        columns, width = self._columns(indices)
        shape = (len(indptr) - 1, width)
        rows = scipy.sparse.csr_array((values, columns, indptr), shape=shape)
        return rows if self._sparse else rows.toarray()

    def _columns(self, features: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Columns of these features of the compiled model, flags last, and their number."""
        if flags := self._engine.preparation.flags:
            return with_flags_last(features, self.n_features_in_, flags)
        return features, max(self.n_features_in_, int(features.max(initial=-1)) + 1)

    @property
    def dual_coef_(self) -> Floats:
        """Coefs of the stored examples: one row, or one per class beyond two classes."""
        coefs: Floats = self._native.coefs()
        return np.ascontiguousarray(coefs.T)

    @property
    def gamma_(self) -> float | None:
        """The current gamma of the kernel; None for a kernel without gamma.

        With gamma="median" it changes after rows 2, 4, 8, ..., 128 and 200, and with
        scale="auto" whenever units change.
        """
        gamma = float(self._native.gamma)
        return gamma if "gamma" in self._engine.spec["kernel"] else None

    @property
    def scaling_(self) -> str | None:
        """How rows are scaled: "standard" or None; "undecided" in the first 200 rows of "auto"."""
        scale: str = self._native.scale
        return None if scale == "none" else scale

    @property
    def scale_(self) -> str | None:
        """The same as ``scaling_``, except for Budgetron: there it is each divisor."""
        return self.scaling_

    @property
    def unit_changes_(self) -> int:
        """How many times the units of scale="auto" have changed since the first 200 rows."""
        return int(self._native.unit_changes)

    @property
    def n_missing_(self) -> int:
        """Missing values in the rows learned so far."""
        return int(self._native.gaps[0])

    @property
    def missing_counts_(self) -> dict[Any, int]:
        """Missing values of each feature that had any, by its name or number.

        If there are very many features, only the first ones are counted one by one: at most as many
        as have their own units, but at least 64. ``n_missing_`` counts all.
        """
        _, features, counts = self._native.gaps
        names = getattr(self, "feature_names_in_", None)
        which = features.tolist() if names is None else names[features].tolist()
        return dict(zip(which, counts.tolist(), strict=True))

    @property
    def not_learning_(self) -> str | None:
        """The text of `budgetron.NotLearningWarning` for the model; None if there is no reason."""
        verdict = self._native.verdict
        return None if verdict is None else self._engine.alarm.text(*verdict)

    @property
    def n_support_(self) -> int:
        """Number of stored examples."""
        return int(self._native.size)

    @property
    def n_seen_(self) -> int:
        """Rows learned so far."""
        return int(self._native.seen)

    @property
    def n_updates_(self) -> int:
        """Rounds that changed the model."""
        return int(self._native.updates)

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the compiled model holds: support, coefs, matrices, buffers and scratch.

        Buffers have the largest size that was needed so far. A model from a file starts with the
        buffers that its state needs, so it may hold less than the saved one, or more if there is no
        budget. With a budget in bytes both hold the same.
        """
        return int(self._native.memory_bytes)


def _shuffled(batch: Batch, generator: np.random.Generator) -> Iterator[Batch]:
    """The rows in random order, gathered piece by piece; never copies all of them."""
    order = generator.permutation(len(batch.y))
    values = batch.rows.size / max(len(order), 1)
    step = min(PIECE, max(1, int(PIECE_VALUES / max(values, 1))))
    return (batch[order[i : i + step]] for i in range(0, len(order), step))
