"""What every estimator shares: parameters of the kernel, the engine's life, looking inside.

Estimators are dataclasses: a field is a parameter, its default stands in the class body, and
scikit-learn reads both from the generated ``__init__``. An estimator names its own parameters,
their constraints, and how they become parts (`_machine`); all else is here and in classifier.py.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, validate_data

from budgetron.compatibility import check_fits
from budgetron.engine import Engine, Floats, PrecisionWarning
from budgetron.parts import Gaussian, Laplacian, Linear, Part, Polynomial, Sigmoid

PRECISION_MESSAGE = (
    "the features are so large that float32 rounding of gamma ||x - z||^2 may pass 1e-3; "
    "scale the data or pass float64"
)


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineEstimator(BaseEstimator):  # type: ignore[misc]
    """A learner behind scikit-learn's interface; subclasses say what it is made of."""

    kernel: str = "rbf"
    gamma: float | str = "auto"
    degree: int = Polynomial.degree
    coef0: float = Polynomial.coef0
    random_state: Any = None

    _task: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"rbf", "laplacian", "poly", "linear", "sigmoid"})],
        "gamma": [Interval(Real, 0.0, None, closed="neither"), StrOptions({"auto"})],
        "degree": [Interval(Integral, 1, 100, closed="both")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def _machine(self, kernel: Part) -> Part:
        """The parts this estimator's parameters describe.

        `_seed`, drawn from random_state, and `n_features_in_` are known by then.
        """
        raise NotImplementedError

    # ---- the engine ------------------------------------------------------------------------------

    def _kernel_part(self, width: int) -> Part:
        gamma = 1.0 / max(width, 1) if self.gamma == "auto" else float(self.gamma)
        coef0 = float(self.coef0)
        kernels: dict[str, Part] = {
            "rbf": Gaussian(gamma),
            "laplacian": Laplacian(gamma),
            "poly": Polynomial(gamma, self.degree, coef0),
            "linear": Linear(),
            "sigmoid": Sigmoid(gamma, coef0),
        }
        return kernels[self.kernel]

    def _start(self, width: int, classes: int, dtype: np.dtype[Any]) -> None:
        """Build the engine; gamma "auto" is frozen here."""
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        machine = self._machine(self._kernel_part(width))
        check_fits(machine)
        self._engine = Engine(machine.spec(), self._task, classes, self._seed, dtype)
        self._warned = False

    def _rows(self, X: Any, *, first: bool, growing: bool = False) -> Any:
        """X as the engine reads it: C-ordered array or CSR, of the model's dtype, all finite."""
        dtype: Any = [np.float64, np.float32] if first else self._engine.dtype
        if growing and not first:
            X = check_array(X, accept_sparse="csr", dtype=dtype, order="C", estimator=self)
            self.n_features_in_: int = max(self.n_features_in_, X.shape[1])
            return X
        return validate_data(self, X, accept_sparse="csr", dtype=dtype, order="C", reset=first)

    def _warn_if_coarse(self) -> None:
        if self._engine.native.coarse and not self._warned:
            self._warned = True
            warnings.warn(PRECISION_MESSAGE, PrecisionWarning, stacklevel=4)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_engine")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- looking inside --------------------------------------------------------------------------

    @property
    def _native(self) -> Any:
        if not hasattr(self, "_engine"):
            raise NotFittedError(f"this {type(self).__name__} has not learned anything yet")
        return self._engine.native

    @property
    def support_vectors_(self) -> Any:
        """The stored examples, (n_support_, n_features_in_); sparse if the first batch was."""
        indptr, indices, values = self._native.support()
        width = max(self.n_features_in_, int(indices.max(initial=-1)) + 1)
        shape = (len(indptr) - 1, width)
        rows = scipy.sparse.csr_array((values, indices, indptr), shape=shape)
        return rows if self._sparse else rows.toarray()

    @property
    def dual_coef_(self) -> Floats:
        """Coefs of the stored examples, (1, n_support_), or (n_classes, n_support_) beyond two."""
        coefs: Floats = self._native.coefs()
        return np.ascontiguousarray(coefs.T)

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
        """Bytes the compiled model holds: support, coefs, matrices, buffers and scratch."""
        return int(self._native.memory_bytes)
