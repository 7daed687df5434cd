"""The trace: each round the NumPy page starts from the native state and must end where it ends."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from cases import KERNELS, TOLERANCE, Case, as_format

from papers.catalogue import PAGES
from papers.kernels import make_kernel
from papers.page import Page
from papers.random import Random

# Rounds in which the two took different branches because a quantity was within rounding of its
# threshold: at most one in a thousand. Margins that are 0 or 1 but for rounding are no accident
# (the sigmoid of an all-zero row where signs balance; a row repeated after a passive-aggressive
# step put its margin at 1): at most two in a hundred.
# Parameters that are not the learner's own: of the kernel, and of what is around every learner.
AROUND = {
    *("kernel", "gamma", "degree", "coef0"),
    *("scale", "average", "n_epochs", "shuffle", "n_jobs", "class_weight", "random_state"),
}
MOST_SPLITS = 1e-3
MOST_TIES = 2e-2


# Where a trace starts; the rows before are learned natively. Sparse rows give the bits of dense
# ones (test_agnosticism.py), so the trace of them is of a model that is full already.
STARTS = {"dense": 1, "csr": 300}


def make_page(case: Case, kernel: str, width: int, n_outputs: int, seed: int = 0) -> Page:
    page, fixed = PAGES[case.name]
    words = KERNELS[kernel]
    function = make_kernel(
        words["kernel"], words.get("gamma", 1.0), words.get("degree", 3), words.get("coef0", 0.0)
    )
    own = {
        name: value for name, value in case.make(kernel).get_params().items() if name not in AROUND
    }
    # A feature map needs the kernel's density, not its values.
    described = {"kind": words["kernel"], "gamma": words.get("gamma", 1.0)}
    own |= {name: described[name] for name in described if name in signature(page).parameters}
    own |= {"task": case.task}
    return page(function, width, n_outputs=n_outputs, seed=seed, **{**fixed, **own})


def find_field(state: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The learner's field of a saved state whose last word is `name`."""
    found = [
        value
        for path, value in state.items()
        if path.endswith("/" + name) and path.startswith("learner/")
    ]
    assert len(found) == 1, f"{name}: {len(found)} fields in {sorted(state)}"
    return found[0]


def read_remembered(
    state: dict[str, np.ndarray], name: str, width: int, n_outputs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and coefs of the expansion `name` that a learner keeps beside f, oldest first."""
    where = f"learner/{name}/"
    support = {
        path.removeprefix(where + "support/"): value
        for path, value in state.items()
        if path.startswith(where + "support/")
    }
    rows = np.zeros((len(support["ends"]), width))
    starts = np.append(0, support["ends"][:-1])
    index = 0
    for i, (start, end) in enumerate(zip(starts, support["ends"], strict=True)):
        if support["widths"][i] >= 0:
            rows[i] = support["values"][start:end]
        else:
            rows[i, support["indices"][index : index + end - start]] = support["values"][start:end]
            index += end - start
    coefs = state[where + "coefs"].reshape(n_outputs, -1)[:, : len(rows)].T
    order = np.argsort(state[where + "ids"][: len(rows)])
    return rows[order], coefs[order]


def restore(page: Page, native: Any, width: int) -> None:
    """Put the native state into the page."""
    state = native.save()
    indptr, indices, values = native.support()
    page.support = np.zeros((len(indptr) - 1, width))
    page.support[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices] = values
    page.coef = native.coefs().copy()
    page.ids = native.ids().copy()
    page.t = native.seen
    page.random = Random(state["random/words"])
    for name in page.carried:
        value = find_field(state, name)
        before = getattr(page, name)
        if np.ndim(before) == 0:
            setattr(page, name, type(before)(value[0]))
        else:
            setattr(page, name, value.reshape(page.shape_of(name, value.size)))
    for name in page.remembered:
        rows, aims = read_remembered(state, name, width, page.coef.shape[1])
        setattr(page, f"{name}_rows", rows)
        setattr(page, f"{name}_aims", aims)


def in_order(ids: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Coefs by age; of examples of one round, as a merge makes them, the smaller coef first."""
    return coefs[np.lexsort((coefs[:, 0], ids))]


def close(ours: np.ndarray, theirs: np.ndarray, rtol: float, atol: float) -> bool:
    """np.allclose of arrays of one shape and finite numbers, at a tenth of its time."""
    same = ours.shape == theirs.shape
    return same and bool((np.abs(ours - theirs) <= atol + rtol * np.abs(theirs)).all())


def differences(page: Page, native: Any, tolerance: float) -> list[str]:
    """Where the two differ after a round."""
    wrong = []
    ids, coefs = native.ids(), native.coefs()
    if sorted(ids) != sorted(page.ids):
        wrong.append(f"stored ids {sorted(ids)} against the page's {sorted(page.ids)}")
    else:
        ours, theirs = in_order(ids, coefs), in_order(page.ids, page.coef)
        scale = 1.0 + np.abs(theirs).max(initial=0.0)
        if not close(ours, theirs, rtol=0, atol=tolerance * scale):
            wrong.append(f"coefs differ by {np.abs(ours - theirs).max()}")
    state = native.save() if page.carried or page.remembered else {}
    for name in page.carried:
        ours, theirs = find_field(state, name), np.ravel(getattr(page, name))
        if not close(ours, theirs, rtol=1e-8, atol=1e-9):
            wrong.append(f"{name}: {ours} against the page's {theirs}")
    for name in page.remembered:
        theirs = getattr(page, f"{name}_rows"), getattr(page, f"{name}_aims")
        ours = read_remembered(state, name, page.support.shape[1], page.coef.shape[1])
        if not all(map(np.array_equal, ours, theirs)):
            wrong.append(f"{name}: {ours} against the page's {theirs}")
    return wrong


def run_trace(
    case: Case,
    kernel: str,
    X: np.ndarray,
    y: np.ndarray,
    classes: int,
    layout: str,
    weights: np.ndarray | None = None,
    first: int = 1,
) -> Any:
    """Run both over the rows from `first` on, those before are learned natively.

    Returns the estimator for further questions.

    `classes` is 0 for regression.
    """
    model = case.make(kernel, random_state=1)
    rows = as_format(X, layout)
    weights = np.ones(len(y)) if weights is None else weights
    known = {"classes": np.arange(classes)} if classes else {}
    model.partial_fit(rows[:first], y[:first], sample_weight=weights[:first], **known)
    kinks = (0.0, 1.0) if classes else (0.0, -case.params.get("epsilon", 0.0))
    native = model._engine.native
    page = make_page(case, kernel, X.shape[1], native.outputs, model._engine.seed)
    splits = ties = 0
    for t in range(first, len(y)):
        restore(page, native, X.shape[1])
        target = 2.0 * y[t] - 1.0 if classes == 2 else y[t]
        expected = page.learn(X[t], target, weights[t])
        now = slice(t, t + 1)
        decision = model._engine.learn(rows[now], y[now].astype(float), weights[now], record=True)
        decision = decision[0]
        atol = TOLERANCE * (1 + np.abs(expected).max())
        assert close(decision, expected, TOLERANCE, atol), f"round {t}: {decision}, {expected}"
        wrong = differences(page, native, case.tolerance)
        margin, _ = page.aim(expected, target)
        if wrong and min(abs(margin - kink) for kink in kinks) <= TOLERANCE:
            ties += 1
            assert ties <= MOST_TIES * len(y), f"round {t}: {wrong}"
        elif wrong:
            splits += 1
            assert splits <= max(1, MOST_SPLITS * len(y)), f"round {t}: {wrong}"
    native.check_invariants()
    return model
