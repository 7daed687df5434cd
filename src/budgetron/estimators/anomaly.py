"""BudgetronAnomaly: how unusual a row is among the rows before it, from several densities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from budgetron.estimators._base.detector import OnlineDetector
from budgetron.estimators._base.parameters import BYTES, of
from budgetron.parts import Learner, Novelty, Part


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetronAnomaly(OnlineDetector):
    """A detector of anomalies in a stream, in fixed memory.

    Stores at most ``budget`` rows that were new when they came, each with a mass: how many recent
    rows it represents. They give densities of four widths, from twice the kernel's to an eleventh
    of it. The score of a row is -log of the density at the width where it is the most unusual. A
    row is scored before it is learned, and all rows are learned.

    Parameters
    ----------
    memory : float
        Number of rows remembered: masses decay by 1 - 1/memory per row.
    near : float
        A row whose kernel value with the nearest stored example is at least this is not new.
    kernel : {"rbf"}
        The Gaussian kernel: its powers are Gaussians of other widths.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron import BudgetronAnomaly
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, size=5000)
    >>> ring = np.c_[np.cos(angle), np.sin(angle)]
    >>> model = BudgetronAnomaly().fit(ring)
    >>> model.predict([[0.0, 0.0], [1.0, 0.0], [3.0, 3.0]])
    array([-1,  1, -1])
    """

    budget: Any = of(Novelty, "budget", BYTES)
    memory: float = of(Novelty, "memory")
    near: float = of(Novelty, "near")

    def _machine(self, kernel: Part) -> Learner:
        return Novelty(kernel, int(self.budget), float(self.memory), float(self.near))
