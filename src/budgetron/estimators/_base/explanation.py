"""Why a learner decided as it did: the stored examples behind one decision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron._engine import Floats

SHOWN = 10  # examples shown in the text


@dataclass(frozen=True, eq=False)
class Explanation:
    """The stored examples behind one decision, those with the largest share first.

    Attributes
    ----------
    classes : labels of the classes; None for a regressor
    examples : the n examples, an array or CSR matrix; with scaling as they were stored, scaled
    rounds : when each was stored: the number of rows learned before it, so 0 is the first row
    kernels : k(x_i, x) of each
    shares : (n, outputs), coef times kernel value. Up to two classes and regression have one
        output, where a share above 0 votes for ``classes[1]``; more classes have one each
    constant : what a regressor adds to the shares: the centre of the targets (``target_units_``)
    features : the m features of the row that are not 0 and have a weight in the straight part, if
        the learner has one, as columns of ``examples``; the largest share first
    straight : (m, outputs), weight times value of each
    intercept : (outputs,), what the straight part adds to every row
    """

    classes: NDArray[Any] | None
    examples: Any
    rounds: NDArray[np.int64]
    kernels: Floats
    shares: Floats
    constant: float = 0.0
    features: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int32))
    straight: Floats | None = None
    intercept: Floats | None = None

    @property
    def decision(self) -> Floats:
        """f(x), one number per output: the sum of all shares, the intercept and the constant."""
        total: Floats = self.shares.sum(axis=0) + self.constant
        if self.straight is not None:
            total = total + self.straight.sum(axis=0)
        return total if self.intercept is None else total + self.intercept

    def by_size(self) -> Explanation:
        """The same, sorted by the largest share of any output; of tied ones the older first."""
        sizes = np.abs(self.shares).max(axis=1, initial=0.0)
        order = np.lexsort((self.rounds, -sizes))
        straight = np.zeros((0, 1)) if self.straight is None else self.straight
        largest = np.lexsort((self.features, -np.abs(straight).max(axis=1, initial=0.0)))
        return replace(
            self,
            features=self.features[largest],
            straight=None if self.straight is None else straight[largest],
            examples=self.examples[order],
            rounds=self.rounds[order],
            kernels=self.kernels[order],
            shares=self.shares[order],
        )

    def __repr__(self) -> str:
        classes = [] if self.classes is None else self.classes.tolist()
        several = self.shares.shape[1] > 1
        towards = classes if several else [f"towards {classes[1]}"] if len(classes) == 2 else ["f"]
        heads = ["round", "k(x_i, x)", *map(str, towards)]
        lines = [[str(head) for head in heads]]
        for i in range(min(SHOWN, len(self.rounds))):
            numbers = [f"{share:+.4g}" for share in self.shares[i]]
            lines.append([str(self.rounds[i]), f"{self.kernels[i]:.4g}", *numbers])
        rest = self.shares[SHOWN:]
        if len(rest):
            numbers = [f"{share:+.4g}" for share in rest.sum(axis=0)]
            lines.append([f"{len(rest)} more", "", *numbers])
        if self.straight is not None and (len(self.features) or np.any(self.intercept)):
            for feature, share in list(zip(self.features, self.straight, strict=True))[:SHOWN]:
                lines.append([f"feature {feature}", "", *[f"{part:+.4g}" for part in share]])
            rest = self.straight[SHOWN:]
            if len(rest):
                numbers = [f"{share:+.4g}" for share in rest.sum(axis=0)]
                lines.append([f"{len(rest)} more", "", *numbers])
            if self.intercept is not None:
                lines.append(["intercept", "", *[f"{part:+.4g}" for part in self.intercept]])
        if self.constant:
            lines.append(["constant", "", f"{self.constant:+.4g}"])
        lines.append(["sum", "", *[f"{total:+.4g}" for total in self.decision]])
        widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
        table = ["  ".join(map(str.rjust, line, widths)) for line in lines]
        return f"{len(self.rounds)} stored examples\n" + "\n".join(table)
