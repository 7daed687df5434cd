"""The parts a learner is made of, as frozen dataclasses.

This is the only place of their defaults. A part's fields are what the compiled core reads, by the
same names; the core has no defaults, and refuses a name it does not know or misses.

>>> Halve(size=10).spec()
{'kind': 'halve', 'size': 10, 'ridge': 0.0005, 'norm': 0.0}

Parts are values: changing a parameter makes another part.

>>> GradientUpdate().set_params(step=0.1, loss=SmoothHinge()).set_params(loss__tau=0.2)
GradientUpdate(step=0.1, regularization=0.0, loss=SmoothHinge(tau=0.2))
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar, Self

Spec = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """Something the compiled core can build: a kind and its numbers."""

    kind: ClassVar[str]

    def spec(self) -> Spec:
        """What the core is told."""
        return {"kind": self.kind} | {
            name: _plain(value) for name, value in self.get_params(deep=False).items()
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` adds those of parts inside, as ``loss__tau``."""
        params = {field.name: getattr(self, field.name) for field in fields(self)}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Part):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """A part like this one but for these parameters; this one stays as it is."""
        changes = {name: value for name, value in params.items() if "__" not in name}
        for name in changes:
            self._check_has(name)
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, nested, key = name.partition("__")
            if nested:
                inner.setdefault(outer, {})[key] = value
        for name, parts_params in inner.items():
            self._check_has(name)
            part = changes.get(name, getattr(self, name))
            if not isinstance(part, Part):
                raise ValueError(f"{name}={part!r} of {self!r} is no part: it has no parameters")
            changes[name] = part.set_params(**parts_params)
        return replace(self, **changes)

    def _check_has(self, name: str) -> None:
        names = [field.name for field in fields(self)]
        if name not in names:
            has = ", ".join(names) if names else "none"
            raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {has}")

    def __sklearn_clone__(self) -> Self:
        return self  # immutable: a copy would be the same


def _plain(value: Any) -> Any:
    """A value as the core reads it: no NumPy numbers, no parts."""
    if isinstance(value, Part):
        return value.spec()
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


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


# Of regression, with the error e = target - f(x):


@dataclass(frozen=True)
class Squared(Part):
    """e^2/2 beyond abs(e) = epsilon, no slope up to there: max(0, e^2 - epsilon^2)/2."""

    epsilon: float = 0.1
    kind: ClassVar[str] = "squared"


@dataclass(frozen=True)
class Absolute(Part):
    """abs(e)."""

    kind: ClassVar[str] = "absolute"


@dataclass(frozen=True)
class EpsilonInsensitive(Part):
    """max(0, abs(e) - epsilon)."""

    epsilon: float = 0.1
    kind: ClassVar[str] = "epsilon-insensitive"


# ---- updates -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PerceptronUpdate(Part):
    """Add (x, y) when y f(x) <= 0 (Rosenblatt 1958; Freund & Schapire 1999)."""

    kind: ClassVar[str] = "perceptron"


@dataclass(frozen=True)
class ShrinkingUpdate(Part):
    """Add (x, y) when y f(x) <= 0, then multiply f by `shrink` (Forgetron paper, section 4)."""

    shrink: float = 0.99
    kind: ClassVar[str] = "shrinking"


@dataclass(frozen=True)
class AvpUpdate(Part):
    """Add (x, step y / sqrt(1 + damping M)) when y f(x) < 1 - epsilon.

    M counts the rounds with y f(x) <= 0 (Ahpatron paper, algorithm 1 and, with damping = 1/U^2,
    corollary 2).
    """

    step: float = 1.0
    epsilon: float = 0.75
    damping: float = 0.0
    kind: ClassVar[str] = "avp"


@dataclass(frozen=True)
class AlmaUpdate(Part):
    """Add (x, y C/sqrt(k j)) when y f(x) <= (1 - alpha) margin sqrt(k/j), the j-th update.

    k = k(x, x). ALMA is this within a radius of 1 (Gentile 2001, p = 2).
    """

    alpha: float = 0.9
    C: float = sqrt(2)
    margin: float = sqrt(8) / 0.9
    kind: ClassVar[str] = "alma"


