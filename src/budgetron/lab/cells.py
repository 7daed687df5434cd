"""Cells: one learner on one permutation of one stream, run once and kept.

Every user of the laboratory hands its cells to `finish`. A cell's key is a hash of everything its
result depends on, so that a result kept from before is used again only where it would come out the
same.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from traceback import format_exception
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.evaluate import prequential
from budgetron.lab.baselines import REFERENCES
from budgetron.lab.learners_by_name import NamedLearner, named
from budgetron.lab.rows import Rows
from budgetron.lab.store import Record, Store, key_of
from budgetron.lab.workers import JobError, Workers

Params = dict[str, Any]
_TRIAL_ROWS = 30


class Work(Protocol):
    """What `finish` runs."""

    @property
    def key(self) -> str:
        """Equal only where the result is."""

    @property
    def title(self) -> str:
        """What to call it where it failed."""

    @property
    def own(self) -> bool:
        """Whether its learner is the user's, which may raise anything."""
        return False

    def run(self) -> Record:
        """Its result, which JSON can hold."""


W = TypeVar("W", bound=Work)


@dataclass(frozen=True)
class Failure(Generic[W]):
    """A cell that raised, and what it said on one line."""

    cell: W
    what: str

    def __str__(self) -> str:
        return f"{self.cell.title}: {self.what}"


