"""Contracts of learners and parts, as checks that anybody can run on their own.

`check_learner` runs all that apply to a learner and reports the broken ones; `check_part` does so
for every learner that a part makes with the parts it works with. For pytest, `learner_checks` and
`part_checks` list them one by one:

    @pytest.mark.parametrize(("name", "check"), learner_checks(Mine(budget=10)))
    def test_contract(name, check):
        check()

A learner is anything with `partial_fit` and `predict`; River's have River's own checks
(`river.checks`), scikit-learn's interface scikit-learn's (`sklearn.utils.estimator_checks`). Give
it a small budget, about 10, so that a few hundred rows fill it many times. This library's own tests
run the same functions over all its learners. rows.py makes the data, same.py compares, contracts.py
has one function per contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from budgetron.checks import contracts
from budgetron.checks.contracts import Check
from budgetron.checks.same import ContractBroken
from budgetron.errors import BudgetronError
from budgetron.evaluate.adapters import task_of
from budgetron.parts import BUDGETS, KERNELS, LOSSES, UPDATES, Part

__all__ = [
    "ContractBroken",
    "check_learner",
    "check_part",
    "combination_checks",
    "learner_checks",
    "part_checks",
]

NamedCheck = tuple[str, Check]
_SMALL = 5  # budget of parts, so that 90 rows fill it many times
_ROWS = 90


# ---- learners ------------------------------------------------------------------------------------


def learner_checks(learner: Any) -> list[NamedCheck]:
    """Each contract that applies to the learner: its name, and a function without arguments.

    Parameters
    ----------
    learner : a learner that has not learned; it is cloned and does not change

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.checks import learner_checks
    >>> [name for name, _ in learner_checks(budgetron.make("rbp", budget=10))][:3]
    ['chunks_do_not_matter', 'batch_equals_loop', 'memory_layout_does_not_matter']
    """
    if isinstance(learner, type):
        raise BudgetronError(f"a class was given; give an object: {learner.__name__}()")
    if not (hasattr(learner, "partial_fit") and hasattr(learner, "predict")):
        raise BudgetronError(
            f"{type(learner).__name__} has no partial_fit and predict, "
            f"so these checks do not apply to it"
        )
    return [
        (check.__name__.removeprefix("check_"), partial(check, learner))
        for check in _applying(learner)
    ]


def _applying(learner: Any) -> Iterator[Check]:
    yield contracts.check_chunks_do_not_matter
    yield contracts.check_batch_equals_loop
    yield contracts.check_memory_layout_does_not_matter
    yield contracts.check_arrays_are_neither_changed_nor_kept
    if contracts.takes_gaps(learner):
        yield contracts.check_missing_values_are_taken
    yield contracts.check_deciding_changes_nothing
    yield contracts.check_resumes_exactly
    if hasattr(learner, "get_params"):
        yield contracts.check_clones_learn_alike
    yield contracts.check_asked_too_early_says_so
    yield contracts.check_odd_rows_stay_finite
    yield contracts.check_scales_stay_finite
    yield contracts.check_refused_calls_change_nothing
    if contracts.takes_sparse(learner):
        yield contracts.check_dense_equals_sparse
        yield contracts.check_sparse_rows_are_put_in_order
    if task_of(learner) == "classification":
        yield contracts.check_labels_of_any_type
    model = contracts.tried(learner)
    if contracts.stores(learner, model):
        yield contracts.check_budget_is_kept
        if hasattr(model, "memory_bytes_"):
            yield contracts.check_memory_is_constant_once_full
    if hasattr(learner, "explain") and getattr(learner, "_stores_examples", True):
        yield contracts.check_shares_sum_to_the_decision


def check_learner(learner: Any) -> list[str]:
    """Check every contract that applies to a learner; return the names of those checked.

    Parameters
    ----------
    learner : a learner that has not learned; it is cloned and does not change

    Raises
    ------
    ContractBroken
        If one or more are broken, or the learner fails in a check; one line each.

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.checks import check_learner
    >>> len(check_learner(budgetron.make("rbp", budget=10)))
    18
    """
    return _run(learner_checks(learner))


def _run(checks: list[NamedCheck]) -> list[str]:
    done: list[str] = []
    broken: list[str] = []
    for name, check in checks:
        done.append(name)
        try:
            check()
        except ContractBroken as error:
            broken.append(str(error))
        except Exception as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            broken.append(f"{error.__notes__[-1].removeprefix('in ')}: {what}")
    if broken:
        lines = "\n".join(broken)
        raise ContractBroken(f"{len(broken)} of {len(done)} contracts are broken:\n{lines}")
    return done


# ---- parts ---------------------------------------------------------------------------------------


def part_checks(part: Part) -> list[NamedCheck]:
    """Each contract of each learner that a part makes: its name, and a function without arguments.

    Parameters
    ----------
    part : a kernel, a loss, an update or a budget of classifiers; it is combined with all others
        that it works with

    Raises
    ------
    BudgetronError
        If it is none of these parts, or works with no other, with the reason of the last refusal.

    Examples
    --------
    >>> from budgetron.checks import part_checks
    >>> from budgetron.parts import RemoveOldest
    >>> name, check = part_checks(RemoveOldest(size=5))[0]
    >>> name
    'chunks_do_not_matter [rbf, perceptron, remove-oldest]'
    """
    _check_known(part)
    found: list[NamedCheck] = []
    refused: BudgetronError | None = None
    for model in _combinations(part):
        try:
            contracts.fresh(model).fit([[0.0], [1.0]], [0, 1])
        except BudgetronError as error:
            refused = error
            continue
        found += combination_checks(model)
    if not found:
        raise BudgetronError(f"{part!r} goes with nothing: {refused}")
    return found


def check_part(part: Part) -> list[str]:
    """Check the contracts of every learner that a part makes; return the names of those checked.

    Takes 5 seconds for a budget, which works with about a hundred combinations of the other parts,
    and 20 for a kernel.

    Parameters
    ----------
    part : a kernel, a loss, an update or a budget of classifiers

    Raises
    ------
    ContractBroken
        If one or more are broken; one line each.
    BudgetronError
        If it is not a part of classifiers, or works with no other.

    Examples
    --------
    >>> from budgetron.checks import check_part
    >>> from budgetron.parts import RemoveOldest
    >>> check_part(RemoveOldest(size=5))[0]
    'chunks_do_not_matter [rbf, perceptron, remove-oldest]'
    """
    return _run(part_checks(part))


def combination_checks(model: Any) -> list[NamedCheck]:
    """The contracts of one `KernelClassifier` of parts.

    Parameters
    ----------
    model : a `KernelClassifier`

    Examples
    --------
    >>> from budgetron import KernelClassifier
    >>> from budgetron.checks import combination_checks
    >>> names = [name for name, check in combination_checks(KernelClassifier())]
    """
    kernel, update, budget = (
        getattr(part, "kind", part) for part in (model.kernel, model.update, model.budget)
    )
    radius = "" if model.radius is None else f", radius {model.radius:g}"
    checks: list[Check] = [contracts.check_chunks_do_not_matter, contracts.check_resumes_exactly]
    if contracts.stores(model, contracts.tried(model)):
        checks.append(contracts.check_budget_is_kept)
    if model.radius is not None:
        checks.append(contracts.check_norm_ball_is_kept)
    found: list[NamedCheck] = []
    for check in checks:
        name = check.__name__.removeprefix("check_")
        how: dict[str, Any] = {"rows": _ROWS, "classes": 3}
        if check is contracts.check_chunks_do_not_matter:
            how["cuts"] = (1, 12, 41)
        what = f"{name} [{kernel}, {update}, {budget}{radius}]"
        found.append((what, partial(check, model, **how)))
    return found


def _check_known(part: Any) -> None:
    """Raise BudgetronError for something that no combination would contain."""
    known = (*KERNELS, *LOSSES, *UPDATES, *BUDGETS)
    if isinstance(part, type) and part in known:
        raise BudgetronError(f"a class was given; give an object: {part.__name__}()")
    if type(part) not in known:
        names = ", ".join(f"{each.__name__}()" for each in known)
        raise BudgetronError(f"{' '.join(repr(part).split())} must be one of {names}")


def _combinations(part: Part) -> Iterator[Any]:
    """A `KernelClassifier` of every combination with the part, also of refused ones."""
    from budgetron import KernelClassifier

    kernels = [part] if isinstance(part, KERNELS) else [each() for each in KERNELS]
    budgets = [part] if isinstance(part, BUDGETS) else [_small(each()) for each in BUDGETS]
    for kernel, update, budget, radius in product(kernels, _updates(part), budgets, (None, 1.5)):
        yield KernelClassifier(
            kernel=kernel, update=update, budget=budget, radius=radius, random_state=0
        )


def _updates(part: Part) -> list[Part]:
    """The updates that a part is combined with, with every loss or, if it is a loss, with it."""
    if isinstance(part, UPDATES):
        return [part]
    losses = [part] if isinstance(part, LOSSES) else [each() for each in LOSSES]
    found: list[Part] = []
    for each in UPDATES:
        if "loss" in each().get_params(deep=False):
            found += [each().set_params(loss=loss) for loss in losses]
        elif not isinstance(part, LOSSES):
            found.append(each())
    return found


def _small(budget: Part) -> Part:
    return budget.set_params(size=_SMALL) if hasattr(budget, "size") else budget
