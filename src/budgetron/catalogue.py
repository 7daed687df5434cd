"""The catalogue: every algorithm by name, with what it takes and where it comes from."""

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
    """A catalogue line: where the estimators live and which parameters the name fixes.

    `printed` is what its paper has where a default of its own is another.
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
        suffix = {"classification": "Classifier", "regression": "Regressor"}[task]
        return getattr(import_module(f"budgetron.estimators.{self.module}"), self.stem + suffix)


BOTH = ("classification", "regression")

CATALOGUE: dict[str, Entry] = {
    "perceptron": Entry(
        "perceptron",
        "Perceptron",
        "Rosenblatt 1958; Freund & Schapire 1999",
        "stores every mistake, without limit",
    ),
    "remove-oldest": Entry(
        "budget_perceptron",
        "BudgetPerceptron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Perceptron on a budget: the oldest example leaves",
        fixed={"removal": "oldest"},
    ),
    "rbp": Entry(
        "budget_perceptron",
        "BudgetPerceptron",
        "Cavallanti, Cesa-Bianchi & Gentile, Machine Learning 2007",
        "Perceptron on a budget: a random example leaves",
        fixed={"removal": "random"},
        tasks=BOTH,
    ),
    "cks": Entry(
        "budget_perceptron",
        "BudgetPerceptron",
        "Crammer, Kandola & Singer, NIPS 2003",
        "Perceptron on a budget: the example surest without itself leaves",
        fixed={"removal": "margin"},
    ),
    "stoptron": Entry(
        "budget_perceptron",
        "BudgetPerceptron",
        "folklore; the floor every method must beat",
        "Perceptron that stops learning when its budget is full",
        fixed={"removal": "refuse"},
    ),
    "shrinking-perceptron": Entry(
        "shrinking_perceptron",
        "ShrinkingPerceptron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Perceptron that shrinks with every mistake, without limit",
    ),
    "forgetron-basic": Entry(
        "forgetron",
        "Forgetron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Perceptron that shrinks for the worst case and drops its oldest example",
        fixed={"variant": "basic"},
    ),
    "forgetron": Entry(
        "forgetron",
        "Forgetron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Perceptron that shrinks as little as its bound allows and drops its oldest example",
        fixed={"variant": "self-tuned"},
        tasks=BOTH,
    ),
    "forgetron-greedy": Entry(
        "forgetron",
        "Forgetron",
        "Dekel, Shalev-Shwartz & Singer, SIAM J. Comput. 2008",
        "Forgetron that drops the cheapest example when that is cheap enough",
        fixed={"variant": "greedy"},
    ),
    "projectron": Entry(
        "projectron",
        "Projectron",
        "Orabona, Keshet & Caputo, ICML 2008",
        "Perceptron that projects mistakes near the span of what it stores",
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
        "smallest step that removes the loss, without limit",
        tasks=BOTH,
    ),
    "bpas": Entry(
        "budget_passive_aggressive",
        "BudgetPassiveAggressive",
        "Wang & Vucetic, AISTATS 2010",
        "passive-aggressive: a newcomer absorbs the example it replaces",
    ),
    "alma": Entry(
        "alma",
        "ALMA",
        "Gentile, JMLR 2001",
        "Perceptron that approaches the largest margin, without limit",
    ),
    "ogd": Entry(
        "ogd",
        "OGD",
        "Kivinen, Smola & Williamson, IEEE Trans. Signal Process. 2004",
        "gradient steps on the loss, without limit",
        tasks=BOTH,
    ),
    "bogd": Entry(
        "bogd",
        "BOGD",
        "Zhao, Wang, Wu, Jin & Hoi, ICML 2012",
        "gradient steps: a random example leaves, the others make up for it",
        fixed={"sampling": "uniform"},
        tasks=BOTH,
    ),
    "bogd++": Entry(
        "bogd",
        "BOGD",
        "Zhao, Wang, Wu, Jin & Hoi, ICML 2012",
        "as bogd, small coefs being likelier to leave",
        fixed={"sampling": "nonuniform"},
    ),
    "pegasos": Entry(
        "pegasos",
        "Pegasos",
        "Shalev-Shwartz, Singer, Srebro & Cotter, Math. Program. 2011",
        "gradient steps of 1/(lambda t), without limit",
    ),
    "bsgd-remove": Entry(
        "bsgd",
        "BSGD",
        "Wang, Crammer & Vucetic, JMLR 2012",
        "Pegasos on a budget: the smallest example leaves",
        fixed={"maintenance": "remove"},
    ),
    "bsgd-project": Entry(
        "bsgd",
        "BSGD",
        "Wang, Crammer & Vucetic, JMLR 2012",
        "Pegasos on a budget: the smallest example is projected onto the others",
        fixed={"maintenance": "project"},
    ),
    "bsgd-merge": Entry(
        "bsgd",
        "BSGD",
        "Wang, Crammer & Vucetic, JMLR 2012",
        "Pegasos on a budget: the smallest example is merged with another",
        fixed={"maintenance": "merge"},
    ),
    "fogd": Entry(
        "fogd",
        "FOGD",
        "Lu, Hoi, Wang, Zhao & Liu, JMLR 2016",
        "gradient descent on random Fourier features; stores no example",
        tasks=BOTH,
    ),
    "nogd": Entry(
        "nogd",
        "NOGD",
        "Lu, Hoi, Wang, Zhao & Liu, JMLR 2016",
        "gradient descent on Nystrom features of the first examples with loss",
        tasks=BOTH,
    ),
    "avp": Entry(
        "avp",
        "AVP",
        "Liao, Li, Liao, Hu & Dang, AAAI 2024",
        "Perceptron that also learns from small margins, without limit",
    ),
    "pomdr": Entry(
        "pomdr",
        "POMDR",
        "Li & Liao, AAAI 2023",
        "optimistic mirror descent that halves its support onto the nearest examples",
    ),
    "ahpatron": Entry(
        "ahpatron",
        "Ahpatron",
        "Liao, Li, Liao, Hu & Dang, AAAI 2024",
        "aggressive Perceptron that halves its budget and projects what it drops",
    ),
    "avm": Entry(
        "avm",
        "AVM",
        "Le, Nguyen, Nguyen & Phung, JMLR 2017",
        "Pegasos whose rows are rounded to the core points of cells",
        tasks=BOTH,
        printed={"delta": 1.0},
    ),
    "budgetron": Entry(
        "budgetron",
        "Budgetron",
        "this library; after Crammer, Kulesza & Dredze, NIPS 2009",
        "confidence-weighted: knows how sure it is of each coef, and when the stream changes",
        tasks=BOTH,
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


def algorithms(task: str = "classification") -> list[Algorithm]:
    """Every learner of the library that does `task`, with the parameters it has there.

    Examples
    --------
    >>> import budgetron
    >>> [algorithm.name for algorithm in budgetron.algorithms()][:3]
    ['perceptron', 'remove-oldest', 'rbp']
    >>> [algorithm.name for algorithm in budgetron.algorithms("regression")][:3]
    ['rbp', 'forgetron', 'projectron']
    """
    if task not in BOTH:
        raise BudgetronError(f"task={task!r} is not one of {', '.join(map(repr, BOTH))}")
    listed = []
    for name, entry in CATALOGUE.items():
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
    >>> budgetron.make("bogd", task="regression", budget=400)
    BOGDRegressor(budget=400)
    """
    if not isinstance(name, str):
        raise BudgetronError(
            f"name={name!r} must be the name of an algorithm, as text: one of "
            f"{', '.join(CATALOGUE)}"
        )
    if name not in CATALOGUE:
        raise BudgetronError(
            f"no algorithm is called {name!r}{nearest(name, CATALOGUE)} "
            f"(there are {', '.join(CATALOGUE)})"
        )
    entry = CATALOGUE[name]
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
    """What the papers have where the default of every estimator is another.

    One kernel for the whole stream (gamma is a number in every paper; 1/d for those who name none),
    rows and targets as they come, rows in their order. Guarantees, the papers' tables and the pages
    in `papers/` are of these.
    """
    shared: dict[str, Any] = {"gamma": "auto", "scale": None, "shuffle": False}
    return shared | ({"target_scale": None} if task == "regression" else {})


def as_printed(name: str, task: str = "classification", **params: Any) -> Any:
    """The estimator called `name` that computes what its paper says.

    That is `paper_settings`, and what its own line of the catalogue has as `printed`.

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
    """A hint at the word that was probably meant, or nothing."""
    close = get_close_matches(word.lower(), list(words), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
