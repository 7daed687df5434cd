"""Concepts: how synthetic rows and labels are drawn, and how one concept drifts into another.

A concept draws n rows with the row numbers `t`. It keeps no state: the rows depend only on `t` and
the generator, so that a stream can start anywhere. Labels are -1 and 1; `flip` is the probability
that a label is inverted; no learner can have a lower mistake rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Drawn: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]


class Concept(Protocol):
    """A source of rows."""

    @property
    def width(self) -> int:
        """Features of a row."""

    def draw(self, t: NDArray[np.int64], random: Generator) -> Drawn:
        """Draw one row and one label per row number in `t`."""


def _flipped(y: NDArray[Any], flip: float, random: Generator) -> NDArray[np.float64]:
    return np.where(random.random(len(y)) < flip, -y, y).astype(np.float64)


def _check_flip(flip: float) -> None:
    if not 0 <= flip <= 1:
        raise BudgetronError(f"flip must be a probability, not {flip}")


@dataclass(frozen=True)
class Gaussians:
    """The Forgetron paper's two clouds: means (1, 1) and (-1, -1), deviations 0.2 and 2.

    Dekel, Shalev-Shwartz & Singer 2008, section 8, as `two_gaussians`, but the class of each row is
    drawn, since an endless stream cannot be shuffled.
    """

    flip: float = 0.05
    width = 2

    def __post_init__(self) -> None:
        _check_flip(self.flip)

    def draw(self, t: NDArray[np.int64], random: Generator) -> Drawn:
        y = np.where(random.random(len(t)) < 0.5, 1.0, -1.0)
        X = y[:, None] + random.standard_normal((len(t), 2)) * np.array([0.2, 2.0])
        return X, _flipped(y, self.flip, random)


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane through the middle of the cube [-1, 1]^d that turns once in `period` rows.

    Its normal turns in the plane of the first two axes; the gradual drift of Hulten, Spencer &
    Domingos, KDD 2001, in a form whose state is the row number. `period` 0: it does not move.
    """

    width: int = 10
    period: int = 20_000
    flip: float = 0.05

    def __post_init__(self) -> None:
        _check_flip(self.flip)
        if self.width < 2:
            raise BudgetronError(f"width must be at least 2, not {self.width}")
        if self.period < 0:
            raise BudgetronError(f"period must be at least 0, not {self.period}")

    def draw(self, t: NDArray[np.int64], random: Generator) -> Drawn:
        X = random.uniform(-1, 1, (len(t), self.width))
        # reduced by whole numbers first: exact however long the stream is
        angle = 2 * np.pi * (t % self.period) / self.period if self.period else np.zeros(len(t))
        y = np.where(X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) >= 0, 1.0, -1.0)
        return X, _flipped(y, self.flip, random)


@dataclass(frozen=True)
class Sea:
    """x0 + x1 <= threshold, with three features uniform in [0, 10] (Street & Kim, KDD 2001).

    Their stream goes through the thresholds 8, 9, 7 and 9.5 with 10 % of the labels flipped.
    """

    threshold: float = 8.0
    flip: float = 0.1
    width = 3

    def __post_init__(self) -> None:
        _check_flip(self.flip)

    def draw(self, t: NDArray[np.int64], random: Generator) -> Drawn:
        X = random.uniform(0, 10, (len(t), 3))
        y = np.where(X[:, 0] + X[:, 1] <= self.threshold, 1.0, -1.0)
        return X, _flipped(y, self.flip, random)


@dataclass(frozen=True)
class Checkerboard:
    """The unit square cut into cells x cells fields, labelled like a board."""

    cells: float = 4
    flip: float = 0.05
    width = 2

    def __post_init__(self) -> None:
        _check_flip(self.flip)
        if not self.cells > 0:
            raise BudgetronError(f"cells must be above 0, not {self.cells}")

    def draw(self, t: NDArray[np.int64], random: Generator) -> Drawn:
        X = random.random((len(t), 2))
        y = np.where(np.floor(X * self.cells).sum(axis=1) % 2 == 0, 1.0, -1.0)
        return X, _flipped(y, self.flip, random)


@dataclass(frozen=True)
class Inverted:
    """A concept with inverted labels: the hardest drift there is."""

    concept: Concept

    @property
    def width(self) -> int:
        return self.concept.width

    def draw(self, t: NDArray[np.int64], random: Generator) -> Drawn:
        X, y = self.concept.draw(t, random)
        return X, -y


# ---- drift: combinators of concepts ------------------------------------------------------------


@dataclass(frozen=True)
class _Drift:
    """Concepts of equal width; every row is drawn from one of them."""

    concepts: tuple[Concept, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "concepts", tuple(self.concepts))
        widths = sorted({each.width for each in self.concepts})
        if not self.concepts or len(widths) > 1:
            raise BudgetronError(f"concepts must have the same width, not {widths}")

    @property
    def width(self) -> int:
        return self.concepts[0].width

    def _chosen(self, t: NDArray[np.int64], random: Generator) -> NDArray[np.int64]:
        raise NotImplementedError

    def draw(self, t: NDArray[np.int64], random: Generator) -> Drawn:
        chosen = self._chosen(t, random)
        X, y = np.empty((len(t), self.width)), np.empty(len(t))
        for i, (concept, own) in enumerate(
            zip(self.concepts, random.spawn(len(self.concepts)), strict=True)
        ):
            here = chosen == i
            if here.any():
                rows, labels = concept.draw(t, own)
                X[here], y[here] = rows[here], labels[here]
        return X, y


@dataclass(frozen=True)
class Abrupt(_Drift):
    """A switch to the next concept at each of the row numbers `at`.

    Examples
    --------
    >>> board = Checkerboard()
    >>> drift = Abrupt((board, Inverted(board)), at=(5000,))
    """

    at: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "at", tuple(self.at))
        if len(self.at) != len(self.concepts) - 1 or sorted(self.at) != list(self.at):
            raise BudgetronError(
                f"at must be {len(self.concepts) - 1} rising row numbers, one between each two "
                f"concepts, not {self.at}"
            )

    def _chosen(self, t: NDArray[np.int64], random: Generator) -> NDArray[np.int64]:
        return np.searchsorted(np.array(self.at, np.int64), t, side="right")


@dataclass(frozen=True)
class Gradual(_Drift):
    """A gradual change from the first concept to the second.

    The probability of the second rises linearly from 0 to 1 over `over` rows around `at`.
    """

    at: int = 5000
    over: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.concepts) != 2:
            raise BudgetronError(f"concepts must be two, not {len(self.concepts)}")
        if self.over < 1:
            raise BudgetronError(f"over must be at least 1, not {self.over}")

    def _chosen(self, t: NDArray[np.int64], random: Generator) -> NDArray[np.int64]:
        new = (t - self.at) / self.over + 0.5
        return (random.random(len(t)) < new).astype(np.int64)


@dataclass(frozen=True)
class Recurring(_Drift):
    """The concepts in turn, each for `every` rows, then from the first again."""

    every: int = 5000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every < 1:
            raise BudgetronError(f"every must be at least 1, not {self.every}")

    def _chosen(self, t: NDArray[np.int64], random: Generator) -> NDArray[np.int64]:
        return t // self.every % len(self.concepts)
