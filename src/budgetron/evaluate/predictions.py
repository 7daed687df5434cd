"""The answers of a learner, and how decisions become labels, margins and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Outputs = tuple[int, NDArray[Any] | None, Floats | None]


@dataclass(frozen=True)
class Answers:
    """The answers of a learner to rows, before it learned them.

    Attributes
    ----------
    values : labels; numbers in regression; of a detector scores, larger the stranger the row
    known : False where it could not say anything yet
    margins : for the hinge loss; nan where it gives no decisions
    scores : for the AUC; nan where it gives none, or two classes are not known yet
    chances : for the log loss, the probability of the row's own label; nan where it gives none, or
        the label is not known yet, or the only one
    outputs : beyond two classes, runs of rows one after the other: how many, the classes known to
        them, and the output of each, (n, classes); none where there are no such outputs
    alarms : of a detector, True where a row was called strange
    """

    values: NDArray[Any]
    known: NDArray[np.bool_]
    margins: Floats
    scores: Floats
    chances: Floats
    outputs: tuple[Outputs, ...] = ()
    alarms: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, values: Any, known: bool = True) -> Answers:
        """Answers without decisions."""
        values = np.asarray(values)
        nothing = np.full(len(values), np.nan)
        return cls(values, np.full(len(values), known), nothing, nothing, nothing)

    @classmethod
    def joined(cls, parts: list[Answers]) -> Answers:
        """All of them, concatenated."""
        if len(parts) == 1:
            return parts[0]
        outputs = tuple(
            run for part in parts for run in part.outputs or ((len(part.values), None, None),)
        )
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.known for part in parts]),
            np.concatenate([part.margins for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.chances for part in parts]),
            outputs,
        )


def read(
    decisions: Floats, classes: NDArray[Any], y: NDArray[Any], chances: Floats | None = None
) -> Answers:
    """Decisions as answers: labels, margins, and scores if there are two classes.

    Labels in y need not be known classes: if `class_weight` is 0 they are never added.
    """
    n = len(y)
    nothing = np.full(n, np.nan)
    chances = nothing if chances is None else chances
    if len(classes) == 0:
        return Answers(y.copy(), np.zeros(n, dtype=bool), decisions, nothing, chances)
    if len(classes) == 1:  # the only possible answer, as in `predict`
        margins = np.where(y == classes[0], decisions, -decisions)
        return Answers(np.repeat(classes, n), np.ones(n, dtype=bool), margins, nothing, chances)
    if decisions.ndim == 1:
        second = y == classes[1]
        margins = np.where(second, decisions, -decisions)
        known = second | (y == classes[0])
        if not known.all():  # the outputs of the two are half the decision, -+; of a third, 0
            margins = np.where(known, margins, -np.abs(decisions) / 2)
        labels = classes[(decisions >= 0).astype(np.intp)]
        return Answers(labels, np.ones(n, dtype=bool), margins, decisions, chances)
    own = np.searchsorted(classes, y)
    rows = np.arange(n)
    mine = decisions[rows, np.minimum(own, len(classes) - 1)]
    # An unknown class had no coefs: its output was 0.
    strange = (classes[np.minimum(own, len(classes) - 1)] != y) | np.isneginf(mine)
    others = decisions.copy()
    others[rows[~strange], own[~strange]] = -np.inf
    margins = np.where(strange, 0.0, mine) - others.max(axis=1)
    labels = classes[decisions.argmax(axis=1)]
    outputs = ((n, classes, decisions),)
    return Answers(labels, np.ones(n, dtype=bool), margins, nothing, chances, outputs)


def nothing_yet(y: NDArray[Any], regression: bool) -> Answers:
    """The answers of a learner that has learned nothing: 0 for every row, or no label."""
    return Answers.of(np.zeros(len(y)) if regression else y, known=regression)
