"""The text form: what `predict` needs as one JSON object, for readers in any language.

docs/guide/export.md documents every field; budgetron.js, beside this file, reads it. The form is
stable: `version` goes up if a reader of today would misread it. Numbers are written so that every
bit can be read back. Infinity is null.
"""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np

from budgetron.export.description import Description
from budgetron.export.reading import describe
from budgetron.tables.encoding import Encoding
from budgetron.tables.hashing import column_seed
from budgetron.tables.parsing import GAPS, LONE, NO, YES

FORMAT, VERSION = "budgetron-predict", 1


def to_json(model: Any) -> str:
    """Write what `predict` needs of a fitted model as JSON text.

    Parameters
    ----------
    model : as for `budgetron.export.describe`, or a `Description`

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from budgetron import BudgetronRegressor
    >>> from budgetron.export import to_json
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> text = to_json(BudgetronRegressor(budget=20).fit(X, np.sin(X[:, 0])))
    >>> sorted(json.loads(text))[:6]
    ['classes', 'coefs', 'examples', 'features', 'format', 'frequencies']
    """
    found = model if isinstance(model, Description) else describe(model)
    return json.dumps(_document(found), separators=(",", ":"), allow_nan=False) + "\n"


def javascript(*, table: bool = False) -> str:
    """The reader in JavaScript, for pages and for Node; with a table encoder on request."""
    names = ["budgetron.js", *(["budgetron_table.js"] if table else [])]
    folder = files("budgetron.export")
    return "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def _document(found: Description) -> dict[str, Any]:
    units, kernel = found.units, found.kernel
    return {
        "format": FORMAT,
        "version": VERSION,
        "learner": found.learner,
        "classes": found.classes,
        "features": found.features,
        "units": {
            "center": units.center.tolist(),
            "inverse": units.inverse.tolist(),
            "clip": None if np.isinf(units.clip) else units.clip,
            "stretch": units.stretch.tolist(),
            "missing": None if units.missing is None else units.missing.tolist(),
            "flagged": units.flagged,
        },
        "kernel": None
        if kernel is None
        else {
            "kind": kernel.kind,
            "gamma": kernel.gamma,
            "coef0": kernel.coef0,
            "degree": kernel.degree,
        },
        "examples": None if found.examples is None else _examples(found),
        "frequencies": None if found.frequencies is None else found.frequencies.tolist(),
        "coefs": found.coefs.tolist(),
        "straight": None if found.straight is None else found.straight.tolist(),
        "intercept": found.intercept.tolist(),
        "link": None
        if found.link is None
        else {"below": found.link.below.tolist(), "above": found.link.above.tolist()},
        "table": None if found.table is None else table_document(found.table),
    }


def _examples(found: Description) -> dict[str, Any]:
    if not found.sparse:
        return {"values": found.examples.toarray().tolist()}
    rows = [slice(a, b) for a, b in pairwise(found.examples.indptr)]
    return {
        "places": [found.examples.indices[row].tolist() for row in rows],
        "values": [found.examples.data[row].tolist() for row in rows],
    }


def table_document(table: Encoding) -> dict[str, Any]:
    """The columns of a table that become features, as plain data."""
    columns = []
    for coding, start in zip(table.coded, table.starts, strict=False):
        column = {**coding.to_dict(), "start": start, "width": coding.width}
        if hasattr(coding, "others"):
            column["seed"] = f"0x{column_seed(coding.name):016x}"
        columns.append(column)
    return {
        "columns": columns,
        "gaps": list(GAPS),
        "marks": list(LONE),
        "yes": list(YES),
        "no": list(NO),
    }
