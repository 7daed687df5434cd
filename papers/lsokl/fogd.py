"""FOGD (Lu, Hoi, Wang, Zhao, Liu 2016): gradient descent on random Fourier features.

z(x) = [cos(omega_1.x) .. cos(omega_D.x), sin(omega_1.x) .. sin(omega_D.x)]/sqrt(D), omega_i drawn
from the kernel's spectral density, so that z(x).z(x') is k(x, x') in expectation. Only the weights
are stored.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

import numpy as np

from papers.kernels import Matrix
from papers.losses import make_loss
from papers.page import Page, Vector
from papers.random import column_generator


class FOGD(Page):
    algorithms = ("fogd",)
    carried: ClassVar[tuple[str, ...]] = ("weights",)

    def __init__(
        self,
        kernel: Any,
        width: int,
        n_outputs: int = 1,
        seed: int = 0,
        *,
        kind: str,
        gamma: float,
        n_components: int,
        step: float,
        loss: str,
        tau: float = 0.5,
        epsilon: float = 0.0,
        **more: Any,
    ) -> None:
        """`kind` and `gamma` are the kernel's: the features need its density, not its values."""
        super().__init__(kernel, width, n_outputs, seed, **more)
        self.D, self.rate = n_components, step
        self.frequencies = draw_frequencies(kind, gamma, width, n_components, seed)
        self.weights = np.zeros((2 * n_components, n_outputs))
        self.loss = make_loss(loss, tau, epsilon)

    def decide(self, x: Vector, row: Vector) -> Vector:
        return np.asarray(self.features(x) @ self.weights)

    def step(self, x: Vector, row: Vector, f: Vector, margin: float, u: Vector) -> None:
        self.weights -= self.rate * self.loss.slope(margin) * np.outer(self.features(x), u)

    def kinks(self, x: Vector) -> tuple[float, ...]:
        return self.loss.kinks

    def features(self, x: Vector) -> Vector:
        angle = x @ self.frequencies
        return np.concatenate([np.cos(angle), np.sin(angle)]) / sqrt(self.D)


def draw_frequencies(kind: str, gamma: float, width: int, D: int, seed: int) -> Matrix:
    """omega, (width, D): row j, the frequencies of feature j, has its own generator.

    Gaussian: each is N(0, 2 gamma); Laplacian: each is Cauchy(0, gamma).
    """
    omega = np.zeros((width, D))
    for j in range(width):
        random = column_generator(seed, j)
        if kind == "rbf":
            normals = [v for _ in range((D + 1) // 2) for v in random.normal_pair()]
            omega[j] = sqrt(2 * gamma) * np.array(normals[:D])
        elif kind == "laplacian":
            omega[j] = gamma * np.array([random.cauchy() for _ in range(D)])
        else:
            raise ValueError(f"no spectral density for the {kind} kernel")
    return omega
