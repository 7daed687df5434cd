"""The budget of an estimator: a number, or bytes that become a number; it can be lowered later.

An estimator says which parameter is its budget; byte_budget.py finds what fits into bytes. The
budget is the only parameter that a trained model takes over from `set_params`: the next call that
learns lowers it, and refuses changes of other parameters.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval

from budgetron import _core
from budgetron._engine import Engine, Room
from budgetron.errors import BudgetronError
from budgetron.estimators._base.byte_budget import WARM_UP_SHARE, Shape, largest
from budgetron.estimators._base.sharing import Shared, in_turn
from budgetron.estimators._base.sizes import parse_bytes

if TYPE_CHECKING:
    from budgetron.estimators._base.estimator import Origin

# Only `fit` and `predict` use these parameters: they may change at any time.
_MATTERS = 8_000_000  # bytes: returning less to the system costs more than it is worth
METRIC_BYTES = 16  # bytes per feature
_FREE = ("n_epochs", "shuffle", "n_jobs", "random_state")


def _give_back(freed: int) -> None:
    """Return freed memory to the system, if it is enough to matter."""
    if freed > _MATTERS:
        _core.give_back_memory()


class Budgeted(Shared):
    """The part of an estimator that handles its budget.

    Parameters
    ----------
    budget : int or str
        Largest number of stored examples (B). Text such as "256KB" is the size of the whole
        model in bytes instead (``budget_``: the resulting number of examples).
    """

    _budget_name: ClassVar[str] = "budget"  # the parameter that is the budget, if any
    _stores_examples: ClassVar[bool]
    _warm_up_share: ClassVar[int] = WARM_UP_SHARE  # in bytes
    _engine: Engine
    _origin: Origin
    _sparse: bool
    n_features_in_: int
    _native: Any
    _build: Any
    _param_names: Any
    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    _changed = False  # whether a parameter was set since the last check

    # ---- parameters set while it learns ----------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if "_engine" in self.__dict__ and name in self._param_names():
            self.__dict__["_changed"] = True

    @in_turn
    def _follow_params(self) -> None:
        """Apply changed parameters to a trained model, before it learns more.

        A lower budget is applied; a change of any other parameter raises BudgetronError, and then
        nothing changes.
        """
        made, now = self._origin.params, self.get_params(deep=False)
        had, wanted = self._apart_from_budget(made), self._apart_from_budget(now)
        for name in had:
            if wanted[name] != had[name]:
                self._refuse(name, now[name], f"{name}={made[name]!r}")
        if self._budget_name in made:
            self._follow_budget(self._budget_in(now))
        self.__dict__.pop("_changed", None)

    def _follow_budget(self, budget: Any) -> None:
        held, limit = self.budget_, self._origin.room.limit
        name = self._budget_name
        if isinstance(budget, str):
            asked = parse_bytes(budget, name)
            if limit and asked > limit:
                self._refuse(name, budget, f"{limit} bytes, and a budget can only be lowered")
            if asked != limit:
                self.lower_budget(budget)
        elif held is not None and (budget is None or _above(budget, held)):
            self._refuse(name, budget, f"{name}={held}, and a budget can only be lowered")
        elif budget != held:
            self.lower_budget(budget)

    def _refuse(self, name: str, value: Any, made: str) -> NoReturn:
        raise BudgetronError(
            f"{name}={value!r} was set, but the model has learned with {made}: "
            "start again (fit, or a new model), or set it back to continue"
        )

    def _apart_from_budget(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters that a trained model cannot change."""
        but = {self._budget_name, *_FREE}
        return {name: value for name, value in params.items() if name not in but}

    # ---- lowering --------------------------------------------------------------------------------

    @in_turn
    def lower_budget(self, budget: int | str) -> Self:
        """Lower the budget, at once.

        Stored examples leave by the learner's own rule, or the oldest if it has none; FOGD drops
        its last frequencies. Freed memory is returned. The parameter is set too, so that a clone
        starts with it. A lower budget set by `set_params` is applied when the model learns again.

        Parameters
        ----------
        budget : int, or bytes as "64KB"
            At most the current budget.

        Raises
        ------
        BudgetronError
            If it is more than now, or too few bytes; then nothing changes.

        Examples
        --------
        >>> from sklearn.datasets import make_circles
        >>> from budgetron import ForgetronClassifier
        >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
        >>> model = ForgetronClassifier(budget=20, gamma=1.0).fit(X, y)
        >>> model.lower_budget(8).n_support_
        8
        """
        name, native, origin = self._budget_name, self._native, self._origin
        classes, dtype = native.classes, self._engine.dtype
        now = self.budget_
        if isinstance(budget, str):
            limit = parse_bytes(budget, name)
            if origin.room.limit and limit > origin.room.limit:
                raise BudgetronError(f"{name}={budget!r} is above its {origin.room.limit} bytes")
            # A metric stays, but a model made for bytes has none.
            kept = METRIC_BYTES * native.relevance()[0].size
            lower = self._within(origin, limit - kept, classes, dtype, most=now or 2**31 - 1)
            lower = replace(lower, room=replace(lower.room, limit=limit))
        else:
            if isinstance(budget, bool) or not isinstance(budget, Integral):
                raise BudgetronError(
                    f"{name}={budget!r} is neither a whole number nor bytes as '64KB'"
                )
            if budget < self._least_budget or (now is not None and budget > now):
                most = "" if now is None else f" and at most {now}, its current value"
                raise BudgetronError(f"{name}={budget} must be at least {self._least_budget}{most}")
            lower = replace(origin, params=self._with_budget(origin.params, int(budget)))
        engine = self._build(lower, classes, dtype)
        shrunk = self._watched(self._engine.copy())
        shrunk.native.lower(self._budget_in(lower.params), lower.room.slots)
        try:
            engine.native.copy(shrunk.native)
        except ValueError as error:
            if "warm-up rows" not in str(error):
                raise
            raise BudgetronError(
                f"{name}={budget!r} is too small for the first rows, which are kept until the "
                "units and gamma are found: lower it after row 200, or start a new model with it"
            ) from None
        self._engine, self._origin = self._watched(engine), lower
        had = int(native.memory_bytes)
        del engine, shrunk, native
        _give_back(had)
        self.set_params(**self._with_budget(self.get_params(deep=False), budget))
        return self

    @property
    def budget_(self) -> int | None:
        """The current budget: examples, for FOGD frequencies; None: no limit.

        With a budget in bytes, the number that fits into them.
        """
        if not hasattr(self, "_origin"):
            raise NotFittedError(f"this {type(self).__name__} has not learned anything yet")
        if self._budget_name not in self._origin.params:
            raise AttributeError(f"{type(self).__name__} has no budget")
        budget = self._budget_in(self._origin.params)
        return None if budget is None else int(budget)

    # ---- bytes ---------------------------------------------------------------------------------

    def _within(
        self, origin: Origin, limit: int, classes: int, dtype: np.dtype[Any], most: int = 2**31 - 1
    ) -> Origin:
        """The origin with the largest budget, at most `most`, whose model takes `limit` bytes."""
        grows = origin.growing or self.n_features_in_ != origin.width
        if grows or not getattr(self, "_closed", True):
            what = "a fixed number of features" if grows else "all classes in the first call"
            fixed = "learn arrays of one width, in River pass max_features="
            how = fixed if grows else "pass classes=, or use fit"
            raise BudgetronError(f"{self._budget_name} in bytes needs {what}: {how}")

        def sized(budget: int, room: Room) -> Origin:
            params = self._with_budget(origin.params, budget)
            return replace(origin, params=params, room=room)

        def peak(budget: int, room: Room) -> int:
            engine = self._build(sized(budget, room), classes, dtype)
            taken = int(engine.native.memory_bytes)
            del engine
            _give_back(taken)
            return taken

        width = origin.width * (2 if origin.params.get("missing") == "flag" else 1)
        shape = Shape(
            width,
            np.dtype(dtype).itemsize,
            self._sparse,
            self._stores_examples,
            self._warm_up_share,
        )
        found = largest(limit, self._least_budget, most, shape, peak, self._budget_name)
        return sized(*found)

    @property
    def in_bytes(self) -> bool:
        """Whether the budget is in bytes: then width and classes must be known first."""
        return isinstance(self._budget_in(self.get_params(deep=False)), str)

    @property
    def _least_budget(self) -> int:
        [least] = [
            int(each.left)
            for each in self._parameter_constraints[self._budget_name]
            if isinstance(each, Interval)
        ]
        return least

    def _budget_in(self, params: dict[str, Any]) -> Any:
        """The budget among these parameters."""
        return params.get(self._budget_name)

    def _with_budget(self, params: dict[str, Any], budget: int | str) -> dict[str, Any]:
        return {**params, self._budget_name: budget}


def _above(budget: Any, held: int) -> bool:
    return isinstance(budget, Integral) and int(budget) > held
