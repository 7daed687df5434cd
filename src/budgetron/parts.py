"""The parts a learner is made of, as frozen dataclasses.

This is the only place of their defaults. A part's fields are what the compiled core reads, by the
same names; the core has no defaults, and refuses a name it does not know or misses.

>>> Halve(size=10).spec()
{'kind': 'halve', 'size': 10, 'ridge': 0.0005, 'norm': 0.0}
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf
from typing import Any, ClassVar

Spec = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """Something the compiled core can build: a kind and its numbers."""

    kind: ClassVar[str]

    def spec(self) -> Spec:
        """What the core is told."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind} | {
            name: value.spec() if isinstance(value, Part) else value
            for name, value in values.items()
        }


# ---- kernels -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gaussian(Part):
    """k(x, z) = exp(-gamma ||x - z||^2)."""

    gamma: float = 1.0
    kind: ClassVar[str] = "rbf"


@dataclass(frozen=True)
class Laplacian(Part):
    """k(x, z) = exp(-gamma ||x - z||_1)."""

    gamma: float = 1.0
    kind: ClassVar[str] = "laplacian"


@dataclass(frozen=True)
class Linear(Part):
    """k(x, z) = x.z."""

    kind: ClassVar[str] = "linear"


@dataclass(frozen=True)
class Polynomial(Part):
    """k(x, z) = (gamma x.z + coef0)^degree."""

    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    kind: ClassVar[str] = "poly"


@dataclass(frozen=True)
class Sigmoid(Part):
    """k(x, z) = tanh(gamma x.z + coef0). Not positive definite."""

    gamma: float = 1.0
    coef0: float = 0.0
    kind: ClassVar[str] = "sigmoid"


# ---- losses --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hinge(Part):
    """max(0, 1 - y f(x))."""

    kind: ClassVar[str] = "hinge"


@dataclass(frozen=True)
class SmoothHinge(Part):
    """The hinge with its kink rounded over a width of tau."""

    tau: float = 0.5
    kind: ClassVar[str] = "smooth-hinge"


@dataclass(frozen=True)
class Logistic(Part):
    """log(1 + exp(-y f(x)))."""

    kind: ClassVar[str] = "logistic"


# ---- updates -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PerceptronUpdate(Part):
    """Add (x, y) when y f(x) <= 0 (Rosenblatt 1958; Freund & Schapire 1999)."""

    kind: ClassVar[str] = "perceptron"


@dataclass(frozen=True)
class AvpUpdate(Part):
    """Add (x, step y) when y f(x) < 1 - epsilon (Ahpatron paper, algorithm 1)."""

    step: float = 1.0
    epsilon: float = 0.75
    kind: ClassVar[str] = "avp"


# ---- budgets -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unlimited(Part):
    """Store everything."""

    kind: ClassVar[str] = "unlimited"


@dataclass(frozen=True)
class Halve(Part):
    """Full: keep the half with the largest coefs and project the others onto it.

    ``norm`` is what the result is rescaled to; 0 keeps the norm f had (Ahpatron paper, algorithm 2
    and theorem 6).
    """

    size: int = 100
    ridge: float = 5e-4
    norm: float = 0.0
    kind: ClassVar[str] = "halve"


# ---- learners ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round(Part):
    """The learner made of parts: decide, update, admit, keep within the norm ball."""

    kernel: Part
    update: Part
    budget: Part = Unlimited()
    radius: float = inf
    kind: ClassVar[str] = "round"
