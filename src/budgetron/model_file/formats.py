"""Files of earlier formats: conversion of document and arrays to the current format.

Format 3 sets scales from deviations, which files of format 2 lack. Format 4 has one line per side
of a class for its probabilities, instead of one sigmoid per class, and units that follow the stream
if scale is "auto". Its regressors have `target_scale`; earlier ones learned unscaled targets. Files
without `missing` are from before missing values were supported. A Budgetron that was written
without a straight part, a floor and a reflex continues without them. Models of format 4 compare
themselves with a baseline; the first files of the format have no baseline yet, no classes that came
late, and no trends and no rare features among their units.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.model_file.document import Document
from budgetron.model_file.limits import Arrays

FORMAT = 4
PIPELINE = 5  # for pipelines and River models, which earlier versions would take for the learner
READ = (2, 3, FORMAT, PIPELINE)
KEPT = {"regression": "intervals", "classification": "sets"}  # what the first files did not keep
UNITS = "preparation/units/"
_STATISTICS = ("features", "marks", "numbers")


def of_this_format(document: Document, arrays: Arrays) -> tuple[Document, Arrays]:
    """The document and the arrays as this version would have written them."""
    written = document["format"]
    scaler = "preparation/scaler/"
    if written < 3 and scaler + "features" in arrays:
        arrays = {**arrays, scaler + "deviations": np.empty(0)}
    if written < 4 and "calibration/slope" in arrays:
        arrays = _with_sides(arrays)
    prepared = written < 4 and scaler + "features" in arrays
    if prepared and document["learned"]["origin"]["params"]["scale"] == "auto":
        arrays = {**_no_units(), **arrays}
    if document["learned"] and not any(name.startswith("verdict/") for name in arrays):
        arrays = {**arrays, **_no_verdict(document)}
    if "learner/drift/fast" in arrays and "learner/drift/young" not in arrays:
        outputs = len(_labels(document))
        arrays = {**arrays, "learner/drift/young": np.zeros(max(2, outputs), np.int64)}
    features, marks, numbers = (arrays.get(UNITS + name) for name in _STATISTICS)
    if features is not None and marks is not None and numbers is not None:
        count = features.size
        if count > 0 and (marks.size, numbers.size) == (8 * count, 14 * count):
            arrays = {**arrays, **_with_trends(marks.reshape(-1, 8), numbers.reshape(-1, 14))}
    if written < 4 and document["task"] == "regression":
        document = _with_parameter(document, "target_scale", None)
    return with_parameters(_with_parameter(document, "missing", "mean")), arrays


def with_parameters(document: Document) -> Document:
    """The document with the parameters that its estimator, or a part, did not have then."""
    document = deepcopy(document)
    learned = document.get("learned")
    for params in (document.get("params"), learned and learned["origin"]["params"]):
        if document.get("estimator") in ("BudgetronClassifier", "BudgetronRegressor"):
            _be_plain(params, document.get("task") == "classification")
        _be_plain_inside(params)
        if isinstance(params, dict) and document.get("task") in KEPT:
            params.setdefault(KEPT[document["task"]], False)
    return document


def _be_plain(params: Any, classifies: bool) -> None:
    if isinstance(params, dict):
        params.setdefault("straight", "none")
        params.setdefault("floor", 0.0)
        params.setdefault("relevance", False)
        params.setdefault("reflex", False)
        if not classifies:
            params.setdefault("replace", "never")


def _be_plain_inside(value: Any) -> None:
    match value:
        case {"part": "Budgetron", "params": params}:
            _be_plain(params, True)
        case dict():
            for each in value.values():
                _be_plain_inside(each)


def _labels(document: Document) -> list[Any]:
    """The number of classes; none in regression."""
    labels: list[Any] = document["learned"]["attributes"].get("classes_", {"values": []})["values"]
    return labels


def _no_verdict(document: Document) -> Arrays:
    """No row has been compared with a baseline yet."""
    whole = ("rows", "blocks", "silent", "kind", "told")
    losses = ("excess", "squares", "poor_excess", "poor_squares", "loss", "guess")
    verdict: Arrays = {
        "totals": np.zeros(len(_labels(document))),
        "guessed": np.zeros(1, np.uint64),
        **{name: np.zeros(1, np.int64) for name in whole},
        **{name: np.zeros(1) for name in ("total", "mean", "weight", *losses)},
    }
    return {"verdict/" + name: array for name, array in verdict.items()}


def _with_parameter(document: Document, name: str, value: Any) -> Document:
    """The document with a parameter, if it is missing."""
    document = deepcopy(document)
    learned = document["learned"]
    for params in (document["params"], learned and learned["origin"]["params"]):
        if params:
            params.setdefault(name, value)
    return document


def _no_units() -> Arrays:
    """Units that have seen no row: what "auto" found before format 4 stays for good."""
    whole = dict.fromkeys(("uneven", "rows", "changes", "off"), 0) | {"credit": 20_000}
    real = dict.fromkeys(("total", "reference", "shared_weight", "shared_square"), 0.0)
    real["shared_size"] = np.inf
    units: Arrays = {
        "features": np.empty(0, np.int32),
        "widest": np.zeros(1, np.uint64),
        "numbers": np.empty(0),
        "marks": np.empty(0, np.int64),
        **{name: np.array([value], np.int64) for name, value in whole.items()},
        **{name: np.array([value]) for name, value in real.items()},
    }
    return {UNITS + name: array for name, array in units.items()}


def _with_trends(marks: NDArray[Any], numbers: NDArray[Any]) -> Arrays:
    """Units with zeros for checks since a jump, rare, and trends, and no range of means yet."""
    no_range = np.tile([1e140, -1e140], (len(marks), 1))
    return {
        UNITS + "marks": np.pad(marks[:, :7], [(0, 0), (0, 5)]).ravel(),
        UNITS + "numbers": np.hstack([numbers, no_range]).ravel(),
    }


def _with_sides(arrays: Arrays) -> Arrays:
    """Both sides of a class get the line of its sigmoid, and half of its rows each.

    Which rows were on which side is not known: the sums are those that the line solves.
    """
    start = "calibration/"
    ours = {name for name in arrays if name.startswith(start)}
    old = {name.removeprefix(start): arrays[name] for name in ours}
    sides: Arrays = {
        "side_rows": np.full(len(old["slope"]), old["rows"] / 2),
        "fresh": np.zeros(len(old["slope"])),
        "weight": (old["positives"] + old["negatives"]) / 2,
        **{name: old[name] / 2 for name in ("squares", "curve_mm", "curve")},
        "curve_m": np.abs(old["curve_m"]) / 2,
        "slope": old["slope"],
    }
    new = {name: np.repeat(each, 2) for name, each in sides.items()}  # below 0, above 0
    new["offset"] = np.stack([-old["offset"], old["offset"]], axis=1).ravel()
    with np.errstate(all="ignore"):  # the core refuses values that are not finite
        square = new["squares"] / np.maximum(new["weight"], np.finfo(float).tiny)
        new["pull_m"] = (new["curve_mm"] + 0.25 * square) * new["slope"]
        new["pull_m"] += new["curve_m"] * new["offset"]
        new["pull"] = new["curve_m"] * new["slope"] + (new["curve"] + 0.25) * new["offset"]
    new["rows"] = old["rows"]
    kept = {name: each for name, each in arrays.items() if name not in ours}
    return {**kept, **{start + name: each for name, each in new.items()}}
