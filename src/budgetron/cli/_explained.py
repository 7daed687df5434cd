"""`budgetron predict --explain`: of each row, the columns that moved the decision and examples."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from budgetron.cli._known_columns import encoding_in


def explainer(learner: Any, document: dict[str, Any], *, as_json: bool) -> Callable[[Any], None]:
    """The function that prints the reasons for the rows of a chunk, which are counted from 1.

    Parameters
    ----------
    learner : a fitted estimator
    document : of the file it is from, which may say what the columns were
    as_json : one JSON object a row, instead of a table for people
    """
    from budgetron.explaining import LEGEND, looked_at, of_features
    from budgetron.explaining.columns import of_encoding
    from budgetron.explaining.reasons import Explainer

    encoding = encoding_in(document)
    rows = 0

    def explain(X: Any) -> None:
        nonlocal rows
        X = looked_at(learner, X)
        columns = of_features(learner, X) if encoding is None else of_encoding(encoding)
        for reason in Explainer(learner, columns).reasons(X, first=rows + 1):
            print(json.dumps(reason.to_dict()) if as_json else f"{reason}\n")
        rows += X.shape[0]
        if not as_json:
            print(f"{LEGEND}\n")

    return explain
