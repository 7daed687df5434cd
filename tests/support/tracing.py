"""The trace: in each round the NumPy page starts from the native state and must reach the same.

No difference is allowed. If rounding decides what a learner does, the native result must be that of
the page with the decision made the other way. There are three such ties, each within tolerance: the
margin is at a kink of the learner (`Page.kinks`), two best wrong classes have the same output, or
two stored examples have the least score (`Page.least`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from math import inf, nextafter
from typing import Any

import numpy as np

from papers.catalogue import PAGES
from papers.kernels import make_kernel
from papers.page import Page
from papers.random import Random
from tests.support.cases import KERNELS, TOLERANCES, Case, as_format, attempts
from tests.support.native import engine_of, learn_rows, native_of, state_of

# Parameters that are not the learner's own: those of the kernel, and those that all learners share.
AROUND = {
    *("kernel", "gamma", "degree", "coef0"),
    *(
        "scale",
        "target_scale",
        "intervals",
        "sets",
        "average",
        "n_epochs",
        "shuffle",
        "missing",
        "n_jobs",
        "class_weight",
        "random_state",
        "relevance",
    ),
}
# Rounds in which rounding decided. Margins that are 0 or 1 up to rounding have causes (the sigmoid
# of an all-zero row when signs balance; a row repeated after a passive-aggressive step put its
# margin at 1): at most three in two hundred.
MOST_TIES = 1.5e-2


@dataclass(frozen=True)
class Tie:
    """The decisions of a round, made in another way than the page's own."""

    margin: float | None = None  # instead of the page's own, on one side of a kink
    rival: int | None = None  # the best wrong class
    choice: tuple[int, int] | None = None  # which call of `least`, and the place that it returns


class Traced(Page):
    """A page with prescribed decisions for ties, which notes the ties of the last round."""

    tie = Tie()
    tolerance = 0.0
    choices: tuple[np.ndarray, ...] = ()  # for each call of `least`, the places of the tied

    def aim(self, f: np.ndarray, y: float) -> tuple[float, np.ndarray]:
        if self.tie.rival is not None:
            f = f.copy()
            f[self.tie.rival] = nextafter(max(f[k] for k in range(f.size) if k != int(y)), inf)
        margin, u = super().aim(f, y)
        return margin if self.tie.margin is None else self.tie.margin, u

    def least(self, score: np.ndarray, same: float = 0.0) -> int:
        call = len(self.choices)
        room = self.tolerance * np.abs(score[np.isfinite(score)]).max(initial=0.0)
        self.choices += (np.flatnonzero(score <= score.min() + room),)
        if self.tie.choice is not None and self.tie.choice[0] == call:
            return self.tie.choice[1]
        return super().least(score, same)

    def ties(self, f: np.ndarray, y: float, x: np.ndarray) -> Iterator[Tie]:
        """The other ways to decide the last round, which started from the page's current state."""
        room = self.tolerance * (1 + np.abs(f).max())
        rivals: list[int | None] = [None]
        if f.size > 1:
            wrong = {k: f[k] for k in range(f.size) if k != int(y)}
            near = [k for k, output in wrong.items() if output >= max(wrong.values()) - room]
            rivals += near if len(near) > 1 else []
        for rival in rivals:
            self.tie = Tie(rival=rival)
            margin, _ = self.aim(f, y)
            sides = [
                nextafter(kink, side)
                for kink in self.kinks(x)
                if abs(margin - kink) <= room
                for side in (-inf, inf)
            ]
            for side in [None, *sides]:
                yield Tie(side, rival)
        for call, places in enumerate(self.choices):
            yield from (Tie(choice=(call, place)) for place in places if places.size > 1)


def make_page(
    case: Case,
    kernel: str,
    width: int,
    n_outputs: int,
    seed: int = 0,
    dtype: str = "float64",
) -> Any:
    page = PAGES[case.name]
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
    own |= {"task": case.task, "dtype": dtype}
    traced = type(page.__name__, (Traced, page), {})
    return traced(function, width, n_outputs=n_outputs, seed=seed, **own)


@lru_cache
def find_path(paths: tuple[str, ...], name: str) -> str:
    """The path of the learner's field whose last word is `name`."""
    found = [path for path in paths if path.startswith("learner/") and path.endswith("/" + name)]
    assert len(found) == 1, f"{name}: {len(found)} fields in {sorted(paths)}"
    return found[0]


