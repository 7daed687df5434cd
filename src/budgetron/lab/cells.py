"""Cells: one learner on one permutation of one stream, run once and kept.

All parts of the laboratory pass their cells to `finish`. A cell's key is a hash of everything that
its result depends on, so that a stored result is used again only if a new run would give the same.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
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
_TIMED_ROWS = 100  # rows between two checks of the clock


class Work(Protocol):
    """What `finish` runs."""

    @property
    def key(self) -> str:
        """A hash that is equal only if the result is."""

    @property
    def title(self) -> str:
        """Its name in a message about a failure."""

    @property
    def own(self) -> bool:
        """Whether its learner is the user's own, which may raise anything."""
        return False

    def run(self) -> Record:
        """Its result, which JSON can hold."""


W = TypeVar("W", bound=Work)


@dataclass(frozen=True)
class Failure(Generic[W]):
    """A cell that raised an exception, and its text on one line.

    Attributes
    ----------
    cell : the cell
    what : the exception, on one line
    """

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
    """Run the cells that the store lacks, each once, and store them; return those that failed.

    `report` is called with the number of cells done, and the number of all. A bug of ours is raised
    again.
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
    """Raise errors that are neither a user's mistake nor from the user's own learner."""
    if not own and not isinstance(error, (BudgetronError, OSError, MemoryError)):
        raise error


def said(error: Exception) -> str:
    """The text of an error, on one line; with type and place if it is not a BudgetronError."""
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
    """Settings that all cells share.

    Attributes
    ----------
    repeats : permutations; number r has the seed `seed` + r, for the order and for the learner
    seed : seed of the first
    keep_order : rows keep their order; repeats differ only in the learner's seed
    delay : rows after which a label comes
    checkpoints : number of points on each curve, evenly over the rows
    window, fading : parameters of the metrics
    positive : the class for precision, recall and F1, as text; None: the larger of two labels, or
        the mean over the classes if there are more
    seconds : processor time after which a cell ends with the rows learned by then; None: no
        limit

    Examples
    --------
    >>> from budgetron.compare import Settings
    >>> Settings(repeats=3, delay=100).window
    1000
    """

    repeats: int = 10
    seed: int = 0
    keep_order: bool = False
    delay: int = 0
    checkpoints: int = 50
    window: int = 1000
    fading: float = 0.999
    positive: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Setup:
    """A learner with its parameters: one line of the table.

    Attributes
    ----------
    label : its name in the table
    learner : its name in the catalogue, or module:attribute
    budget : examples, or bytes as text; None if it has no budget
    params : its parameters, budget included, seed not
    version : digest of its code
    reference : it is a baseline: it learns no more than a constant
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
        """Its line of the tables, which its repeats share."""
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
        del shared["repeats"], shared["seed"]  # only seed + repeat matters
        for name in ("positive", "seconds"):
            if shared[name] is None:
                del shared[name]  # keys from before this option existed
        setup = asdict(self.setup)
        del setup["label"], setup["reference"]
        return key_of([self.rows.digest, self.rows.task, setup, self.seed, shared])

    def run(self) -> Record:
        """Learn all rows; return the measurements."""
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

        Returns the learner's error; empty if nothing is wrong. Its warnings will come again in the
        run. A bug of ours is raised.
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
        # Ours add classes as they occur, as `budgetron run` does; others, and budgets in bytes, may
        # need all of them at first.
        needed = not hasattr(model, "prequential") or getattr(model, "in_bytes", False)
        closed = rows.task == "classification" and needed
        given = (X, y) if settings.seconds is None else (_in_time(X, y, settings.seconds), None)
        found = prequential(
            model,
            *given,
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


def _in_time(X: Any, y: Any, seconds: float) -> Iterator[tuple[Any, Any]]:
    """The rows in small chunks, while there is processor time left."""
    end = time.process_time() + seconds
    for start in range(0, len(y), _TIMED_ROWS):
        if start and time.process_time() > end:
            return
        yield X[start : start + _TIMED_ROWS], y[start : start + _TIMED_ROWS]


def setups(
    algorithms: Sequence[str],
    budgets: Sequence[int | str],
    task: str,
    common: Mapping[str, Any],
    own: Mapping[str, Mapping[str, Any]],
) -> list[Setup]:
    """Every learner at every budget; a learner without a budget once.

    Parameters
    ----------
    algorithms : names, each possibly as label=name
    budgets : for learners that have one; none: their own default
    task : "classification" or "regression"
    common : parameters for all learners that have them
    own : label -> its parameters

    Raises
    ------
    BudgetronError
        For an unknown name.
    """
    pairs = [labelled(text) for text in algorithms]
    labels = [label for label, _ in pairs]
    for label in labels:
        if labels.count(label) > 1:
            raise BudgetronError(
                f"{label!r} occurs twice: give them names, as in a={label},b={label}"
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
    stands = getattr(model, "budget", None)  # a default is a budget too
    shown = stands if isinstance(stands, int | str) else None
    return Setup(label, learner.name, shown, chosen, learner.version)


def references(task: str) -> list[Setup]:
    """The baselines that every learner has to beat: a constant, and the last label."""
    found = []
    for label, name in REFERENCES[task].items():
        learner = named(f"budgetron.lab.baselines:{name}")
        found.append(Setup(label, learner.name, None, {}, learner.version, reference=True))
    return found


def planned(streams: Sequence[tuple[Rows, Sequence[Setup]]], settings: Settings) -> list[Cell]:
    """All cells, in an order in which a process seldom changes stream or permutation."""
    return [
        Cell(rows, setup, repeat, settings)
        for rows, chosen in streams
        for repeat in range(settings.repeats)
        for setup in chosen
    ]


def labelled(text: str) -> tuple[str, str]:
    """Label and name of `label=name`; a single name is its own label."""
    label, equals, name = text.partition("=")
    return (label.strip(), name.strip()) if equals else (text.strip(), text.strip())
