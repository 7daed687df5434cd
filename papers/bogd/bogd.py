"""BOGD and BOGD++ (Zhao et al. 2012, algorithm 1): gradient descent that replaces a random example.

The example that leaves is drawn with probability p_i, and the others grow by 1/(1 - p_i), so that
in expectation the stored f is the plain gradient step. Positions are stable: the new example takes
the slot of the one that leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.losses import make_loss
from papers.page import Page, Vector


class BOGD(Page):
    algorithms = ("bogd", "bogd++")

    def __init__(
        self,
        *where: Any,
        budget: int,
        step: float,
        regularization: float,
        max_coef: float,
        sampling: str,
        loss: str,
        tau: float = 0.5,
        epsilon: float = 0.0,
        **more: Any,
    ) -> None:
        super().__init__(*where, **more)
        self.B, self.sampling = budget, sampling
        self.rate, self.decay = step, 1 - step * regularization
        self.cap = max_coef * step  # the gamma eta of Omega(eta gamma), eq. (3)
        self.loss = make_loss(loss, tau, epsilon)

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        slope = self.loss.slope(margin)
        weight = float(np.sqrt(self.inner(u, u)))  # of the row: 1 by default
        coef = min(-self.rate * slope, self.cap / weight) * u
        if slope == 0 or self.size < self.B:
            self.coef *= self.decay
            if slope != 0:
                self.add(x, coef)
            return
        i, p = self.draw()
        others = np.arange(self.size) != i
        self.coef[others] *= (self.decay / (1 - p[others]))[:, None]  # (10)
        self.clip()
        self.support[i], self.coef[i], self.ids[i] = x, coef, self.t

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return self.loss.kinks

    def draw(self) -> tuple[int, Vector]:
        """The example that leaves, and every p_i."""
        weight = self.sizes() * np.sqrt(self.self_kernels())  # |a_i| sqrt(k_ii)
        if self.sampling == "uniform" or not weight.any():
            return self.random.below(self.size), np.full(self.size, 1 / self.size)
        s = (self.B - 1) / weight.sum()
        p = np.maximum(0.0, 1 - s * weight)  # (16), without negative probabilities
        running = np.cumsum(p)
        mark = self.random.uniform() * running[-1]
        return int(np.argmax(mark < running)), p / running[-1]  # the first beyond the mark

    def clip(self) -> None:
        """pi_Omega, eq. (4): no |a_i| above gamma eta."""
        size = self.sizes()
        over = size > self.cap
        self.coef[over] *= (self.cap / size[over])[:, None]
