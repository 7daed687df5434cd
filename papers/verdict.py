"""Tests whether a model learns anything: its decisions against the simplest guess, in NumPy.

    d = w (loss - loss of the guess)      the majority class, or the mean, of the rows before
    e = w (loss - c loss of a poor guess) a class by the shares p so far, q = 1 - |p|^2,
        c = min(1.6, 0.2 + 0.8/q); the mean, c = 2
    worse: in a block of ROWS rows sum d > z |d| and sum e > z |e|, z^2 = 9 + 2 log(number of block)
    died out: f = 0 in all outputs for ROWS rows running while examples are stored

Our addition; see core/model/verdict.hpp for the rules and docs/develop/decisions/0044 for the
reasons.
"""

from __future__ import annotations

from math import log

import numpy as np

ROWS = 1000
TIMES_CHANCE = 1.6
ABOVE = 0.8
TIMES_MEAN = 2.0


class Verdict:
    """The verdict on a model, and the losses that led to it; the first verdict is final."""

    def __init__(self) -> None:
        self.kind = "none"
        self.totals: dict[float, float] = {}  # weight of each class so far
        self.mean = self.total = 0.0
        self.majority = 0.0
        self.rows: list[tuple[float, float, float, float]] = []  # of this block
        self.blocks = self.silent = 0

    def count_class(self, y: float, mistake: bool, weight: float, silent: bool) -> None:
        """Count a decision on a row of class y; `silent`: f was 0 though examples are stored."""
        loss = float(mistake)
        guess = poor = loss
        if self.total > 0:
            guess = float(y != self.majority)
            q = 1 - sum(total**2 for total in self.totals.values()) / self.total**2
            times = min(TIMES_CHANCE, 1 - ABOVE + ABOVE / q) if q > 0 else TIMES_CHANCE
            poor = times * (1 - self.totals.get(y, 0.0) / self.total)
        else:
            self.majority = y
        self.totals[y] = self.totals.get(y, 0.0) + weight
        self.total += weight
        if self.totals[y] > self.totals[self.majority]:
            self.majority = y
        self.add(loss, guess, poor, weight, silent)

    def count_target(self, y: float, answer: float, weight: float, silent: bool) -> None:
        """Count an answer to a row with the target y."""
        loss = (y - answer) ** 2
        guess = (y - self.mean) ** 2 if self.total > 0 else loss
        self.total += weight
        self.mean += weight / self.total * (y - self.mean)
        self.add(loss, guess, TIMES_MEAN * guess, weight, silent)

    def add(self, loss: float, guess: float, poor: float, weight: float, silent: bool) -> None:
        if self.kind != "none":
            return
        self.rows.append((weight * loss, weight * guess, weight * poor, weight))
        self.silent = self.silent + 1 if silent else 0
        if self.silent == ROWS:
            self.kind = "died out"
        elif len(self.rows) == ROWS:
            self.judge()

    def judge(self) -> None:
        self.blocks += 1
        losses, guesses, poor, _ = np.array(self.rows).T
        d, e = losses - guesses, losses - poor
        z = np.sqrt(9 + 2 * log(self.blocks))
        if d.sum() > z * np.linalg.norm(d) and e.sum() > z * np.linalg.norm(e):
            self.kind = "worse"
        else:
            self.rows = []

    @property
    def losses(self) -> tuple[float, float]:
        """The mean losses of the model and of the guess, in the rows that led to the verdict."""
        loss, guess, _, weight = np.array(self.rows).sum(axis=0)
        return float(loss / weight), float(guess / weight)
