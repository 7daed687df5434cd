"""Makes River classes from the estimators: one class per estimator.

A River class is a dataclass, like its estimator: a field is a parameter, so that signature, repr,
cloning and defaults need no second list. Its docstring is the estimator's, with the parameters of
River models.
"""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass
from typing import Any

from budgetron.catalogue import ALL
from budgetron.catalogue import make as make_estimator
from budgetron.estimators._base.docstrings import Docstring
from budgetron.estimators.custom import KernelClassifier
from budgetron.river.classifier import RiverClassifier
from budgetron.river.detector import RiverDetector
from budgetron.river.model import RiverLearner
from budgetron.river.regressor import RiverRegressor

DROPPED = {"n_epochs", "shuffle", "n_jobs", "random_state"}  # only `fit` and arrays need these
KINDS: dict[str, type[RiverLearner]] = {
    "classification": RiverClassifier,
    "regression": RiverRegressor,
    "novelty": RiverDetector,
}
GAMMA = """\
    Width of the kernel. "median" is 1 / median squared distance between the first 200 rows, in
    their units; it is found again when units change. "4*median" is four times that. "auto" means
    "median", since the width of the stream is not known."""
ADDED = """
Parameters
----------
classes : labels or None, default None
    All labels there will be; any other is an error. None: classes are added as they occur.
max_features : int or None, default None
    Largest number of features; learning one more is an error. None: any number.
seed : int or None, default None
    Seed of the random generator; None is 0."""
EXAMPLES = {
    "classification": """\
>>> model.learn_one({"x": 1.0}, "yes")
>>> model.predict_one({"x": 0.9})
'yes'""",
    "regression": """\
>>> model.predict_one({"x": 0.9})
0.0""",
    "novelty": """\
>>> model.score_one({"x": 0.9})
0.0""",
}


def river_classes(module: str) -> dict[str, type[RiverLearner]]:
    """The River class of every estimator, by name, as classes of `module`."""
    estimators: set[tuple[Any, str]] = {
        (entry.estimator(task), task) for entry in ALL.values() for task in entry.tasks
    }
    estimators.add((KernelClassifier, "classification"))  # which has no paper, nor a catalogue name
    return {e.__name__: _river_class(e, task, module) for e, task in estimators}


def make(name: str, task: str = "classification", **params: Any) -> Any:
    """Make the River model called `name` in the catalogue.

    Parameters
    ----------
    name : str
        See ``budgetron.algorithms()``.
    task : {"classification", "regression", "novelty"}
    **params
        Its parameters.

    Examples
    --------
    >>> from budgetron.river import make
    >>> model = make("rbp", budget=50, seed=1)
    >>> type(model).__name__, model.removal, model.budget
    ('BudgetPerceptronClassifier', 'random', 50)
    """
    import budgetron.river

    estimator = make_estimator(name, task)  # reports a wrong name
    river_class = getattr(budgetron.river, type(estimator).__name__)
    return river_class(**ALL[name].fixed, **params)


def _river_class(estimator: Any, task: str, module: str) -> type[RiverLearner]:
    own = [("classes", Any, field(default=None))] if task == "classification" else []
    parameters = [
        *((f.name, f.type, field(default=f.default)) for f in fields(estimator)),
        *own,
        ("max_features", "int | None", field(default=None)),
        ("seed", "int | None", field(default=None)),
    ]
    made = make_dataclass(
        estimator.__name__,
        [parameter for parameter in parameters if parameter[0] not in DROPPED],
        bases=(KINDS[task],),
        namespace={"_estimator_class": estimator, "__doc__": _document(estimator, task, module)},
        eq=False,
        repr=False,
        kw_only=True,
    )
    made.__module__ = module  # where pickle finds it
    return made


def _document(estimator: Any, task: str, module: str) -> str:
    """The estimator's docstring for its River class."""
    document = Docstring.parse(estimator.__doc__)
    entries = {
        names: entry
        for names, entry in document.parameters.items()
        if not DROPPED & {*names.split(", ")}
    }
    header = entries["gamma"].split("\n")[0]
    entries["gamma"] = f"{header}\n{GAMMA}"
    added = Docstring.parse(ADDED).parameters
    if task != "classification":
        del added["classes"]
    name = estimator.__name__
    example = f"Examples\n--------\n>>> from {module} import {name}\n>>> model = {name}()\n"
    left_out = ("Attributes", "Examples")  # the estimator inside has the attributes
    sections = [each for each in document.sections if not each.startswith(left_out)]
    sections.append(example + EXAMPLES[task])
    return str(Docstring(document.head, entries | added, sections))