@dataclass(frozen=True)
class PassiveAggressiveUpdate(Part):
    """Add (x, tau y) where there is hinge loss l: as much as removes it, softened by C.

    tau = min(C, l/k(x, x)) ("I") or l/(k(x, x) + 1/(2C)) ("II") (Crammer et al. 2006).
    """

    C: float = 1.0
    variant: str = "I"
    kind: ClassVar[str] = "passive-aggressive"


@dataclass(frozen=True)
class TubeUpdate(Part):
    """Add (x, step sign(e)) when the error e = target - f(x) has abs(e) > epsilon: regression."""

    step: float = 0.1
    epsilon: float = 0.1
    kind: ClassVar[str] = "tube"


@dataclass(frozen=True)
class TubePassiveAggressiveUpdate(Part):
    """The passive-aggressive update of regression: l = abs(e) - epsilon, sign(e) for y."""

    C: float = PassiveAggressiveUpdate.C
    variant: str = PassiveAggressiveUpdate.variant
    epsilon: float = TubeUpdate.epsilon
    kind: ClassVar[str] = "tube-passive-aggressive"


@dataclass(frozen=True)
class GradientUpdate(Part):
    """Multiply f by 1 - step * regularization and add (x, -step * slope * y) where it has slope.

    Kivinen, Smola & Williamson 2004.
    """

    step: float = 0.5
    regularization: float = 0.0
    loss: Part = Hinge()
    kind: ClassVar[str] = "gradient"


@dataclass(frozen=True)
class PegasosUpdate(Part):
    """The gradient update, step 1/(regularization t) in round t (Shalev-Shwartz et al. 2011)."""

    regularization: float = 1e-4
    loss: Part = Hinge()
    kind: ClassVar[str] = "pegasos"


# ---- budgets -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unlimited(Part):
    """Store everything."""

    kind: ClassVar[str] = "unlimited"


@dataclass(frozen=True)
class RemoveOldest(Part):
    """Full: the oldest leaves (Forgetron paper, section 3)."""

    size: int = 100
    kind: ClassVar[str] = "remove-oldest"


@dataclass(frozen=True)
class RemoveRandom(Part):
    """Full: one of the stored, drawn uniformly, leaves (Cavallanti et al. 2007)."""

    size: int = 100
    kind: ClassVar[str] = "remove-random"


@dataclass(frozen=True)
class RemoveMargin(Part):
    """Full: the one that has the largest margin without itself leaves (Crammer et al. 2003)."""

    size: int = 100
    kind: ClassVar[str] = "remove-margin"


@dataclass(frozen=True)
class RemoveSmallest(Part):
    """Full: the one with the least abs(a_i) sqrt(k_ii) leaves (Wang, Crammer & Vucetic 2012)."""

    size: int = 100
    kind: ClassVar[str] = "remove-smallest"


@dataclass(frozen=True)
class Refuse(Part):
    """Full: nothing enters any more."""

    size: int = 100
    kind: ClassVar[str] = "refuse"


@dataclass(frozen=True)
class Absorb(Part):
    """Full: the new one replaces the one it stands in for best (Wang & Vucetic 2010, BPA-S)."""

    size: int = 100
    kind: ClassVar[str] = "absorb"


@dataclass(frozen=True)
class Sample(Part):
    """Full: one drawn at random leaves, the others grow so that f stays the same on average.

    `sampling` is "uniform", or "nonuniform" with small coefs likelier to leave; no coef may pass
    `clip` (BOGD paper, algorithm 1 and eq. 16).
    """

    size: int = 100
    sampling: str = "uniform"
    clip: float = inf
    kind: ClassVar[str] = "sample"


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


@dataclass(frozen=True)
class Project(Part):
    """Project onto the span of the stored examples what is near it (Projectron).

    A newcomer at most ``threshold`` away is projected, and every one when there are ``size``
    examples; ``size`` 0 is no limit, a negative ``threshold`` none.
    """

    size: int = 0
    threshold: float = 0.1
    kind: ClassVar[str] = "project"


@dataclass(frozen=True)
class ProjectSmallest(Part):
    """Full: project the example with the least ``|a| sqrt(k(x, x))`` onto the others (BSGD)."""

    size: int = 100
    kind: ClassVar[str] = "project-smallest"


@dataclass(frozen=True)
class Merge(Part):
    """Full: merge the example with the least ``|a|`` with the cheapest of its sign (BSGD).

    Only with the Gaussian kernel.
    """

    size: int = 100
    kind: ClassVar[str] = "merge"


