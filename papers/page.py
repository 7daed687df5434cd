"""The base class of all pages: the hypothesis, the round around a step, and its algebra.

    f(x) = sum_i coef_i k(x_i, x)                       coef_i is a vector of K numbers

Two classes (K = 1): coef_i carries the label's sign, the target y is -1 or +1, u = y.
More classes: y is a class number, z the best wrong class, u = (e_y - e_z)/2, and coefs have the
inner product <p, q> = 2 p.q, so that <u, u> = 1 and <u, f> = f_y - f_z. Every formula of the
two-class papers then reads with u for y, <u, f> for y f(x), and |a| = sqrt(<a, a>).
Regression (K = 1): u = sign(e) with the error e = target - f (+1 for 0), and the margin is
<u, f - target> = -|e|: in both a larger margin is better.
A row of weight w has w u for u and the margin of u: it moves f by w times as much.

A page subclasses `Page`, lists its `algorithms`, uses the parameter names of its paper, and writes
two methods: `step`, and `kinks`, the margins at which `step` takes another branch.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from papers.kernels import Kernel, Matrix
from papers.random import Random

Vector = Matrix  # a 1-d float64 array
# A squared distance to a span below this share of k(x, x) cannot be distinguished from 0.
IN_SPAN = {"float64": 1e-10, "float32": 1e-4}


class Page:
    """A learner: `learn(x, y)` returns the decision made before the update.

    Attributes
    ----------
    support : (n, d) stored examples, oldest first unless the algorithm says otherwise
    coef : (n, K) their coefs, in true scale
    ids : (n,) the round in which each was stored, counted from 0 (a merged or replaced one: the
        round that made it)
    t : rounds seen before this one
    algorithms : its names in the catalogue of the library; one page may implement several, which
        differ in a parameter
    carried : names of further state that a page keeps between rounds (counters, sums, weights). The
        compiled learner keeps the same quantities under the same names.
    remembered : names of further rows a page keeps beside its support, oldest first: NAME_rows
        (n, d) and NAME_aims (n, K). The compiled learner has an expansion of that name.
    """

    algorithms: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    remembered: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        kernel: Kernel,
        width: int,
        n_outputs: int = 1,
        seed: int = 0,
        task: str = "classification",
        dtype: str = "float64",
    ) -> None:
        """`dtype` is that of the rows: it only determines what counts as rounding."""
        self.kernel = kernel
        self.in_span = IN_SPAN[dtype]
        self.regresses = task == "regression"
        self.support = np.zeros((0, width))
        self.coef = np.zeros((0, n_outputs))
        self.ids = np.zeros(0, dtype=np.int64)
        self.t = 0
        self.random = Random.seeded(seed)

    # ---- the round ---------------------------------------------------------------------------

    def learn(self, x: Vector, y: float, weight: float = 1.0) -> Vector:
        row = self.row(x)
        f = self.decide(x, row)
        margin, u = self.aim(f, y)
        if self.self_kernel(x) > 0:  # a row with k(x, x) <= 0 is predicted and not learned
            self.step(x, row, f, margin, weight * u)
        self.t += 1
        return f

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        """One update: `row` = k(x_i, x), `f` = f(x), `margin` = y f(x) (in general as above)."""
        raise NotImplementedError

    def kinks(self, x: Vector) -> tuple[float, ...]:
        """The margins at which `step` takes another branch and its result jumps."""
        raise NotImplementedError

    def decide(self, x: Vector, row: Vector) -> Vector:
        """The decision, K numbers."""
        return row @ self.coef

    def aim(self, f: Vector, y: float) -> tuple[float, Vector]:
        """The margin and the direction u in which f should move."""
        if self.regresses:
            error = y - float(f[0])
            return -abs(error), np.array([-1.0 if error < 0 else 1.0])
        if f.size == 1:
            return float(y * f[0]), np.array([float(y)])
        wrong = f.copy()
        wrong[int(y)] = -np.inf
        z = int(np.argmax(wrong))  # the first if several are equal
        u = np.zeros(f.size)
        u[int(y)], u[z] = 0.5, -0.5
        return float(f[int(y)] - f[z]), u

    def shape_of(self, name: str, size: int) -> tuple[int, ...]:
        """The shape of the carried array `name` when it holds `size` numbers: rows of K."""
        return (size // self.coef.shape[1], self.coef.shape[1])

    # ---- the algebra -------------------------------------------------------------------------

    def row(self, x: Vector) -> Vector:
        """k(x_i, x) for every stored x_i."""
        return self.kernel(self.support, x[None, :])[:, 0]

    def gram(self) -> Matrix:
        return self.kernel(self.support, self.support)

    def self_kernel(self, x: Vector) -> float:
        """k(x, x)."""
        return float(self.kernel(x[None, :], x[None, :])[0, 0])

    def self_kernels(self) -> Vector:
        """k(x_i, x_i) for every stored x_i."""
        return np.array([self.self_kernel(x) for x in self.support])

    def inner(self, p: Any, q: Any) -> Any:
        """<p, q> along the last axis."""
        p, q = np.asarray(p), np.asarray(q)
        return (1.0 if p.shape[-1] == 1 else 2.0) * (p * q).sum(axis=-1)

    def sizes(self) -> Vector:
        """|a_i| for every stored example."""
        return np.asarray(np.sqrt(self.inner(self.coef, self.coef)))

    def norm(self) -> float:
        """||f||, from the whole Gram matrix: slow and plain."""
        return float(np.sqrt(max(0.0, float(self.inner(self.coef, self.gram() @ self.coef).sum()))))

    def copies(self, i: int, among: Any) -> Any:
        """Which of the stored examples `among` (indices) are the same row as i."""
        return (self.support[among] == self.support[i]).all(axis=1)

    @property
    def size(self) -> int:
        return int(self.ids.size)

    def add(self, x: Vector, coef: Vector) -> None:
        """Store (x, coef) as the youngest example."""
        self.support = np.vstack([self.support, x[None, :]])
        self.coef = np.vstack([self.coef, coef[None, :]])
        self.ids = np.append(self.ids, self.t)

    def keep(self, which: Any) -> None:
        """Keep only the stored examples that `which` (a mask or indices) selects."""
        self.support, self.coef, self.ids = self.support[which], self.coef[which], self.ids[which]

    def drop(self, i: int) -> None:
        self.keep(np.arange(self.size) != i)

    def oldest(self, among: Any = None) -> int:
        """The oldest stored example, or the oldest of `among` (indices)."""
        candidates = np.arange(self.size) if among is None else np.asarray(among)
        return int(candidates[np.argmin(self.ids[candidates])])

    def least(self, score: Vector, same: float = 0.0) -> int:
        """The stored example with the least score; the oldest if several are equal.

        Scores above the least by at most its share `same` count as equal.
        """
        return self.oldest(np.flatnonzero(score <= score.min() * (1 + same)))


class SignPage(Page):
    """Base of the Perceptron's relatives: an error adds u, in regression step * u."""

    def __init__(self, *where: Any, step: float = 1.0, epsilon: float = 0.0, **more: Any) -> None:
        """`step` and `epsilon` are for regression only."""
        super().__init__(*where, **more)
        self.length, self.epsilon = step, epsilon

    def errs(self, margin: float) -> bool:
        """Whether y f <= 0 (a tie counts), or |target - f| > epsilon."""
        return margin < -self.epsilon if self.regresses else margin <= 0

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (-self.epsilon if self.regresses else 0.0,)
