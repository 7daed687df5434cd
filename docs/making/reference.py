"""The reference: one page per public class or function, and lists of them.

`docs/reference/api.md` includes the lists. A page shows what the docstring says: parameters with
their meaning and default, attributes, an example; then the methods.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import budgetron
from making import put


@dataclass(frozen=True)
class Group:
    """Names of one module that are listed together; every name gets a page of its own."""

    heading: str
    module: str
    names: tuple[str, ...]
    about: str = ""


@dataclass(frozen=True)
class Shared:
    """Small things of one kind that share a page."""

    page: str
    title: str
    about: str
    names: tuple[str, ...]  # with their modules


def _estimators(suffix: str) -> tuple[str, ...]:
    names = [name for name in budgetron.__all__ if name.endswith(suffix)]
    return tuple(sorted(names, key=lambda name: (not name.startswith("Budgetron"), name.lower())))


def _defined(module: str) -> tuple[str, ...]:
    """The classes of a module of parts, in its order."""
    found = vars(import_module(module)).items()
    return tuple(
        f"{module}.{name}"
        for name, value in found
        if inspect.isclass(value) and value.__module__ == module and not name.startswith("_")
    )


GROUPS = (
    Group(
        "Functions",
        "budgetron",
        ("make", "algorithms", "save", "load", "explain", "merge", "merge_models", "suggest_delta"),
    ),
    Group("Classifiers", "budgetron", _estimators("Classifier")),
    Group("Regressors", "budgetron", _estimators("Regressor")),
    Group("Detectors of strange rows", "budgetron", _estimators("Anomaly")),
    Group("Tables", "budgetron", ("TableEncoder",)),
    Group("Many models", "budgetron", ("Fleet", "Delta")),
    Group("Many models behind one classifier", "budgetron.fleet.classifier", ("FleetClassifier",)),
    Group("Many models behind one regressor", "budgetron.fleet.regressor", ("FleetRegressor",)),
    Group(
        "Streams",
        "budgetron.streams",
        (
            "open_stream",
            "SourceOptions",
            "synthetic",
            "two_gaussians",
            "Stream",
            "RowStream",
            "ArrayStream",
            "LibsvmStream",
            "TableStream",
            "SyntheticStream",
        ),
    ),
    Group(
        "Evaluation",
        "budgetron.evaluate",
        ("prequential", "held_out", "Evaluation", "ClassificationMetrics", "RegressionMetrics"),
    ),
    Group("Comparing", "budgetron.compare", ("compare", "Comparison", "Settings", "Rows")),
    Group("Tuning", "budgetron.tune", ("tune", "Tuning", "combinations", "paper_grid")),
    Group("Scoring large tables", "budgetron.scoring", ("Scorer",)),
    Group("Spark", "budgetron.spark", ("learn_fleet", "fleets", "score", "train")),
    Group("Dask", "budgetron.dask", ("train", "fleet", "load_fleet")),
    Group("Ray", "budgetron.ray", ("train", "fleet", "load_fleet")),
    Group(
        "Pictures",
        "budgetron.plot",
        (
            "learning_curve",
            "error_over_time",
            "reliability_diagram",
            "budget_against_error",
            "decision_boundary",
            "stored_examples",
        ),
    ),
    Group("Serving", "budgetron.serve", ("running", "Settings")),
    Group("Asking a server", "budgetron.client", ("Client", "Predictions", "Learned")),
    Group("Export", "budgetron.export", ("describe", "Description", "to_c", "to_json")),
    Group("ONNX", "budgetron.onnx", ("to_onnx",)),
)
SHARED = (
    Shared(
        "errors",
        "Errors and warnings",
        "A mistake of the caller is a `BudgetronError`, in one line that says what to do.",
        (
            "budgetron.BudgetronError",
            "budgetron.ModelFileError",
            "budgetron.streams.StreamError",
            "budgetron.export.ExportError",
            "budgetron.client.ServeError",
            "budgetron.checks.ContractBroken",
            "budgetron.PrecisionWarning",
            "budgetron.NotLearningWarning",
        ),
    ),
    Shared(
        "reasons",
        "Reasons",
        "What `budgetron.explain` returns for each row, and the events of a fleet.",
        ("budgetron.explaining.reasons.Reason", "budgetron.fleet.FleetEvent"),
    ),
    *(
        Shared(family, f"Parts: {family}", about, _defined(f"budgetron.parts.{family}"))
        for family, about in (
            ("kernels", "All can be imported from `budgetron.parts`."),
            ("losses", "All can be imported from `budgetron.parts`."),
            ("updates", "What a round adds to f. All can be imported from `budgetron.parts`."),
            (
                "budgets",
                "What happens when there is no more room. All are in `budgetron.parts`.",
            ),
            ("learners", "Whole learners, made of parts. Import them from `budgetron.parts`."),
            ("part", "What all parts share."),
        )
    ),
)


def write(pages: Path) -> list[Path]:
    """The pages, and the lists that docs/reference/api.md includes."""
    folder = pages / "reference"
    written, lists, stems = [], [], []
    for group in GROUPS:
        rows = []
        for name in group.names:
            stem = f"{group.module}.{name}"
            stems.append(stem)
            written.append(put(folder / f"{stem}.md", _page(group.module, name)))
            rows.append(f"| {{doc}}`{name} </pages/reference/{stem}>` | {_first(stem)} |")
        lists += [f"### {group.heading}", "", f"`{group.module}`", "", *_table(rows)]
    rows = []
    for shared in SHARED:
        stems.append(shared.page)
        written.append(put(folder / f"{shared.page}.md", _shared(shared)))
        names = ", ".join(f"`{each.rpartition('.')[2]}`" for each in shared.names)
        rows.append(f"| {{doc}}`{shared.title} </pages/reference/{shared.page}>` | {names} |")
    written.append(put(folder / "river.md", _river()))
    rows.append("| {doc}`River models </pages/reference/river>` | `budgetron.river` |")
    lists += ["### Errors, parts, River", "", *_table(rows)]
    tree = ["```{toctree}", ":hidden:", "", *(f"/pages/reference/{stem}" for stem in stems)]
    lists += [*tree, "/pages/reference/river", "```"]
    return [*written, put(pages / "reference.txt", "\n".join(lists) + "\n")]


def _table(rows: list[str]) -> list[str]:
    return ["| name | what it is |", "|---|---|", *rows, ""]


def _first(path: str) -> str:
    """The first sentence of a docstring, fit for a cell."""
    text = (inspect.getdoc(_found(path)) or "").split("\n\n")[0].replace("\n", " ")
    return text.replace("|", "\\|").replace("``", "`")


def _found(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _methods(cls: type) -> list[str]:
    """The public methods that this package defines, with those of its parents."""
    found: dict[str, Any] = {}
    for each in cls.__mro__:
        if not each.__module__.startswith("budgetron"):
            continue
        for name, value in vars(each).items():
            value = getattr(value, "__func__", value)
            if inspect.isfunction(value) and not name.startswith("_") and value.__doc__:
                found.setdefault(name, value)
    return list(found)


def _directive(path: str) -> str:
    """How autodoc is asked for the object."""
    value = _found(path)
    if not inspect.isclass(value):
        return f".. autofunction:: {path}"
    if issubclass(value, BaseException):
        return f".. autoexception:: {path}"
    methods = ", ".join(_methods(value))
    members = f"\n   :members: {methods}" if methods else ""
    return f".. autoclass:: {path}{members}"


def _page(module: str, name: str) -> str:
    stem = f"{module}.{name}"
    card = _algorithms(name) if module == "budgetron" else ""
    return f"# {name}\n\n`{stem}`{card}\n\n```{{eval-rst}}\n{_directive(stem)}\n```\n"


def _algorithms(name: str) -> str:
    """Links to the pages of the algorithms that the class is."""
    from making.algorithms import file_name

    pages = [
        f"{{doc}}`{each} </pages/algorithms/{file_name(each)}>`"
        for each, entry in budgetron.catalogue.CATALOGUE.items()
        for task in entry.tasks
        if entry.estimator(task).__name__ == name
    ]
    return f". The paper and its numbers: {', '.join(pages)}." if pages else ""


def _shared(shared: Shared) -> str:
    directives = "\n".join(map(_directive, shared.names))
    return f"# {shared.title}\n\n{shared.about}\n\n```{{eval-rst}}\n{directives}\n```\n"


def _river() -> str:
    """All classes of `budgetron.river`: each is an estimator, with the methods of River."""
    import budgetron.river as river

    rows = [
        f"| `{name}` | {_first(f'budgetron.{name}')} "
        f"| {{doc}}`{name} </pages/reference/budgetron.{name}>` |"
        for name in river.__all__
        if name.endswith(("Classifier", "Regressor"))
    ]
    bases = [
        "budgetron.river.classifier.RiverClassifier",
        "budgetron.river.regressor.RiverRegressor",
    ]
    others = ["budgetron.river.TableEncoder", "budgetron.fleet.river.FleetClassifier"]
    directives = "\n".join(map(_directive, ["budgetron.river.make", *bases, *others]))
    return "\n".join(
        [
            "# River models",
            "",
            "Every estimator has a River class of the same name in `budgetron.river`, with the",
            "same parameters but for these: `seed` stands for `random_state`; `n_epochs`,",
            "`shuffle` and `n_jobs` are not there; `classes` and `max_features` are added. How to",
            "use them:",
            "{doc}`/interfaces/river`.",
            "",
            "```{eval-rst}",
            directives,
            "```",
            "",
            "## Classes",
            "",
            "| class | what it is | parameters |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )
