"""Kernels, and their properties that other parts may need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from budgetron.parts.part import Part, family
from budgetron.parts.ranges import POSITIVE, Numbers, parameter, whole

# The description of a kernel without the property.
LACKING = {
    "definite": "not positive definite",
    "isotropic": "not a function of x - z alone",
    "gaussian": "not Gaussian",
}


@dataclass(frozen=True)
class Kernel(Part):
    """A kernel. A new kernel says which of the properties it has."""

    definite: ClassVar[bool] = True
    isotropic: ClassVar[bool] = False
    gaussian: ClassVar[bool] = False


@dataclass(frozen=True)
class Gaussian(Kernel):
    """k(x, z) = exp(-gamma ||x - z||^2).

    Parameters
    ----------
    gamma : float
        Width of the kernel: the larger, the narrower.

    Examples
    --------
    >>> from budgetron.parts import Gaussian
    >>> Gaussian()
    Gaussian(gamma=1.0)
    """

    gamma: float = parameter(1.0, POSITIVE)
    kind: ClassVar[str] = "rbf"
    isotropic: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k(x, z) = exp(-gamma ||x - z||_1).

    Parameters
    ----------
    gamma : float
        Width of the kernel: the larger, the narrower.

    Examples
    --------
    >>> from budgetron.parts import Laplacian
    >>> Laplacian()
    Laplacian(gamma=1.0)
    """

    gamma: float = parameter(1.0, POSITIVE)
    kind: ClassVar[str] = "laplacian"
    isotropic: ClassVar[bool] = True


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (gamma x.z + coef0)^degree.

    Parameters
    ----------
    gamma : float
        Width of the kernel: the larger, the narrower.
    degree : int
        Exponent.
    coef0 : float
        Constant added to the product.

    Examples
    --------
    >>> from budgetron.parts import Polynomial
    >>> Polynomial()
    Polynomial(gamma=1.0, degree=3, coef0=0.0)
    """

    gamma: float = parameter(1.0, POSITIVE)
    degree: int = parameter(3, whole(1, 100))
    coef0: float = parameter(0.0, Numbers())
    kind: ClassVar[str] = "poly"


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x.z.

    Examples
    --------
    >>> from budgetron.parts import Linear
    >>> Linear()
    Linear()
    """

    kind: ClassVar[str] = "linear"


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, z) = tanh(gamma x.z + coef0). Not positive definite.

    Parameters
    ----------
    gamma : float
        Width of the kernel: the larger, the narrower.
    coef0 : float
        Constant added to the product.

    Examples
    --------
    >>> from budgetron.parts import Sigmoid
    >>> Sigmoid()
    Sigmoid(gamma=1.0, coef0=0.0)
    """

    gamma: float = parameter(1.0, POSITIVE)
    coef0: float = parameter(0.0, Numbers())
    kind: ClassVar[str] = "sigmoid"
    definite: ClassVar[bool] = False


KERNELS = family(Kernel)
