"""`budgetron predict --explain`: per row, the columns that moved the decision, and examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from budgetron.cli._known_columns import encoding_in

# The keys of a reason in JSON lines, as in `Reason.to_dict`.
HEADS = [
    "prediction",
    "probability",
    "decision",
    "against",
    "columns",
    "examples",
    "n_examples",
    "constant",
]


def explainer(
    learner: Any, document: dict[str, Any], *, whole: bool
) -> Callable[[Any], list[list[Any]]]:
    """Return a function from rows to one reason per row, as the cells of a line.

    Parameters
    ----------
    learner : a fitted estimator
    document : the content of its model file, which may describe the columns
    whole : the reason is one cell, for JSON lines; else one cell for each of `HEADS`
    """
    from budgetron.explaining import looked_at, of_features
    from budgetron.explaining.columns import of_encoding
    from budgetron.explaining.reasons import Explainer

    encoding = encoding_in(document)

    def explain(X: Any) -> list[list[Any]]:
        X = looked_at(learner, X)
        columns = of_features(learner, X) if encoding is None else of_encoding(encoding)
        reasons = Explainer(learner, columns).reasons(X)
        return [[each] if whole else _cells(each.to_dict()) for each in reasons]

    return explain


def _cells(reason: dict[str, Any]) -> list[Any]:
    for name in ("prediction", "against"):
        reason[name] = as_written(reason[name])
    return [reason[name] for name in HEADS]


def as_written(label: Any) -> Any:
    """A label as it was in the source: 1 and not 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


class ReasonTables:
    """Print lines with reasons as tables for people, on standard output."""

    def write(self, lines: list[list[Any]]) -> None:
        from budgetron.explaining import LEGEND

        for row, reason in lines:
            if reason is None:
                name = "a row" if row is None else f"row {row}"
                print(f"{name} could not be read\n")
            else:
                print(f"{replace(reason, row=row)}\n")
        if lines:
            print(f"{LEGEND}\n", flush=True)