# ---- families ------------------------------------------------------------------------------------

# What a round that classifies can be made of; a new part adds its name here.
KERNELS: tuple[type[Part], ...] = (Gaussian, Laplacian, Polynomial, Linear, Sigmoid)
LOSSES: tuple[type[Part], ...] = (Hinge, SmoothHinge, Logistic)
REGRESSION_LOSSES: tuple[type[Part], ...] = (Squared, Absolute, EpsilonInsensitive)
UPDATES: tuple[type[Part], ...] = (
    PerceptronUpdate,
    ShrinkingUpdate,
    AvpUpdate,
    AlmaUpdate,
    PassiveAggressiveUpdate,
    GradientUpdate,
    PegasosUpdate,
)
BUDGETS: tuple[type[Part], ...] = (
    Unlimited,
    RemoveOldest,
    RemoveRandom,
    RemoveMargin,
    RemoveSmallest,
    Refuse,
    Absorb,
    Sample,
    Project,
    ProjectSmallest,
    Merge,
    Halve,
)


# ---- learners ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round(Part):
    """The learner made of parts: decide, update, admit, keep within the norm ball."""

    kernel: Part
    update: Part
    budget: Part = Unlimited()
    radius: float = inf
    kind: ClassVar[str] = "round"


@dataclass(frozen=True)
class Fogd(Part):
    """Gradient descent on random Fourier features (Lu et al. 2016, algorithm 1).

    ``seed`` and a feature's number decide that feature's frequencies.
    """

    kernel: Part
    n_components: int = 400
    step: float = 0.5
    loss: Part = Hinge()
    seed: int = 0
    kind: ClassVar[str] = "fogd"


@dataclass(frozen=True)
class Nogd(Part):
    """Gradient descent on Nystrom features (Lu et al. 2016, algorithm 2)."""

    kernel: Part
    rank: int
    budget: int = 100
    step: float = 0.5
    loss: Part = Hinge()
    kind: ClassVar[str] = "nogd"


@dataclass(frozen=True)
class Avm(Part):
    """Pegasos on core points (AVM paper, algorithms 2 to 5).

    ``budget`` 0 opens cells without limit. ``width`` is the stream's number of features, by which
    the rectangles are sized.
    """

    kernel: Part
    width: int
    regularization: float = 1e-4
    delta: float = 1.0
    cover: str = "sphere"
    beta: float = 0.0
    rho: float = 1.0
    budget: int = 0
    loss: Part = Hinge()
    kind: ClassVar[str] = "avm"


@dataclass(frozen=True)
class Forgetron(Part):
    """Add, shrink, drop one; ``variant`` "basic", "self-tuned" or "greedy" (Dekel et al. 2008).

    ``update`` says when it errs and what it adds; ``signed`` whether the coef of an example carries
    the sign f should have there, as in classification.
    """

    kernel: Part
    size: int = 100
    variant: str = "self-tuned"
    update: Part = PerceptronUpdate()
    signed: bool = True
    kind: ClassVar[str] = "forgetron"


@dataclass(frozen=True)
class ProjectronPlus(Part):
    """Projectron that learns from margin errors too, as far as its bound allows."""

    kernel: Part
    size: int = Project.size
    threshold: float = Project.threshold
    kind: ClassVar[str] = "projectron-plus"


@dataclass(frozen=True)
class Pomdr(Part):
    """Optimistic mirror descent that halves its support (Li & Liao 2023).

    Until there are ``first`` examples, rows at most ``near`` from their span are projected.
    """

    kernel: Part
    size: int = 100
    radius: float = 25.0
    window: int = 15
    first: int = 25
    near: float = 0.01
    kind: ClassVar[str] = "pomdr"


@dataclass(frozen=True)
class Budgetron(Part):
    """A Gaussian belief over the coefs of at most ``budget`` examples.

    ``r`` is the variance of a sight, ``jitter`` what is added to k(x, x). ``replace`` is "never",
    "always" or "auto", after a drift. ``admission`` says which rows are stored while there is room:
    "mistake", "margin" (all with loss), or "error", which regresses.
    """

    kernel: Part
    budget: int = 100
    r: float = 0.1
    jitter: float = 0.01
    replace: str = "auto"
    admission: str = "mistake"
    kind: ClassVar[str] = "budgetron"
