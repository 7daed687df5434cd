"""What a comparison runs: learners x budgets x streams x permutations, each one a cell.

A cell's key is a hash of everything its result depends on, so that a result kept from before is
used again only where it would come out the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from budgetron.errors import BudgetronError
from budgetron.lab.compare.data import Rows
from budgetron.lab.learners_by_name import NamedLearner, named

Params = dict[str, Any]


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
    """

    repeats: int = 10
    seed: int = 0
    keep_order: bool = False
    delay: int = 0
    checkpoints: int = 50
    window: int = 1000
    fading: float = 0.999


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
    """

    label: str
    learner: str
    budget: int | str | None
    params: Params
    version: str

    @property
    def own(self) -> bool:
        """Whether the learner is the user's, not of the catalogue."""
        return ":" in self.learner


@dataclass(frozen=True)
class Cell:
    """One setup on one permutation of one stream."""

    stream: str
    task: str
    setup: Setup
    repeat: int
    settings: Settings
    digest: str = field(repr=False, default="")

    @property
    def line(self) -> tuple[str, str, int | str | None]:
        """Of the tables: what its repeats share."""
        return self.stream, self.setup.label, self.setup.budget

    @property
    def seed(self) -> int:
        return self.settings.seed + self.repeat

    @property
    def key(self) -> str:
        """Equal only where the result is."""
        shared = asdict(self.settings)
        del shared["repeats"], shared["seed"]  # seed + repeat is what matters
        setup = asdict(self.setup)
        del setup["label"]
        about = [self.digest, self.task, setup, self.seed, shared]
        return hashlib.sha256(json.dumps(about, sort_keys=True, default=repr).encode()).hexdigest()[
            :24
        ]

    def make(self) -> Any:
        """Its learner, seeded."""
        learner = named(self.setup.learner)
        params = dict(self.setup.params)
        known = learner.parameters(self.task) or []
        for name in ("random_state", "seed"):
            if name in known and name not in params:
                params[name] = self.seed
                break
        return learner.make(self.task, **params)


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
    labelled = [_labelled(text) for text in algorithms]
    labels = [label for label, _ in labelled]
    for label in labels:
        if labels.count(label) > 1:
            raise BudgetronError(
                f"{label!r} is there twice: name them apart, as in a={label},b={label}"
            )
    for label in own:
        if label not in labels:
            raise BudgetronError(f"no algorithm of this comparison is called {label!r}")
    learners = {label: named(name) for label, name in labelled}
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


def cells(streams: Iterable[tuple[Rows, list[Setup]]], settings: Settings) -> list[Cell]:
    """All of them, in an order in which a worker seldom changes stream or permutation."""
    return [
        Cell(rows.name, task, setup, repeat, settings, digest)
        for rows, chosen in streams
        for task, digest in [(rows.task, rows.digest())]
        for repeat in range(settings.repeats)
        for setup in chosen
    ]


def _labelled(text: str) -> tuple[str, str]:
    label, equals, name = text.partition("=")
    return (label.strip(), name.strip()) if equals else (text.strip(), text.strip())
