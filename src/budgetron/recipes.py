"""Which parts make which paper's algorithm: one function a recipe."""

from __future__ import annotations

from math import sqrt

from budgetron.parts import AvpUpdate, Halve, Part, PerceptronUpdate, Round


def perceptron(kernel: Part) -> Part:
    """Kernel Perceptron (Rosenblatt 1958; Freund & Schapire 1999)."""
    return Round(kernel, PerceptronUpdate())


def ahpatron(
    kernel: Part,
    *,
    budget: int,
    epsilon: float,
    radius: float | None,
    step: float | None,
    ridge: float,
    norm: float | str,
) -> Part:
    """Ahpatron (Liao et al. 2024), algorithm 2; radius and step as in its experiments."""
    U = sqrt(budget) / 2 if radius is None else float(radius)
    rate = U / sqrt(4 * budget) if step is None else float(step)
    rescaled = 0.0 if isinstance(norm, str) else norm * U
    return Round(
        kernel,
        AvpUpdate(step=rate, epsilon=float(epsilon)),
        Halve(size=int(budget), ridge=float(ridge), norm=rescaled),
        radius=U,
    )
