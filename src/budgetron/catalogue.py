"""The catalogue: every algorithm by name, with its parameters and its source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

from budgetron.errors import BudgetronError

if TYPE_CHECKING:
    from budgetron.estimators._base.classifier import OnlineClassifier
    from budgetron.estimators._base.regressor import OnlineRegressor


@dataclass(frozen=True)
class Entry:
    """A line of the catalogue: the module of the estimators and the parameters that the name fixes.

    `printed` has the paper's values for parameters whose default differs.
    """

    module: str
    stem: str
    citation: str
    summary: str
    tasks: tuple[str, ...] = ("classification",)
    fixed: dict[str, Any] = field(default_factory=dict)
    printed: dict[str, Any] = field(default_factory=dict)

    def estimator(self, task: str) -> Any:
        """The estimator class for a task."""
        suffix = {"classification": "Classifier", "regression": "Regressor", "novelty": ""}[task]
        return getattr(import_module(f"budgetron.estimators.{self.module}"), self.stem + suffix)


BOTH = ("classification", "regression")

CATALOGUE: dict[str, Entry] = {
    "perceptron": Entry(
        "perceptron",
        "Perceptron",
        "Rosenblatt 1958; Freund & Schapire 1999",
        "stores every mistake",
    ),
    "remove-oldest": Entry(
        "budget_perceptron",
        "BudgetPerceptron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Perceptron: the oldest example leaves",
        fixed={"removal": "oldest"},
    ),
    "rbp": Entry(
        "budget_perceptron",
        "BudgetPerceptron",
        "Cavallanti, Cesa-Bianchi & Gentile, Machine Learning 2007",
        "Perceptron: a random example leaves",
        fixed={"removal": "random"},
        tasks=BOTH,
    ),
    "cks": Entry(
        "budget_perceptron",
        "BudgetPerceptron",
        "Crammer, Kandola & Singer, NIPS 2003",
        "Perceptron: the example least needed for itself leaves",
        fixed={"removal": "margin"},
    ),
    "stoptron": Entry(
        "budget_perceptron",
        "BudgetPerceptron",
        "folklore; the floor every method must beat",
        "Perceptron that stops learning when the budget is full",
        fixed={"removal": "refuse"},
    ),
    "shrinking-perceptron": Entry(
        "shrinking_perceptron",
        "ShrinkingPerceptron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Perceptron that shrinks with every mistake",
    ),
    "forgetron-basic": Entry(
        "forgetron",
        "Forgetron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Forgetron that shrinks for the worst case",
        fixed={"variant": "basic"},
    ),
    "forgetron": Entry(
        "forgetron",
        "Forgetron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Perceptron that shrinks all and drops the oldest example",
        fixed={"variant": "self-tuned"},
        tasks=BOTH,
    ),
    "forgetron-greedy": Entry(
        "forgetron",
        "Forgetron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Forgetron that may drop the cheapest example",
        fixed={"variant": "greedy"},
    ),
    "projectron": Entry(
        "projectron",
        "Projectron",
        "Orabona, Keshet & Caputo, ICML 2008",
        "Perceptron that projects mistakes onto what it stores",
        tasks=BOTH,
    ),
    "projectron++": Entry(
        "projectron",
        "ProjectronPlus",
        "Orabona, Keshet & Caputo, JMLR 2009",
        "Projectron that learns from margin errors too",
    ),
    "pa": Entry(
        "passive_aggressive",
        "PassiveAggressive",
        "Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, JMLR 2006",
        "passive-aggressive: smallest step that removes the loss",
        tasks=BOTH,
    ),
    "bpas": Entry(
        "budget_passive_aggressive",
        "BudgetPassiveAggressive",
        "Wang & Vucetic, AISTATS 2010",
        "passive-aggressive: a new example replaces another",
    ),
    "alma": Entry(
        "alma",
        "ALMA",
        "Gentile, JMLR 2001",
        "Perceptron that approaches the largest margin",
    ),
    "ogd": Entry(
        "ogd",
        "OGD",
        "Kivinen, Smola & Williamson, IEEE Trans. Signal Process. 2004",
        "gradient descent on the loss",
        tasks=BOTH,
    ),
    "bogd": Entry(
        "bogd",
        "BOGD",
        "Zhao, Wang, Wu, Jin & Hoi, ICML 2012",
        "gradient descent: a random example leaves",
        fixed={"sampling": "uniform"},
        tasks=BOTH,
    ),
    "bogd++": Entry(
        "bogd",
        "BOGD",
        "Zhao, Wang, Wu, Jin & Hoi, ICML 2012",
        "as bogd; small coefs are more likely to leave",
        fixed={"sampling": "nonuniform"},
    ),
    "pegasos": Entry(
        "pegasos",
        "Pegasos",
        "Shalev-Shwartz, Singer, Srebro & Cotter, Math. Program. 2011",
        "SVM by gradient steps of 1/(lambda t)",
    ),
    "bsgd-remove": Entry(
        "bsgd",
        "BSGD",
        "Wang, Crammer & Vucetic, JMLR 2012",
        "Pegasos: the smallest example leaves",
        fixed={"maintenance": "remove"},
    ),
    "bsgd-project": Entry(
        "bsgd",
        "BSGD",
        "Wang, Crammer & Vucetic, JMLR 2012",
        "Pegasos: the smallest example is projected onto others",
        fixed={"maintenance": "project"},
    ),
    "bsgd-merge": Entry(
        "bsgd",
        "BSGD",
        "Wang, Crammer & Vucetic, JMLR 2012",
        "Pegasos: the smallest example is merged with another",
        fixed={"maintenance": "merge"},
    ),
    "fogd": Entry(
        "fogd",
        "FOGD",
        "Lu, Hoi, Wang, Zhao & Liu, JMLR 2016",
        "random Fourier features; stores no example",
        tasks=BOTH,
    ),
    "nogd": Entry(
        "nogd",
        "NOGD",
        "Lu, Hoi, Wang, Zhao & Liu, JMLR 2016",
        "Nystrom features of the first examples with loss",
        tasks=BOTH,
    ),
    "avp": Entry(
        "avp",
        "AVP",
        "Liao, Li, Liao, Hu & Dang, AAAI 2024",
        "Perceptron that also learns from small margins",
    ),
    "pomdr": Entry(
        "pomdr",
        "POMDR",
        "Li & Liao, AAAI 2023",
        "optimistic mirror descent that halves its examples",
    ),
    "ahpatron": Entry(
        "ahpatron",
        "Ahpatron",
        "Liao, Li, Liao, Hu & Dang, AAAI 2024",
        "aggressive Perceptron; halves its examples and projects",
    ),
    "avm": Entry(
        "avm",
        "AVM",
        "Le, Nguyen, Nguyen & Phung, JMLR 2017",
        "Pegasos on rows rounded to core points",
        tasks=BOTH,
        printed={"delta": 1.0},
    ),
    "budgetron": Entry(
        "budgetron",
        "Budgetron",
        "this library; after Crammer, Kulesza & Dredze, NIPS 2009",
        "confidence-weighted; notices when the stream changes",
        tasks=BOTH,
    ),
}

# Detectors of strange rows, which learn without labels.
DETECTORS: dict[str, Entry] = {
    "anomaly": Entry(
        "anomaly",
        "BudgetronAnomaly",
        "this library",
        "strange rows: densities of stored rows at several widths",
        tasks=("novelty",),
    ),
}
ALL = CATALOGUE | DETECTORS
TASKS = (*BOTH, "novelty")


@dataclass(frozen=True)
class Algorithm:
    """What `algorithms` says about one learner."""

    name: str
    tasks: tuple[str, ...]
    citation: str
    parameters: dict[str, Any]
    summary: str


def algorithms(task: str = "classification") -> list[Algorithm]:
    """List every learner of the library that does `task`, with its parameters.

    Parameters
    ----------
    task : "classification", "regression" or "novelty" (strange rows, without labels)

    Returns
    -------
    algorithms : list of Algorithm
        Each with name, summary, citation, tasks and parameters.

    Examples
    --------
    >>> import budgetron
    >>> [algorithm.name for algorithm in budgetron.algorithms()][:3]
    ['perceptron', 'remove-oldest', 'rbp']
    >>> [algorithm.name for algorithm in budgetron.algorithms("regression")][:3]
    ['rbp', 'forgetron', 'projectron']
    """
    if task not in TASKS:
        raise BudgetronError(f"task={task!r} is not one of {', '.join(map(repr, TASKS))}")
    listed = []
    for name, entry in ALL.items():
        if task not in entry.tasks:
            continue
        estimator = entry.estimator(task)
        parameters = {f.name: f.default for f in fields(estimator) if f.name not in entry.fixed}
        listed.append(Algorithm(name, entry.tasks, entry.citation, parameters, entry.summary))
    return listed


@overload
def make(
    name: str, task: Literal["classification"] = "classification", **params: Any
) -> OnlineClassifier: ...
@overload
def make(name: str, task: Literal["regression"], **params: Any) -> OnlineRegressor: ...
@overload
def make(name: str, task: str, **params: Any) -> OnlineClassifier | OnlineRegressor: ...
def make(
    name: str, task: str = "classification", **params: Any
) -> OnlineClassifier | OnlineRegressor:
    """Make the estimator called `name` in the catalogue.

    Parameters
    ----------
    name : str
        See ``budgetron.algorithms()``.
    task : {"classification", "regression", "novelty"}
    **params
        Its parameters.

    Examples
    --------
    >>> import budgetron
    >>> budgetron.make("ahpatron", budget=400, gamma=0.5)
    AhpatronClassifier(budget=400, gamma=0.5)
    >>> budgetron.make("bogd", task="regression", budget=400)
    BOGDRegressor(budget=400)
    """
    if not isinstance(name, str):
        raise BudgetronError(
            f"name={name!r} must be the name of an algorithm, as text: one of {', '.join(ALL)}"
        )
    if name not in ALL:
        raise BudgetronError(
            f"no algorithm is called {name!r}{nearest(name, ALL)} (there are {', '.join(ALL)})"
        )
    entry = ALL[name]
    if task not in entry.tasks:
        raise BudgetronError(f"{name} does {' and '.join(entry.tasks)}, not {task!r}")
    estimator = entry.estimator(task)
    known = [f.name for f in fields(estimator) if f.name not in entry.fixed]
    for parameter in params:
        if parameter not in known:
            raise BudgetronError(
                f"{name} has no parameter {parameter!r}{nearest(parameter, known)} "
                f"(it has {', '.join(known)})"
            )
    made: OnlineClassifier | OnlineRegressor = estimator(**entry.fixed, **params)
    return made


def paper_settings(task: str = "classification") -> dict[str, Any]:
    """The papers' values for parameters whose default differs in all estimators.

    One kernel for the whole stream (gamma is a number in every paper; 1/d if a paper names none),
    rows and targets unscaled, rows in order, no intervals. Guarantees, the papers' tables and the
    pages in `papers/` use these.
    """
    shared: dict[str, Any] = {"gamma": "auto", "scale": None, "shuffle": False}
    own = {"target_scale": None, "intervals": False} if task == "regression" else {}
    return shared | own


def as_printed(name: str, task: str = "classification", **params: Any) -> Any:
    """Make the estimator called `name` with the settings of its paper.

    These are `paper_settings`, and `printed` in its line of the catalogue.

    Parameters
    ----------
    name, task, **params : as for `make`

    Examples
    --------
    >>> from budgetron.catalogue import as_printed
    >>> as_printed("forgetron", gamma=0.5)
    ForgetronClassifier(gamma=0.5, scale=None, shuffle=False)
    """
    own = CATALOGUE[name].printed if name in CATALOGUE else {}
    return make(name, task, **paper_settings(task) | own | params)


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint at the nearest word, or nothing."""
    close = get_close_matches(word.lower(), list(words), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
