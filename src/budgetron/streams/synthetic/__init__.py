"""Streams generated from a seed: no download, any length, known noise.

`SyntheticStream` draws from a concept (concepts.py) without end; `synthetic` makes one from a text
such as `sea` or `checkerboard,drift=abrupt,at=5000`. `two_gaussians` is the Forgetron paper's
finite stream. Rows are drawn in blocks of a fixed size; each block has its own generator, made from
the seed and the block's number. So the rows do not depend on the chunk size, and any position is
reached as fast as the first.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.streams.base import CHUNK_ROWS, RowStream, rows_of
from budgetron.streams.synthetic import concepts

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from budgetron.streams.base import Chunk, Position
    from budgetron.streams.synthetic.concepts import Concept

# Rows drawn at once. This number is part of a seed's meaning: another one gives other rows.
_BLOCK = 1024


class SyntheticStream(RowStream):
    """Rows of a concept without end, or `rows` of them.

    Parameters
    ----------
    concept : what to draw from
    seed : the same seed gives the same rows
    name : name of the stream
    chunk_rows : rows in a chunk; the rows themselves do not depend on it
    dtype : type of X
    rows : end after this many rows; None: never
    position : rows to skip first, or a bookmark

    Examples
    --------
    >>> from budgetron.streams.synthetic.concepts import Sea
    >>> stream = SyntheticStream(Sea(), seed=3, rows=10_000)
    >>> sum(len(y) for X, y in stream)
    10000
    """

    def __init__(
        self,
        concept: Concept,
        seed: int = 0,
        name: str = "synthetic",
        chunk_rows: int = CHUNK_ROWS,
        dtype: DTypeLike = np.float32,
        rows: int | None = None,
        position: Position = 0,
    ) -> None:
        again = partial(type(self), concept, seed, name, chunk_rows, dtype, rows)
        super().__init__(name, again, chunk_rows, rows, dtype)
        if seed < 0:
            raise BudgetronError(f"seed must be at least 0, not {seed}")
        self._concept = concept
        self._seed = seed
        self.n_features = concept.width
        self._block: tuple[int, Any, Any] | None = None  # number, rows, labels
        self._position = rows_of(position)
        if rows is not None and self._position > rows:
            raise self._beyond_end(self._position, rows)

    def _take(self, rows: int) -> Chunk:
        X, y = [], []
        at, end = self._position, self._position + rows
        while at < end:
            number, first = divmod(at, _BLOCK)
            block, labels = self._drawn(number)
            last = min(_BLOCK, first + end - at)
            X.append(block[first:last])
            y.append(labels[first:last])
            at += last - first
        return np.concatenate(X).astype(self.dtype), np.concatenate(y)

    def _drawn(self, number: int) -> tuple[Any, Any]:
        if self._block is None or self._block[0] != number:
            random = np.random.default_rng([self._seed, number])
            t = np.arange(number * _BLOCK, (number + 1) * _BLOCK, dtype=np.int64)
            self._block = (number, *self._concept.draw(t, random))
        return self._block[1:]


# ---- by name -----------------------------------------------------------------------------------

CONCEPTS: dict[str, Callable[..., Any]] = {
    "gaussians": concepts.Gaussians,
    "hyperplane": concepts.Hyperplane,
    "sea": concepts.Sea,
    "checkerboard": concepts.Checkerboard,
}
DRIFTS: dict[str, Callable[..., Any]] = {
    "abrupt": concepts.Abrupt,
    "gradual": concepts.Gradual,
    "recurring": concepts.Recurring,
}
_SEA_THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


def synthetic(text: str, **options: Any) -> SyntheticStream:
    """Make the synthetic stream that a text describes: a concept, then `name=value` settings.

    The concepts are gaussians, hyperplane, sea and checkerboard. Settings are the concept's own
    (such as `flip`), `seed`, `rows`, and `drift`: abrupt (with `at`), gradual (`at`, `over`) or
    recurring (`every`). With drift the concept and the same concept with opposite labels
    alternate; sea goes through its four thresholds.

    Parameters
    ----------
    text : such as `checkerboard,drift=abrupt,at=5000,rows=10000,seed=1`
    **options : options of `SyntheticStream`

    Examples
    --------
    >>> synthetic("sea,drift=recurring,every=1000,seed=2").n_features
    3
    """
    name, *pairs = [each.strip() for each in text.split(",")]
    _check_known("synthetic stream", name, CONCEPTS)
    settings = dict(_setting(pair) for pair in pairs if pair)
    for own in ("seed", "rows"):
        if own in settings:
            options[own] = _whole(own, settings.pop(own))
    drift = settings.pop("drift", None)
    of_drift: dict[str, Any] = {}
    if drift is not None:
        _check_known("drift", drift, DRIFTS)
        of_drift = {
            each: settings.pop(each) for each in ("at", "over", "every") if each in settings
        }
    concept = _made(name, CONCEPTS[name], settings, also=("rows", "seed", "drift"))
    if drift is not None:
        sequence: tuple[Any, ...] = (concept, concepts.Inverted(concept))
        if name == "sea":
            thresholds = _SEA_THRESHOLDS[: 2 if drift == "gradual" else 4]
            sequence = tuple(concepts.Sea(each, concept.flip) for each in thresholds)
        if drift == "abrupt":
            at = _whole("at", of_drift.get("at", "5000"))
            of_drift["at"] = tuple(at * i for i in range(1, len(sequence)))
        concept = _made(drift, partial(DRIFTS[drift], sequence), of_drift)
    return SyntheticStream(concept, name=f"synthetic:{text}", **options)


def _made(name: str, make: Any, settings: dict[str, Any], also: tuple[str, ...] = ()) -> Any:
    """Make the concept; `also` are settings of the stream, listed if one is unknown."""
    kinds = {f.name: f.type for f in fields(getattr(make, "func", make))}
    for setting, value in settings.items():
        known = [*(each for each in kinds if each != "concepts"), *also]
        _check_known(f"setting of {name}", setting, known)
        if isinstance(value, str):
            settings[setting] = (
                _whole(setting, value) if kinds[setting] == "int" else _number(setting, value)
            )
    return make(**settings)


def _setting(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not equals or not value:
        raise BudgetronError(f"a setting must be name=value, not {pair!r}")
    return name.strip(), value.strip()


def _check_known(what: str, name: str, known: Any) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, list(known), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"
        raise BudgetronError(f"no {what} is called {name!r}; {hint}")


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BudgetronError(f"{name} must be a whole number, not {text!r}") from None


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BudgetronError(f"{name} must be a number, not {text!r}") from None


# ---- the paper's own, of a fixed length ---------------------------------------------------------


def two_gaussians(
    n_per_class: int = 5000, flip: float = 0.05, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The noisy stream of the Forgetron paper (Dekel, Shalev-Shwartz & Singer 2008, section 8).

    Two Gaussian clouds in the plane with means (1, 1) and (-1, -1) and, along the axes, standard
    deviations 0.2 and 2. (The paper calls these numbers the covariance; only as standard
    deviations do they give its results.) Each label is flipped with probability `flip`: no learner
    can then have a mistake rate below that. The order is random.

    Parameters
    ----------
    n_per_class : rows of each class, before flipping
    flip : probability that a label is flipped; the paper has 0.05 and 0.1
    seed : the same seed gives the same stream

    Returns
    -------
    X : (2 n_per_class, 2) float64
    y : (2 n_per_class,) labels -1 and 1

    Examples
    --------
    >>> from budgetron.streams import two_gaussians
    >>> X, y = two_gaussians(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((200, 2), [-1, 1])
    """
    if n_per_class < 1:
        raise BudgetronError(f"n_per_class must be at least 1, not {n_per_class}")
    if not 0 <= flip <= 1:
        raise BudgetronError(f"flip must be a probability, not {flip}")
    random = np.random.default_rng(seed)
    y = np.repeat(np.array([1, -1]), n_per_class)
    X = y[:, None] + random.standard_normal((2 * n_per_class, 2)) * np.array([0.2, 2.0])
    y = np.where(random.random(2 * n_per_class) < flip, -y, y)
    order = random.permutation(2 * n_per_class)
    return X[order], y[order].astype(np.int64)
