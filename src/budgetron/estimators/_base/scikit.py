"""scikit-learn's base classes with types, and its checks with our error: the link to scikit-learn.

For a type checker a class of an untyped package is `Any`, and a dataclass derived from `Any` takes
every keyword: `BudgetronClassifier(bugdet=3)` would pass. So type checkers see the classes below,
which declare what we use; at run time the names are scikit-learn's own.

What scikit-learn's checks refuse is a user's mistake, so their ValueError becomes a
`BudgetronError`. Their TypeError stays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Self

from sklearn import utils
from sklearn.utils import multiclass, validation

from budgetron.errors import as_budgetron_error

if TYPE_CHECKING:

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def _validate_params(self) -> None: ...
        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __sklearn_tags__(self) -> Any: ...
        def __sklearn_clone__(self) -> Self: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class OutlierMixin:
        def fit_predict(self, X: Any, y: Any = None) -> Any: ...

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None) -> Any: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
    )


def _refusing(check: Any) -> Callable[..., Any]:
    @wraps(check)
    def checked(*given: Any, **named: Any) -> Any:
        with as_budgetron_error():
            return check(*given, **named)

    return checked


check_array = _refusing(validation.check_array)
check_classification_targets = _refusing(multiclass.check_classification_targets)
check_consistent_length = _refusing(validation.check_consistent_length)
check_random_state = _refusing(utils.check_random_state)
column_or_1d = _refusing(validation.column_or_1d)
num_samples = _refusing(validation._num_samples)
validate_data = _refusing(validation.validate_data)

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "OutlierMixin",
    "RegressorMixin",
    "TransformerMixin",
    "check_array",
    "check_classification_targets",
    "check_consistent_length",
    "check_random_state",
    "column_or_1d",
    "num_samples",
    "validate_data",
]
