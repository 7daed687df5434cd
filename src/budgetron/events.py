"""Events inside a model while it learns: examples that leave or merge, drift.

``model.watch(listener)`` calls `listener` with every `Event`; ``model.watch()`` writes them to the
logger "budgetron". Without a listener this costs nothing, and a watched model learns the same, to
the bit: the listener is not saved, pickled or copied.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

logger = logging.getLogger("budgetron")

WORDS = {
    "evict": "example {example} left (coef {coef:.3g})",
    "project": "example {example} was projected onto the others (coef {coef:.3g})",
    "merge": "examples {example} and {other} became one (coef {coef:.3g})",
    "refuse": "example {example} was refused (coef {coef:.3g})",
    "drift": "the stream changed",
    "rescale": "targets are counted in another unit",
    "restart": "gamma or scale were found, and all rows so far were learned again",
    "units": "units changed; f at the stored examples moved by {coef:.3g} on average",
}
RARE = ("drift", "rescale", "restart", "units")


class Event(NamedTuple):
    """An event of the stored examples.

    An example's name is the round that stored it, from 0, as in `explain`.

    Parameters
    ----------
    kind : {"evict", "project", "merge", "refuse", "drift", "rescale", "restart", "units"}
        "evict": the example left, and its share of f with it. "project": it left, or was not
        stored, and the others took over what they could of its share. "merge": it and `other`
        became one, with the round of the merge as its name (which the new example may share);
        or `other` took over its coef. "refuse": the new example was not stored. "drift": the
        learner saw the stream change. "rescale": targets of a regression have another unit from
        now on. "restart": gamma or scale were found, and a new learner learned all rows so far;
        earlier events are void. "units": the units of scale="auto" changed, and stored examples
        were converted.
    round : int
        Rows learned before.
    example : int or None
        The example; None for "drift", "rescale", "restart" and "units".
    other : int or None
        The example it merged with.
    coef : float
        Coef of the example when it left: |a_i|, with more than two classes the length of its
        coefs. For "units" the mean |change of f| at the stored examples.
    """

    kind: str
    round: int
    example: int | None = None
    other: int | None = None
    coef: float = 0.0

    def __str__(self) -> str:
        return f"round {self.round}: {WORDS[self.kind].format(**self._asdict())}"


Listener = Callable[[Event], Any]


def log(event: Event) -> None:
    """Write it to the logger "budgetron": rare events as INFO, all others as DEBUG."""
    logger.log(logging.INFO if event.kind in RARE else logging.DEBUG, "%s", event)


class Relay:
    """Passes events to a listener: the core calls it with the events of some rows."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def __call__(self, events: list[tuple[str, int, int, int, float]]) -> None:
        for kind, row, example, other, coef in events:
            self.listener(Event(kind, row, _named(example), _named(other), coef))


def _named(example: int) -> int | None:
    return None if example < 0 else example