def find_field(state: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The learner's field of a saved state whose last word is `name`."""
    return state[find_path(tuple(state), name)]


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


class State:
    """What the native model holds after a round, in the page's terms; read once per round."""

    def __init__(self, native: Any, page: Page) -> None:
        width, outputs = page.support.shape[1], page.coef.shape[1]
        saved = native.save()
        indptr, indices, values = native.support()
        self.support = np.zeros((len(indptr) - 1, width))
        self.support[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices] = values
        self.coef, self.ids, self.t = native.coefs(own=True), native.ids(), native.seen
        self.words = saved["random/words"]
        self.carried = {name: find_field(saved, name) for name in page.carried}
        self.remembered = {
            name: read_remembered(saved, name, width, outputs) for name in page.remembered
        }

    def put(self, page: Page) -> None:
        """Set the page to the state of the native model."""
        page.support, page.coef, page.ids = self.support.copy(), self.coef.copy(), self.ids.copy()
        page.t = self.t
        page.random = Random(self.words)
        for name, value in self.carried.items():
            before = getattr(page, name)
            if np.ndim(before) == 0:
                setattr(page, name, type(before)(value[0]))
            else:
                setattr(page, name, value.reshape(page.shape_of(name, value.size)))
        for name, (rows, aims) in self.remembered.items():
            setattr(page, f"{name}_rows", rows)
            setattr(page, f"{name}_aims", aims)


def in_order(ids: np.ndarray, *numbers: np.ndarray) -> list[np.ndarray]:
    """By age; examples of one round, as a merge makes them, along an arbitrary direction."""
    key = sum(each @ np.sqrt(np.arange(2.0, 2.0 + each.shape[1])) for each in numbers)
    order = np.lexsort((key, ids))
    return [each[order] for each in numbers]


def close(ours: np.ndarray, theirs: np.ndarray, rtol: float, atol: float) -> bool:
    """np.allclose for arrays of one shape with finite numbers, in a tenth of its time."""
    same = ours.shape == theirs.shape
    return same and bool((np.abs(ours - theirs) <= atol + rtol * np.abs(theirs)).all())


def differences(page: Traced, native: State, tolerance: float) -> list[str]:
    """Where the two differ after a round: `tolerance` for coefs, the page's for the rest."""
    wrong = []
    if sorted(native.ids) != sorted(page.ids):
        wrong.append(f"stored ids {sorted(native.ids)} against the page's {sorted(page.ids)}")
    else:
        ours = in_order(native.ids, native.coef, native.support)
        theirs = in_order(page.ids, page.coef, page.support)
        for what, one, other in zip(("coefs", "rows"), ours, theirs, strict=True):
            within = tolerance if what == "coefs" else page.tolerance
            scale = 1.0 + np.abs(other).max(initial=0.0)
            if not close(one, other, rtol=0, atol=within * scale):
                wrong.append(f"{what} differ by {np.abs(one - other).max()}")
    for name, one in native.carried.items():
        other = np.ravel(getattr(page, name))
        if not close(one, other, rtol=10 * page.tolerance, atol=page.tolerance):
            wrong.append(f"{name}: {one} against the page's {other}")
    for name, (rows, aims) in native.remembered.items():
        other = getattr(page, f"{name}_rows"), getattr(page, f"{name}_aims")
        if not all(map(np.array_equal, (rows, aims), other)):
            wrong.append(f"{name}: {rows, aims} against the page's {other}")
    return wrong


def learn(page: Traced, before: State, tie: Tie, x: np.ndarray, y: float, weight: float) -> Any:
    """The page's round from this state, with ties decided like this; returns the decision."""
    before.put(page)
    page.tie, page.choices = tie, ()
    return page.learn(x, y, weight)


def run_trace(
    case: Case,
    kernel: str,
    X: np.ndarray,
    y: np.ndarray,
    classes: int,
    layout: str,
    weights: np.ndarray | None = None,
    dtype: str = "float64",
) -> Any:
    """Run both over the rows from the second on; the first is learned natively.

    Returns the estimator.

    `classes` is 0 for regression. `dtype` is that of the rows; the page computes in float64.
    """
    model = case.make(kernel, random_state=1)
    rows = as_format(X.astype(dtype), layout)
    X = X.astype(dtype).astype(float)
    weights = np.ones(len(y)) if weights is None else weights
    known = {"classes": np.arange(classes)} if classes else {}
    model.partial_fit(rows[:1], y[:1], sample_weight=weights[:1], **known)
    native = native_of(model)
    page = make_page(case, kernel, X.shape[1], native.outputs, engine_of(model).seed, dtype)
    page.tolerance = tolerance = TOLERANCES[dtype]
    of_coefs = case.tolerances.get(dtype, tolerance)
    after = State(native, page)
    ties = 0
    for t in range(1, len(y)):
        before = after
        target = 2.0 * y[t] - 1.0 if classes == 2 else y[t]
        expected = learn(page, before, Tie(), X[t], target, weights[t])
        now = slice(t, t + 1)
        decision = learn_rows(native, rows[now], y[now].astype(float), weights[now], record=True)[0]
        atol = tolerance * (1 + np.abs(expected).max())
        assert close(decision, expected, tolerance, atol), f"round {t}: {decision}, {expected}"
        after = State(native, page)
        wrong = differences(page, after, of_coefs)
        if not wrong:
            continue
        before.put(page)
        for tie in list(page.ties(expected, target, X[t])):
            learn(page, before, tie, X[t], target, weights[t])
            if not differences(page, after, of_coefs):
                break
        else:
            raise AssertionError(f"round {t}: {wrong}")
        ties += 1
        assert ties <= MOST_TIES * len(y), f"round {t}: {wrong}, one tie too many"
    native.check_invariants()
    return model


def ran_through(model: Any, case: Case) -> None:
    """The stream took a traced model through the branches that its case is for."""
    if case.budget is not None:
        assert model.n_support_ <= case.budget
        assert attempts(model) >= 3 * case.budget, "the stream was too easy to mean anything"
    state = state_of(model)
    for branch in case.branches:
        assert find_field(state, branch)[0] >= 2, f"{branch} hardly happened"
