"""Kernels: what each one is, and which qualities it has that other parts may need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from budgetron.parts.part import Part, family
from budgetron.parts.ranges import POSITIVE, Numbers, parameter, whole

# What a kernel without the quality is.
LACKING = {
    "definite": "not positive definite",
    "isotropic": "not a function of x - z alone",
    "gaussian": "not Gaussian",
}


@dataclass(frozen=True)
class Kernel(Part):
    """A kernel. A new one says which of the qualities it has."""

    definite: ClassVar[bool] = True
    isotropic: ClassVar[bool] = False
    gaussian: ClassVar[bool] = False


@dataclass(frozen=True)
class Gaussian(Kernel):
    """k(x, z) = exp(-gamma ||x - z||^2)."""

    gamma: float = parameter(1.0, POSITIVE)
    kind: ClassVar[str] = "rbf"
    isotropic: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k(x, z) = exp(-gamma ||x - z||_1)."""

    gamma: float = parameter(1.0, POSITIVE)
    kind: ClassVar[str] = "laplacian"
    isotropic: ClassVar[bool] = True


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (gamma x.z + coef0)^degree."""

    gamma: float = parameter(1.0, POSITIVE)
    degree: int = parameter(3, whole(1, 100))
    coef0: float = parameter(0.0, Numbers())
    kind: ClassVar[str] = "poly"


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x.z."""

    kind: ClassVar[str] = "linear"


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, z) = tanh(gamma x.z + coef0). Not positive definite."""

    gamma: float = parameter(1.0, POSITIVE)
    coef0: float = parameter(0.0, Numbers())
    kind: ClassVar[str] = "sigmoid"
    definite: ClassVar[bool] = False


KERNELS = family(Kernel)
