"""FOGD."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from budgetron import recipes
from budgetron.estimators.classifier import OnlineClassifier
from budgetron.parts import Fogd, Hinge, Part, SmoothHinge


@dataclass(eq=False, repr=False, kw_only=True)
class FOGDClassifier(OnlineClassifier):
    """FOGD: gradient descent on random Fourier features of the kernel.

    Stores no example: what is learned are the weights of ``2 * n_components`` features, cosines and
    sines of random frequencies, whose inner product approaches the kernel as their number grows.
    ``n_support_`` is therefore 0 and ``support_vectors_`` and ``dual_coef_`` are empty;
    ``memory_bytes_`` says what the frequencies and weights take.

    Parameters
    ----------
    n_components : int, default 400
        Number of random frequencies (D).
    step : float, default 0.5
        Step size of the gradient descent (eta), for features of length 1. For published steps on
        features without the factor 1/sqrt(D), multiply by D.
    loss : {"hinge", "smooth-hinge", "logistic"}, default "hinge"
    tau : float, default 0.5
        Width over which the smooth hinge rounds its kink.
    kernel : {"rbf", "laplacian"}, default "rbf"
        Must have a spectral density.
    gamma : float or "auto", default "auto"
        Width of the kernel; "auto" is 1 / number of features.
    degree, coef0 : int, float
        Not used.
    random_state : int, RandomState instance or None, default None
        Seed of the frequencies. Those of a feature depend on the seed and on the feature's number,
        not on when it first occurs.

    References
    ----------
    Lu, Hoi, Wang, Zhao and Liu, "Large Scale Online Kernel Learning", JMLR 17, 2016.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from budgetron import FOGDClassifier
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = FOGDClassifier(n_components=50, gamma=1.0, random_state=0).fit(X, y)
    >>> model.n_mistakes_, model.n_support_
    (27, 0)
    """

    n_components: int = Fogd.n_components
    step: float = Fogd.step
    loss: str = Hinge.kind
    tau: float = SmoothHinge.tau

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineClassifier._parameter_constraints,
        "n_components": [Interval(Integral, 1, 2**31 - 1, closed="both")],
        "step": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "smooth-hinge", "logistic"})],
        "tau": [Interval(Real, 0.0, None, closed="neither")],
    }

    def _machine(self, kernel: Part) -> Part:
        return recipes.fogd(
            kernel,
            n_components=self.n_components,
            step=self.step,
            loss=self.loss,
            tau=self.tau,
            seed=self._seed,
        )