def finish(
    cells: Sequence[W],
    store: Store,
    pool: Workers,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[Failure[W]]:
    """Run the cells that the store does not have, each once, and keep them; those that failed.

    `report` is called with the number of cells done now, and of those there were to do. A bug of
    ours is raised.
    """
    missing = list({cell.key: cell for cell in cells if cell.key not in store}.values())
    failures = []
    report(0, len(missing))
    with closing(pool.unordered(_run, missing)) as results:
        for done, (cell, result) in enumerate(results, start=1):
            if isinstance(result, Exception):
                raise_bug(result, own=cell.own)
                failures.append(Failure(cell, said(result)))
            else:
                store.add(cell.key, result)
            report(done, len(missing))
    return failures


def _run(cell: W) -> Record:
    return cell.run()


def raise_bug(error: Exception, *, own: bool) -> None:
    """Raise what is neither a user's mistake nor of the user's own learner."""
    if not own and not isinstance(error, (BudgetronError, OSError, MemoryError)):
        raise error


def said(error: Exception) -> str:
    """What an error says, on one line; one that is no BudgetronError with its type and place."""
    text = " ".join(str(error).split())
    if isinstance(error, BudgetronError) and text:
        return text
    traceback = "".join(getattr(error, "__notes__", [])) or "".join(format_exception(error))
    places = re.findall(r'File "([^"]+)", line (\d+)', traceback)
    place = f" ({Path(places[-1][0]).name}, line {places[-1][1]})" if places else ""
    kind = "" if isinstance(error, JobError) else f"{type(error).__name__}: "
    return f"{kind}{text}{place}"


@dataclass(frozen=True)
class Settings:
    """What all cells share.

    Attributes
    ----------
    repeats : permutations; number r has the seed `seed` + r, for the order and for the learner
    seed : of the first
    keep_order : rows stay in their order; repeats differ in the learner's seed only
    delay : rows after which a label comes
    checkpoints : how many, evenly over the rows
    window, fading : of the metrics
    positive : the class that precision, recall and F1 are of, as text; None: the larger of two
        labels, the mean over the classes beyond two
    """

    repeats: int = 10
    seed: int = 0
    keep_order: bool = False
    delay: int = 0
    checkpoints: int = 50
    window: int = 1000
    fading: float = 0.999
    positive: str | None = None


@dataclass(frozen=True)
class Setup:
    """A learner with its parameters, one line of the table.

    Attributes
    ----------
    label : its name in the table
    learner : its name in the catalogue, or module:attribute
    budget : examples, or bytes as text; None if it has no budget
    params : its parameters, budget included, seed not
    version : of its code
    reference : it is there to be compared with: it learns no more than a constant
    """

    label: str
    learner: str
    budget: int | str | None
    params: Params
    version: str
    reference: bool = False


@dataclass(frozen=True)
class Cell:
    """One setup on one permutation of one stream."""

    rows: Rows = field(repr=False)
    setup: Setup
    repeat: int
    settings: Settings

    @property
    def line(self) -> tuple[str, str, int | str | None]:
        """Of the tables: what its repeats share."""
        return self.rows.name, self.setup.label, self.setup.budget

    @property
    def title(self) -> str:
        return f"{self.setup.label} on {self.rows.name}"

    @property
    def own(self) -> bool:
        return ":" in self.setup.learner

    @property
    def seed(self) -> int:
        return self.settings.seed + self.repeat

    @property
    def key(self) -> str:
        shared = asdict(self.settings)
        del shared["repeats"], shared["seed"]  # seed + repeat is what matters
        if self.settings.positive is None:
            del shared["positive"]  # the keys of before there was one
        setup = asdict(self.setup)
        del setup["label"], setup["reference"]
        return key_of([self.rows.digest, self.rows.task, setup, self.seed, shared])

    def run(self) -> Record:
        """Learn all rows; what was measured on the way."""
        X, y = self.rows.permuted(None if self.settings.keep_order else self.seed)
        return {
            "stream": self.rows.name,
            "task": self.rows.task,
            "algorithm": self.setup.label,
            "learner": self.setup.learner,
            "budget": self.setup.budget,
            "params": self.setup.params,
            "repeat": self.repeat,
            "seed": self.seed,
            "checkpoints": self._evaluate(X, y, self.settings.checkpoints),
        }

    def try_out(self) -> str:
        """Learn a few rows, so that a wrong value is found before anything is run.

        What the learner said; empty if nothing is wrong. What it warns of, it will again. A bug of
        ours is raised.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._evaluate(self.rows.X[:_TRIAL_ROWS], self.rows.y[:_TRIAL_ROWS], 1)
        except Exception as error:
            raise_bug(error, own=self.own)
            return said(error)
        return ""

    def _evaluate(self, X: Any, y: Any, checkpoints: int) -> list[dict[str, float]]:
        settings, rows = self.settings, self.rows
        model = self.make()
        ends = np.unique(np.linspace(0, len(y), checkpoints + 1).round().astype(int))[1:]
        # Ours let classes join, as `budgetron run` does; others may need all of them at first,
        # and so does a budget in bytes.
        needed = not hasattr(model, "prequential") or getattr(model, "in_bytes", False)
        closed = rows.task == "classification" and needed
        found = prequential(
            model,
            X,
            y,
            task=rows.task,
            every=ends.tolist(),
            delay=settings.delay,
            window=settings.window,
            fading=settings.fading,
            classes=rows.labels if closed else None,
            positive=rows.label_called(settings.positive),
        )
        return found.checkpoints

    def make(self) -> Any:
        """Its learner, seeded."""
        learner = named(self.setup.learner)
        params = dict(self.setup.params)
        known = learner.parameters(self.rows.task) or []
        for name in ("random_state", "seed"):
            if name in known and name not in params:
                params[name] = self.seed
                break
        return learner.make(self.rows.task, **params)


def setups(
    algorithms: Sequence[str],
    budgets: Sequence[int | str],
    task: str,
    common: Mapping[str, Any],
    own: Mapping[str, Mapping[str, Any]],
) -> list[Setup]:
    """Every learner at every budget; one without a budget once.

    Parameters
    ----------
    algorithms : names, each possibly as label=name
    budgets : of those that have one; none: their own default
    task : "classification" or "regression"
    common : parameters of all learners that have them
    own : label -> its parameters

    Raises
    ------
    BudgetronError
        For a name nobody has.
    """
    pairs = [labelled(text) for text in algorithms]
    labels = [label for label, _ in pairs]
    for label in labels:
        if labels.count(label) > 1:
            raise BudgetronError(
                f"{label!r} is there twice: name them apart, as in a={label},b={label}"
            )
    for label in own:
        if label not in labels:
            raise BudgetronError(f"no algorithm of this comparison is called {label!r}")
    learners = {label: named(name) for label, name in pairs}
    known = {label: learner.parameters(task) for label, learner in learners.items()}
    for name in common:
        if not any(names is None or name in names for names in known.values()):
            raise BudgetronError(f"none of the algorithms has a parameter {name!r}")
    made = []
    for label, learner in learners.items():
        names = known[label]
        params = {k: v for k, v in common.items() if names is not None and k in names}
        params.update(own.get(label, {}))
        bounded = names is not None and "budget" in names
        fixed = "budget" in params or not budgets
        for budget in budgets if bounded and not fixed else [params.get("budget")]:
            made.append(_setup(label, learner, budget, params, task))
    return made


def _setup(label: str, learner: NamedLearner, budget: Any, params: Params, task: str) -> Setup:
    chosen = params if budget is None else {**params, "budget": budget}
    model = learner.make(task, **chosen)
    stands = getattr(model, "budget", None)  # a default counts as a budget too
    shown = stands if isinstance(stands, int | str) else None
    return Setup(label, learner.name, shown, chosen, learner.version)


def references(task: str) -> list[Setup]:
    """What every learner has to be better than: a constant, and what was so last time."""
    found = []
    for label, name in REFERENCES[task].items():
        learner = named(f"budgetron.lab.baselines:{name}")
        found.append(Setup(label, learner.name, None, {}, learner.version, reference=True))
    return found


def planned(streams: Sequence[tuple[Rows, Sequence[Setup]]], settings: Settings) -> list[Cell]:
    """All of them, in an order in which a process seldom changes stream or permutation."""
    return [
        Cell(rows, setup, repeat, settings)
        for rows, chosen in streams
        for repeat in range(settings.repeats)
        for setup in chosen
    ]


def labelled(text: str) -> tuple[str, str]:
    """Label and name of `label=name`; a name alone is its label."""
    label, equals, name = text.partition("=")
    return (label.strip(), name.strip()) if equals else (text.strip(), text.strip())
