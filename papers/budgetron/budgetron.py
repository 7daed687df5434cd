"""Budgetron: AROW (Crammer, Kulesza & Dredze 2009) over the coefs of a budgeted kernel machine.

    f(x) = w.x + c + sum_i a_i k(x_i, x)

It keeps a Gaussian belief over (c, w, a): a mean, and a covariance that starts as diag(tau I, Kinv)
with Kinv the inverse Gram matrix, and tau/10 for c. `form` "full": one covariance P over all.
"diagonal": P over the coefs alone; c and every w_j have a variance of their own. "none": there is
no straight part, w = c = 0. The coordinates of x are (1, x_j for the features j seen so far, in the
order in which they were first nonzero). Examples are in the order of age, the oldest first.

The reflex is a second mean over the same examples and features. It always learns as if nothing had
been learned: with diag(tau I, Kinv) as its covariance. The answer is the mean of both, weighted by
the recent mistakes that each would have made, with a head start for the belief; in regression with
the weights that would have had the least recent squared error.

The compiled learner stores P and Kinv as factors U D U' with U unit upper triangular, packed by
columns, D_j at the end of column j: `belief` and `prior`.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import Any, ClassVar

import numpy as np

from papers.kernels import Matrix
from papers.page import Page, Vector

YOUNG = 100
NONE, FULL, DIAGONAL = 0, 1, 2  # form
FEATURES = 64  # features that always have a weight, however many examples there are
DENSE = 100  # nonzero values: in rows with more, examples do better than a straight part
LEVEL = 200  # rows over which the constant of a regression follows the targets
HEAD_START = 4.0  # mistakes by which the reflex must be better
DOUBTED = 10  # factor of r: the noise of a target for the reflex of a regression


class Budgetron(Page):
    algorithms = ("budgetron",)
    carried: tuple[str, ...] = (
        "belief", "prior", "fast", "slow", "watched", "window", "young", "mean_error", "errors",
    )  # fmt: skip
    of_straight: ClassVar[tuple[str, ...]] = (
        "form", "features", "weights", "variances", "rows", "mean_square", "nonzeros", "widest",
    )  # fmt: skip

    of_share: ClassVar[tuple[str, ...]] = (
        "belief_mistakes", "reflex_mistakes", "weights_sum", "squares_sum", "rows_sum",
    )  # fmt: skip
    of_mix: ClassVar[tuple[str, ...]] = (
        "reflex_gains", "reflex_squares", "reflex_leads", "reflex_rows",
    )  # fmt: skip

    def __init__(
        self,
        *where: Any,
        budget: int,
        r: float,
        jitter: float,
        replace: str = "never",
        straight: str = "none",
        floor: float = 0.0,
        reflex: bool = False,
        kind: str = "rbf",
        **more: Any,
    ) -> None:
        super().__init__(*where, **more)
        self.B, self.r, self.jitter, self.replace = budget, r, jitter, replace
        self.floor, self.turns = floor, straight == "auto"
        self.keeps_straight = False  # even if rows are dense
        self.form = {"none": NONE, "diagonal": DIAGONAL}.get(straight, FULL)
        if kind == "linear":
            self.form = NONE  # the kernel part is already linear
        if self.form != NONE:
            self.carried += self.of_straight
        self.reflects = reflex
        if reflex:
            self.carried += ("reflex",)
            self.carried += ("reflex_weights",) if self.form != NONE else ()
            self.carried += self.of_mix if self.regresses else self.of_share
        # In regression, sums over 500 rounds; and the rows since they started.
        self.reflex_gains = self.reflex_squares = self.reflex_leads = self.reflex_rows = 0.0
        self.belief_mistakes = self.reflex_mistakes = 0.0  # in the last 500 rounds
        # Their weights, the squares of these, and how many rows there are.
        self.weights_sum = self.squares_sum = self.rows_sum = 0.0
        self.reflex = np.zeros((0, self.coef.shape[1]))
        self.reflex_weights = np.zeros((0, self.coef.shape[1]))
        self.features = np.zeros(0, dtype=np.int32)
        self.weights = np.zeros((0, self.coef.shape[1]))  # c, then w: one row per coordinate
        self.variances = np.zeros(0)  # for the diagonal form
        self.rows, self.mean_square, self.nonzeros = 0, 0.0, 0.0  # means of the first 200 rows
        self.widest = 0
        self.P, self.Kinv = np.zeros((0, 0)), np.zeros((0, 0))
        self.fast = self.slow = 0.0  # mistake rates of the last 100 and 2000 rounds
        self.watched = self.window = 0
        # Rows of each class that still do not count; YOUNG + 1: no row yet.
        self.young = np.full(max(2, self.coef.shape[1]), YOUNG + 1)
        self.mean_error, self.errors = 0.0, 0  # in regression

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        weight = float(np.sqrt(self.inner(u, u)))  # weight of the row: 1 by default
        u = u / weight
        wanted = max(1.0, weight)
        k, loss = self.by_age(row), -margin if self.regresses else wanted - margin
        r = self.r / (weight if self.regresses else min(1.0, weight))
        if self.form != NONE:
            self.count(x)
        follows = self.replace in ("auto", "recent")
        if follows and self.regresses:
            self.watch(min(1.0, -margin / (4 * self.mean_error)) if self.mean_error > 0 else 1.0)
        elif follows and self.watches(int(np.argmax(u)) if u.size > 1 else int(u[0] > 0)):
            self.watch(margin <= 0)
        losses, ways = [loss], [u]
        if self.reflects and self.regresses:
            target = float(f[0] + u[0] * loss)
            losses, ways = self.errors_of(x, k, target)
            fades = min(1.0, weight) / 500
            error, apart = losses[0] * ways[0][0], losses[0] * ways[0][0] - losses[1] * ways[1][0]
            self.reflex_gains += weight * error * apart - self.reflex_gains * fades
            self.reflex_squares += weight * apart**2 - self.reflex_squares * fades
            lead = weight * apart * (2 * error - apart)
            self.reflex_leads += lead**2 - self.reflex_leads * fades
            self.reflex_rows += min(1.0, weight)
        elif self.reflects:
            losses, ways = self.aims(x, k, u, wanted)
            fades = min(1.0, weight) / 500
            self.weights_sum += weight - self.weights_sum * fades
            self.squares_sum += weight**2 - self.squares_sum * fades
            self.rows_sum += min(1.0, weight) - self.rows_sum * fades
            by = weight * (self.weights_sum / self.squares_sum)  # 1 without weights
            self.belief_mistakes += by * (losses[0] >= wanted) - self.belief_mistakes * fades
            self.reflex_mistakes += by * (losses[1] >= wanted) - self.reflex_mistakes * fades
        stirs = self.reflects and self.stirs(losses[1], wanted)
        if losses[0] <= 0 and not stirs and not self.regresses:
            return
        if self.wants(margin):
            full = self.size == self.B
            open_ = self.replace == "auto" and (self.window > 0 or self.leads)
            replaces = full and (self.replace in ("always", "recent") or open_)
            novel = (replaces or not full) and self.novelty(x, k) > self.jitter
            if novel and replaces:
                k = self.let_go(k)
                now = float(self.inner(u, self.decide(x, k)))
                losses = [max(0.0, wanted - now)]
                if self.regresses:
                    losses = [loss + float(self.inner(u, f)) - now]
                if self.reflects:
                    losses, ways = (
                        self.errors_of(x, k, target)
                        if self.regresses
                        else self.aims(x, k, u, wanted)
                    )
            if novel:
                k = self.admit(x, k)
        if self.size > 0 or self.form != NONE:
            if self.form != NONE:
                self.see(x)
            if self.regresses:  # the level of the targets may have moved
                self.unsettle_constant()
            if losses[0] > 0 or not self.reflects or self.regresses:
                self.update(x, k, losses[0], ways[0], r)
            if self.reflects and self.stirs(losses[1], wanted):
                self.update_reflex(x, k, losses[1], ways[1], r)

    def decide(self, x: Vector, row: Vector) -> Vector:
        z = self.coordinates(x)
        f: Vector = row @ self.coef + z @ self.weights
        if self.reflects:
            other = row[np.argsort(self.ids)] @ self.reflex + z @ self.reflex_weights
            f = self.share * f + (1 - self.share) * other
        return f

    def update(self, x: Vector, k: Vector, loss: float, u: Vector, r: float) -> None:
        others = max(1, u.size - 1)  # directions in which outputs differ
        z, n = self.coordinates(x), self.first
        if self.form == FULL:
            k = np.append(z, k)
        v = self.P @ k
        s = float(k @ v)
        if self.form == DIAGONAL:
            s += float(self.variances @ z**2)
        move = loss / (s + r) * u
        self.coef = self.coef + np.outer(v[n:], move)
        if self.form == FULL:
            self.weights = self.weights + np.outer(v[:n], move)
        if self.form == DIAGONAL:
            self.weights = self.weights + np.outer(self.variances * z, move)
            self.variances = 1 / (1 / self.variances + z**2 / (r * others))
        shrink = 1 / ((s + r) * others)
        if self.floor > 0:  # the rest of s stays above the floor
            shrink = min(shrink, max(0.0, (s - self.floor) / s**2))
        self.P = self.P - shrink * np.outer(v, v)

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return (-self.mean_error,) if self.regresses else (0.0, 1.0)

    def wants(self, margin: float) -> bool:
        """Admit mistakes, or every row; in regression, errors above the mean of those before."""
        if not self.regresses:
            return margin <= 0 or self.replace == "recent"
        above = -margin > self.mean_error
        self.errors += 1
        error = min(-margin, 10 * self.mean_error) if self.mean_error > 0 else -margin
        self.mean_error += (error - self.mean_error) / min(self.errors, 1000)
        return above

    def novelty(self, x: Vector, k: Vector) -> float:
        """The part of x that the stored examples do not span; at most jitter for a copy of one."""
        return float(self.self_kernel(x) - k @ self.Kinv @ k)

    def admit(self, x: Vector, k: Vector) -> Vector:
        d, kxx = self.Kinv @ k, self.self_kernel(x)
        delta2 = max(self.novelty(x, k) + self.jitter, self.jitter)
        border = np.append(-d, 1.0)
        self.Kinv = np.pad(self.Kinv, (0, 1)) + np.outer(border, border) / delta2
        border = np.append(np.zeros(self.first), border)
        self.P = np.pad(self.P, (0, 1)) + np.outer(border, border) / delta2
        self.add(x, np.zeros(self.coef.shape[1]))
        if self.reflects:
            self.reflex = np.pad(self.reflex, ((0, 1), (0, 0)))
        if self.size == self.B and self.replace == "never" and not self.reflects:
            self.Kinv = np.zeros((0, 0))  # no longer needed
        return np.append(k, kxx)

    def let_go(self, k: Vector) -> Vector:
        """Condition on a_i = 0 for the i whose coef is least certain to differ from 0; i leaves."""
        n = self.first
        oldest = self.leads or self.replace == "recent"
        i = 0 if oldest else self.least(self.sizes() ** 2 / np.diag(self.P)[n:])
        known = self.coef[i] / self.P[n + i, n + i]
        if oldest:  # nothing bounds how certain the coef of the oldest is
            self.coef = self.coef - np.outer(self.Kinv[i], self.coef[i] / self.Kinv[i, i])
        else:
            if n > 0:
                self.weights = self.weights - np.outer(self.P[n + i, :n], known)
            self.coef = self.coef - np.outer(self.P[n + i, n:], known)
        self.drop(i)
        if self.reflects:
            known = self.reflex[i] / self.Kinv[i, i]
            self.reflex = np.delete(self.reflex - np.outer(self.Kinv[i], known), i, 0)
        self.P, self.Kinv = (
            np.delete(np.delete(A - np.outer(A[j], A[j]) / A[j, j], j, 0), j, 1)
            for A, j in ((self.P, n + i), (self.Kinv, i))
        )
        return np.delete(k, i)

    def watches(self, code: int) -> bool:
        """False for the first rows of a class that came late: its mistakes are no drift."""
        self.young = self.young.copy()
        if self.young[code] > YOUNG:
            self.young[code] = 0 if self.watched < 500 else YOUNG
        if self.young[code] == 0:
            return True
        self.young[code] -= 1
        return False

    # ---- the reflex --------------------------------------------------------------------------

    @property
    def lead(self) -> float:
        """The mistakes by which the reflex is better, minus the required ones."""
        even = 1.0  # how many rows without weights give as much information as one of these
        if self.rows_sum > 0:
            even = min(1.0, self.weights_sum / self.squares_sum * self.weights_sum / self.rows_sum)
        return self.belief_mistakes - self.reflex_mistakes - HEAD_START / even

    @property
    def leads(self) -> bool:
        """Whether the reflex has more than half of the answer."""
        return self.reflects and not self.regresses and self.lead > 0

    @property
    def share(self) -> float:
        """The weight of the belief in the answer."""
        if self.regresses:
            squares = self.reflex_squares
            return 1 - min(1.0, max(0.0, self.reflex_gains / squares)) if squares > 0 else 1.0
        return 1 / (1 + exp(0.5 * self.lead))

    def stirs(self, loss: float, wanted: float) -> bool:
        """Whether the reflex learns: only from mistakes while it has almost no share."""
        if self.regresses:
            return True
        return loss >= wanted if self.share > 0.99 else loss > 0.2 * wanted

    def aims(
        self, x: Vector, k: Vector, u: Vector, wanted: float
    ) -> tuple[list[float], list[Vector]]:
        """The losses of belief and reflex, each against its own best wrong class."""
        z, losses, ways = self.coordinates(x), [], []
        for f in (k @ self.coef + z @ self.weights, k @ self.reflex + z @ self.reflex_weights):
            margin, way = float(u @ f), u
            if u.size > 1:
                margin, way = Page.aim(self, f, int(np.argmax(u)))
            losses.append(wanted - margin)
            ways.append(way)
        return losses, ways

    def errors_of(self, x: Vector, k: Vector, target: float) -> tuple[list[float], list[Vector]]:
        """In regression: sizes of the errors of belief and reflex, and their signs."""
        z = self.coordinates(x)
        parts = k @ self.coef + z @ self.weights, k @ self.reflex + z @ self.reflex_weights
        errors = [target - float(f[0]) for f in parts]
        return [abs(e) for e in errors], [np.array([-1.0 if e < 0 else 1.0]) for e in errors]

    def update_reflex(self, x: Vector, k: Vector, loss: float, u: Vector, r: float) -> None:
        z, v = self.coordinates(x), self.Kinv @ k
        kept = 1 - min(1.0, self.r / r) / 4000  # a row of small weight forgets less
        if self.regresses:
            r = DOUBTED * r
            loss = min(loss, 4 * self.mean_error) if self.mean_error > 0 else loss
        move = loss / (float(k @ v + self.tau * (z @ z)) + r) * u
        self.reflex = kept * self.reflex + np.outer(v, move)
        self.reflex_weights = self.reflex_weights + np.outer(self.tau * z, move)

    # ---- the straight part -------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The number of coordinates of P before those of the examples."""
        return len(self.weights) if self.form == FULL else 0

    @property
    def tau(self) -> float:
        """The initial variance of every w_j, and its variance in the reflex."""
        return min(0.2, 2 / (1 + self.mean_square))

    def beginning(self, count: int) -> Vector:
        """The initial variances of (c, w); c gets a tenth, or it alone would explain a class."""
        return self.tau * np.append(0.1, np.ones(count))[:count]

    def coordinates(self, x: Vector) -> Vector:
        return np.append(1.0, x[self.features])[: len(self.weights)]

    def count(self, x: Vector) -> None:
        if self.rows < 200:
            self.rows += 1
            self.mean_square += (float(x @ x) - self.mean_square) / self.rows
            self.nonzeros += (np.count_nonzero(x) - self.nonzeros) / self.rows
        dense = DENSE < self.nonzeros <= 2 * self.B
        counted = self.rows >= 20 or len(self.weights) == 0
        if self.turns and not self.keeps_straight and counted and dense:
            if self.form == FULL:
                self.turn_diagonal()
            self.form, self.features, self.variances = NONE, self.features[:0], np.zeros(0)
            self.weights, self.reflex_weights = self.weights[:0], self.reflex_weights[:0]

    def see(self, x: Vector) -> None:
        """Add coordinates for the constant and for new features."""
        self.widest = max(self.widest, np.count_nonzero(x))
        room = max(FEATURES, self.B * self.widest) - len(self.features)
        new = np.setdiff1d(np.flatnonzero(x), self.features)[: max(0, room)]
        n = len(self.weights)
        self.features = np.append(self.features, new).astype(np.int32)
        count = 1 + len(self.features) - n
        self.weights = np.pad(self.weights, ((0, count), (0, 0)))
        if self.reflects:
            self.reflex_weights = np.pad(self.reflex_weights, ((0, count), (0, 0)))
        if self.form == DIAGONAL:
            self.variances = np.append(self.variances, self.beginning(n + count)[n:])
        else:
            old = np.delete(np.arange(len(self.P) + count), np.s_[n : n + count])
            P = np.diag(np.append(self.beginning(n + count), np.zeros(self.size)))
            P[np.ix_(old, old)] = self.P
            self.P = P
            if self.turns and len(self.weights) > self.B:
                self.turn_diagonal()

    def unsettle_constant(self) -> None:
        grown = self.r / LEVEL**2 if self.floor > 0 else 0.0
        if self.form == DIAGONAL:
            self.variances = self.variances + np.append(grown, np.zeros(len(self.variances) - 1))
        if self.form == FULL:
            self.P = self.P.copy()
            self.P[0, 0] += grown

    def turn_diagonal(self) -> None:
        n = self.first
        self.variances = np.diag(self.P)[:n].copy()
        self.P, self.form = self.P[n:, n:], DIAGONAL

    def change_units(self, ratio: Vector, shift: Vector) -> None:
        """The old z_j is ratio_j z_j + shift_j for the features seen: f stays as far as it can."""
        n = len(self.weights)
        G = np.diag(np.append(1.0, ratio))
        G[0, 1:] = shift
        self.weights = G @ self.weights
        if self.reflects:
            self.reflex_weights = G @ self.reflex_weights
        if self.form == DIAGONAL:
            self.variances = np.diag(G * self.variances @ G.T).copy()
        elif self.form == FULL:
            whole = np.eye(len(self.P))
            whole[:n, :n] = G
            self.P = whole @ self.P @ whole.T
        self.rows = 0

    def watch(self, error: float) -> None:
        """Drift: the recent mistake rate is above the long-term one; errors of 0 to 1."""
        self.watched, self.window = self.watched + 1, max(0, self.window - 1)
        self.fast += (error - self.fast) / min(self.watched, 100)
        self.slow += (error - self.slow) / min(self.watched, 2000)
        spread = sqrt(self.slow * (1 - self.slow) / 200 + 1e-6)
        if self.watched > 500 and self.window == 0 and self.fast > self.slow + 4 * spread:
            self.slow, self.window = self.fast, 500
            self.errors = 0
        elif not self.takes_over:
            return
        if self.regresses and self.reflects:
            self.take_over()
        self.P = np.diag(np.append(self.beginning(self.first), np.zeros(self.size)))
        self.P[self.first :, self.first :] = self.Kinv
        self.variances = self.beginning(self.variances.size)

    @property
    def takes_over(self) -> bool:
        """In regression: the reflex clearly had the smaller squared errors for 500 rows."""
        lead = 2 * self.reflex_gains - self.reflex_squares
        return self.reflex_rows >= 500 and lead > 2 * sqrt(self.reflex_leads)

    def take_over(self) -> None:
        """In regression: the belief's mean becomes that of the answer; its share is 1."""
        p = self.share
        self.coef = p * self.coef + (1 - p) * self.reflex
        self.weights = p * self.weights + (1 - p) * self.reflex_weights
        self.reflex_gains = self.reflex_squares = self.reflex_leads = self.reflex_rows = 0.0

    # ---- in the form of the compiled learner --------------------------------------------------

    def by_age(self, row: Vector) -> Vector:
        order = np.argsort(self.ids)
        self.keep(order)
        return row[order]

    def shape_of(self, name: str, size: int) -> tuple[int, ...]:
        of_outputs = ("weights", "reflex", "reflex_weights")
        return super().shape_of(name, size) if name in of_outputs else (size,)

    @property
    def belief(self) -> Vector:
        return pack(self.P)

    @belief.setter
    def belief(self, packed: Vector) -> None:
        self.P = unpack(packed)

    @property
    def prior(self) -> Vector:
        return pack(self.Kinv)

    @prior.setter
    def prior(self, packed: Vector) -> None:
        self.Kinv = unpack(packed)


def pack(P: Matrix) -> Vector:
    """P = U D U' by columns: a Cholesky factor from the last row up, its diagonal taken out."""
    L = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]
    U = L / np.diag(L)
    np.fill_diagonal(U, np.diag(L) ** 2)
    return U.T[np.tril_indices(len(P))]


def unpack(packed: Vector) -> Matrix:
    n = int(sqrt(2 * packed.size))
    U = np.zeros((n, n))
    U.T[np.tril_indices(n)] = packed
    D = np.diag(U).copy()
    np.fill_diagonal(U, 1.0)
    return np.asarray(U * D @ U.T)
