"""Parts combined by hand: learners that no paper describes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any, Self

from budgetron import parts
from budgetron._engine import Preparation
from budgetron.errors import BudgetronError
from budgetron.estimators._base.classifier import OnlineClassifier
from budgetron.estimators._base.parameters import of
from budgetron.parts import Learner, Part, Round
from budgetron.parts.ranges import OneOf, parameter, ranges_of

# The parameters that are parts: their tuple in `budgetron.parts`, and its parts by kind.
LISTS = {"kernel": "KERNELS", "loss": "LOSSES", "update": "UPDATES", "budget": "BUDGETS"}
FAMILIES: dict[str, dict[str, type[Part]]] = {
    name: {part.kind: part for part in getattr(parts, listed)} for name, listed in LISTS.items()
}


def _either(family: str) -> list[Any]:
    """A part of the family, or the name of one."""
    return [OneOf(*FAMILIES[family]), *FAMILIES[family].values()]


@dataclass(eq=False, repr=False, kw_only=True)
class KernelClassifier(OnlineClassifier):
    """A learner made from parts: any update with any budget, kernel, loss and radius.

    Parts are given by name, with their default parameters, or as objects of `budgetron.parts`. In
    both cases their parameters can be searched and set, as ``budget__size`` or ``kernel__gamma``.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "poly", "linear", "sigmoid"} or part
        A named kernel takes gamma, degree and coef0 from the parameters below, a part has its own.
    loss : {"hinge", "smooth-hinge", "logistic"}, part or None
        For updates that minimise a loss, "gradient" and "pegasos"; None keeps the one they
        have, the hinge unless it was changed.
    update : str or part
        How f moves: "perceptron", "shrinking", "avp", "alma", "passive-aggressive", "gradient",
        "pegasos".
    budget : str or part
        What happens when the budget is full: see ``budgetron.parts.BUDGETS``.
    radius : float or None
        f is scaled back to this norm if it exceeds it.

    Notes
    -----
    Every update works with every budget. Kernels are restricted if a norm, a projection or a
    square root of k(x, x) is needed; a BudgetronError then names the allowed kernels.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import KernelClassifier
    >>> from budgetron.parts import RemoveSmallest
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = KernelClassifier(update="alma", budget=RemoveSmallest(size=10), radius=1, gamma=1)
    >>> model.fit(X, y).n_support_
    10
    >>> model.set_params(budget__size=5).fit(X, y).n_support_
    5
    """

    kernel: Any = parameter("rbf", *_either("kernel"))
    loss: Any = parameter(None, *_either("loss"), None)
    update: Any = parameter("passive-aggressive", *_either("update"))
    budget: Any = parameter("absorb", *_either("budget"))
    radius: float | None = of(Round, "radius", None, default=None)

    # ---- parameters of parts ---------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` adds those of the parts, also of parts given by name."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for family in FAMILIES:
                inner = self._inner_params(family)
                params |= {f"{family}__{name}": value for name, value in inner.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a parameter of a part replaces the part, shared parts stay unchanged."""
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            family, nested, key = name.partition("__")
            if nested:
                inner.setdefault(family, {})[key] = value
        for family, changes in inner.items():
            known = self._inner_params(family) if family in FAMILIES else {}
            for key in changes:
                if key not in known:
                    has = ", ".join(f"{family}__{name}" for name in known) or "none of that kind"
                    raise BudgetronError(f"there is no parameter {family}__{key}; there is {has}")
            if family == "kernel" and not isinstance(self.kernel, Part):
                super().set_params(**changes)  # a named kernel's parameters are the estimator's own
            else:
                setattr(self, family, self._part(family).set_params(**changes))
        return self

    def _part(self, family: str) -> Part:
        value = getattr(self, family)
        return value if isinstance(value, Part) else FAMILIES[family][value]()

    def _inner_params(self, family: str) -> dict[str, Any]:
        """Parameters of the part in use; none if there is no part."""
        value = getattr(self, family)
        if isinstance(value, Part):
            return value.get_params()
        if not isinstance(value, str) or value not in FAMILIES[family]:
            return {}
        if family == "kernel":
            return {
                field.name: getattr(self, field.name) for field in fields(FAMILIES[family][value])
            }
        return self._part(family).get_params()

    def _validate_params(self) -> None:
        for name, family in FAMILIES.items():
            value = getattr(self, name)
            named = isinstance(value, str) and value in family
            absent = name == "loss" and value is None
            if not (named or absent or isinstance(value, tuple(family.values()))):
                raise BudgetronError(
                    f"{name}={value!r} is not one of {', '.join(map(repr, family))}, nor a part of "
                    f"budgetron.parts.{LISTS[name]}"
                )
        super()._validate_params()

    # ---- the budget, which is a part's size ------------------------------------------------------

    def _budget_in(self, params: dict[str, Any]) -> Any:
        # A name means its class, which has the default; a wrong name is refused elsewhere.
        budget = params["budget"]
        part = FAMILIES["budget"].get(budget) if isinstance(budget, str) else budget
        return getattr(part, "size", None) or None  # 0 is no limit

    def _with_budget(self, params: dict[str, Any], budget: Any) -> dict[str, Any]:
        now = params["budget"]
        part = now if isinstance(now, Part) else FAMILIES["budget"][now]()
        if not hasattr(part, "size"):
            raise BudgetronError(f"budget {part.kind!r} has no size to set")
        return {**params, "budget": part.set_params(size=budget)}

    def _apart_from_budget(self, params: dict[str, Any]) -> dict[str, Any]:
        given = {family: params[family] for family in ("loss", "update", "budget")}
        for family, part in given.items():  # a name means a part with its default parameters
            known = isinstance(part, str) and part in FAMILIES[family]
            given[family] = FAMILIES[family][part]() if known else part
        if hasattr(given["budget"], "size"):
            given["budget"] = given["budget"].set_params(size=0)
        return {**super()._apart_from_budget(params), **given}

    @property
    def _least_budget(self) -> int:
        known = isinstance(self.budget, str) and self.budget in FAMILIES["budget"]
        if not known and not isinstance(self.budget, Part):
            return 1  # no part: it is refused elsewhere
        sizes = [field for field in fields(self._part("budget")) if field.name == "size"]
        return max([1, *(int(ranges_of(field)[0].low) for field in sizes)])  # 0 is no limit

    # ---- the machine -----------------------------------------------------------------------------

    def _kernel_part(self, width: int) -> Part:
        return self.kernel if isinstance(self.kernel, Part) else super()._kernel_part(width)

    def _preparation(self, width: int) -> Preparation:
        given = super()._preparation(width)
        # A kernel that is a part has its own gamma.
        return replace(given, gamma_rule="fixed") if isinstance(self.kernel, Part) else given

    def _machine(self, kernel: Part) -> Learner:
        update, budget = self._part("update"), self._part("budget")
        if self.loss is not None:
            if "loss" not in update.get_params(deep=False):
                with_loss = [
                    name for name, part in FAMILIES["update"].items() if hasattr(part, "loss")
                ]
                raise BudgetronError(
                    f"loss={self.loss!r} does not go with update {update.kind!r}, which follows a "
                    f"rule of its own; updates with a loss are {' and '.join(map(repr, with_loss))}"
                )
            update = update.set_params(loss=self._part("loss"))
        for part in (kernel, update, budget):
            part.check()
        return Round(kernel, update, budget, inf if self.radius is None else float(self.radius))
