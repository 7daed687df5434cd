"""The catalogue: every algorithm by name, with what it takes and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A catalogue line: where the estimators live and which parameters the name fixes."""

    module: str
    stem: str
    citation: str
    summary: str
    tasks: tuple[str, ...] = ("classification",)
    fixed: dict[str, Any] = field(default_factory=dict)

    def estimator(self, task: str) -> Any:
        """The estimator class for a task."""
        suffix = {"classification": "Classifier", "regression": "Regressor"}[task]
        return getattr(import_module(f"budgetron.estimators.{self.module}"), self.stem + suffix)


CATALOGUE: dict[str, Entry] = {
    "perceptron": Entry(
        "perceptron",
        "Perceptron",
        "Rosenblatt 1958; Freund & Schapire 1999",
        "stores every mistake, without limit",
    ),
    "ahpatron": Entry(
        "ahpatron",
        "Ahpatron",
        "Liao, Li, Wang, Qian & Gu, AAAI 2024",
        "aggressive Perceptron that halves its budget and projects what it drops",
    ),
}


@dataclass(frozen=True)
class Algorithm:
    """What `algorithms` tells of one learner."""

    name: str
    tasks: tuple[str, ...]
    citation: str
    parameters: dict[str, Any]
    summary: str


def algorithms() -> list[Algorithm]:
    """Every learner of the library.

    Examples
    --------
    >>> import budgetron
    >>> [algorithm.name for algorithm in budgetron.algorithms()]
    ['perceptron', 'ahpatron']
    """
    listed = []
    for name, entry in CATALOGUE.items():
        estimator = entry.estimator(entry.tasks[0])
        parameters = {f.name: f.default for f in fields(estimator) if f.name not in entry.fixed}
        listed.append(Algorithm(name, entry.tasks, entry.citation, parameters, entry.summary))
    return listed


def make(name: str, task: str = "classification", **params: Any) -> Any:
    """The estimator called `name` in the catalogue.

    Parameters
    ----------
    name : str
        See ``budgetron.algorithms()``.
    task : {"classification", "regression"}
    **params
        Its parameters.

    Examples
    --------
    >>> import budgetron
    >>> budgetron.make("ahpatron", budget=400, gamma=0.5)
    AhpatronClassifier(budget=400, gamma=0.5)
    """
    if name not in CATALOGUE:
        raise ValueError(
            f"no algorithm is called {name!r}{_nearest(name, CATALOGUE)}; "
            f"there are {', '.join(CATALOGUE)}"
        )
    entry = CATALOGUE[name]
    if task not in entry.tasks:
        raise ValueError(f"{name} does {' and '.join(entry.tasks)}, not {task!r}")
    estimator = entry.estimator(task)
    known = [f.name for f in fields(estimator) if f.name not in entry.fixed]
    for parameter in params:
        if parameter not in known:
            raise ValueError(
                f"{name} has no parameter {parameter!r}{_nearest(parameter, known)}; "
                f"it has {', '.join(known)}"
            )
    return estimator(**entry.fixed, **params)


def _nearest(word: str, words: Any) -> str:
    close = get_close_matches(word, list(words), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
