"""Model files: a learner on disk, exactly as it was, safe to open.

A file is in safetensors format: the arrays of the compiled state, and one JSON document with all
else (which estimator, its parameters, versions, counters, classes, feature names), so that the
header alone tells what is inside. A SHA-256 over the arrays and the rest of the document finds
damage. It does not make a stranger's file honest: nothing in a file is ever executed or imported,
the estimator is one of this package's by name, its engine is built from parameters that pass their
checks, and the core refuses arrays that do not fit (core/state.hpp).

A later version reads the files of this one, or says which version wrote them: `FORMAT` counts up
when what is in them changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

import budgetron
from budgetron.catalogue import CATALOGUE
from budgetron.durable import write_whole
from budgetron.estimators.base import OnlineEstimator, Origin
from budgetron.model_values import decode, decode_labels, encode, encode_labels

FORMAT = 1
KEY = "budgetron"  # of the document in the header
Document = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
_PLAIN = (int, bool, float, str)


class ModelFileError(ValueError):
    """What keeps a model from being saved or loaded, in one line."""


# ---- saving --------------------------------------------------------------------------------------


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file, from which `load` makes one that goes on to the bit.

    The file is replaced in one step: at any moment it is the old one or the new one, whole.

    Parameters
    ----------
    model : an estimator of this package, fitted or not
    path : by custom it ends in .btn

    Raises
    ------
    ModelFileError
        If the labels are not str, bool, int or float, or a parameter cannot be written.

    Examples
    --------
    >>> import tempfile, budgetron
    >>> model = budgetron.make("rbp", budget=10).fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     budgetron.save(model, folder + "/model.btn")
    ...     budgetron.load(folder + "/model.btn").predict([[0.9]])
    array(['yes'], dtype='<U3')
    """
    write_whole(path, to_bytes(model))


def to_bytes(model: Any, extra: Document | None = None) -> bytes:
    """What `save` writes. `extra` is kept in the document, for whoever wrote it.

    Equal models have equal bytes.
    """
    from safetensors.numpy import save as to_safetensors

    kind = type(model)
    if _estimator(kind.__name__) is not kind:
        raise ModelFileError(f"a {kind.__name__} is no estimator of budgetron: it cannot be saved")
    model._validate_params()
    document: Document = {
        "format": FORMAT,
        "budgetron": budgetron.__version__,
        "versions": _versions(),
        "estimator": kind.__name__,
        "algorithm": _algorithm(model),
        "task": model._task,
        "params": _params(model.get_params(deep=False)),
        "learned": None,
        "extra": extra,
    }
    arrays: Arrays = {}
    if hasattr(model, "_engine"):
        arrays = model._engine.native.save()
        document["learned"] = _learned(model, arrays)
    document["sha256"] = _checksum(document, arrays)
    return bytes(to_safetensors(arrays, {KEY: _text(document)}))


def _learned(model: Any, arrays: Arrays) -> Document:
    """All about a fitted model that is not in its arrays, and what is worth knowing of them."""
    stored = arrays.get("learner/expansion/support/ends")
    return {
        "origin": {
            "params": _params(model._origin.params),
            "width": model._origin.width,
            "growing": model._origin.growing,
        },
        "dtype": model._engine.dtype.name,
        "generator": "xoshiro256++",
        "counters": {name: int(arrays[name][0]) for name in ("seen", "mistakes", "updates")},
        "stored": None if stored is None else len(stored),
        "gamma": None if model.gamma_ is None else encode(model.gamma_),
        "scale": model.scale_,
        "attributes": {
            name: _attribute(name, getattr(model, name))
            for name in model._fitted
            if hasattr(model, name)
        },
    }


def _attribute(name: str, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return encode(value)
    try:
        return encode_labels(value)
    except TypeError as error:
        raise ModelFileError(
            f"{name}: {error}; a model file holds str, bool, int and float"
        ) from None


def _params(params: dict[str, Any]) -> Document:
    written = {}
    for name, value in params.items():
        try:
            written[name] = encode(value)
        except TypeError as error:
            hint = "; use an int or None" if name == "random_state" else ""
            raise ModelFileError(f"parameter {name}: {error} to a model file{hint}") from None
    return written


def _versions() -> dict[str, str]:
    import scipy
    import sklearn

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _algorithm(model: Any) -> str | None:
    """Its name in the catalogue, by class and what the name fixes; None for none."""
    for name, entry in CATALOGUE.items():
        known = f"budgetron.estimators.{entry.module}" == type(model).__module__
        if (
            known
            and model._task in entry.tasks
            and type(model) is entry.estimator(model._task)
            and all(getattr(model, key) == value for key, value in entry.fixed.items())
        ):
            return name
    return None


def _estimator(name: str) -> type[OnlineEstimator] | None:
    """The estimator of this name, if it is one of those this package exports."""
    if name not in budgetron.__all__ or not name.endswith(("Classifier", "Regressor")):
        return None
    kind = getattr(budgetron, name)
    return kind if issubclass(kind, OnlineEstimator) else None


def _text(document: Document) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _checksum(document: Document, arrays: Arrays) -> str:
    digest = hashlib.sha256(_text({**document, "sha256": None}).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


# ---- loading -------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> Any:
    """The learner that `save` wrote: predicts, and goes on learning, to the bit as it would have.

    Parameters
    ----------
    path : of a file by `save`, or of a checkpoint by `budgetron run`

    Raises
    ------
    ModelFileError
        If the file is damaged, no model file, or of a version this one does not read.
    OSError
        If it cannot be opened.
    """
    return read(path)[0]


def read(path: str | os.PathLike[str]) -> tuple[Any, Document]:
    """The learner in a file, and the document with it."""
    document, arrays = _open(path, header_only=False)
    name = os.fspath(path)
    if document.get("sha256") != _checksum(document, arrays):
        raise ModelFileError(f"{name}: damaged: its checksum is not that of its contents")
    try:
        return _restore(document, arrays), document
    except MemoryError:
        raise ModelFileError(f"{name}: the model does not fit into memory") from None
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        wrote = document["budgetron"]
        raise ModelFileError(f"{name}: written by budgetron {wrote}, unreadable: {what}") from error


def read_header(path: str | os.PathLike[str]) -> Document:
    """The document of a file, without reading its arrays: not checked against its checksum."""
    return _open(path, header_only=True)[0]


def _open(path: str | os.PathLike[str], *, header_only: bool) -> tuple[Document, Arrays]:
    from safetensors import SafetensorError, safe_open

    name = os.fspath(path)
    with open(path, "rb"):  # what cannot be opened is an OSError as usual
        pass
    try:
        with safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {}).get(KEY)
            read = not header_only and text is not None
            arrays = {key: file.get_tensor(key) for key in file.keys()} if read else {}  # noqa: SIM118
    except (SafetensorError, ValueError, TypeError, AttributeError, KeyError) as error:
        what = " ".join(str(error).split())
        raise ModelFileError(f"{name}: not a model file, or cut short ({what})") from None
    if text is None:
        raise ModelFileError(f"{name}: a safetensors file, but not of a budgetron model")
    try:
        document = json.loads(text)
        written, wrote = document["format"], str(document["budgetron"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError(f"{name}: damaged: its header cannot be read") from None
    if written != FORMAT:
        raise ModelFileError(
            f"{name}: written by budgetron {' '.join(wrote.split())[:40]} "
            f"in format {written!r:.20}; budgetron {budgetron.__version__} reads format {FORMAT}"
        )
    return document, arrays


def _restore(document: Document, arrays: Arrays) -> Any:
    """The model, or any exception at all: `read` makes one line of it."""
    kind = _estimator(document["estimator"])
    if kind is None:
        raise ValueError(f"there is no estimator {document['estimator']!r}")
    model = kind(**_decode_params(document["params"], kind))
    model._validate_params()
    learned = document["learned"]
    if learned is None:
        return model
    for name, wanted in model._fitted.items():
        if name in learned["attributes"]:
            setattr(model, name, _decode_attribute(name, learned["attributes"][name], wanted))
        elif name != "feature_names_in_":
            raise ValueError(f"{name} is missing")
    origin = learned["origin"]
    width, growing = origin["width"], origin["growing"]
    if type(width) is not int or type(growing) is not bool or not 1 <= width < 2**31:
        raise ValueError("the width is no width")
    model._origin = Origin(_decode_params(origin["params"], kind), width, growing)
    model._restored()
    if learned["dtype"] not in ("float32", "float64"):
        raise ValueError("rows are float32 or float64")
    classes = len(model.classes_) if model._task == "classification" else 1
    model._engine = model._build(model._origin, classes, np.dtype(learned["dtype"]))
    model._engine.native.load(arrays)
    if model._engine.native.support()[1].max(initial=-1) >= model.n_features_in_:
        raise ValueError("a stored example is wider than the rows")
    return model


def _decode_params(written: Document, kind: Any) -> dict[str, Any]:
    known = {field.name for field in fields(kind)}
    if not written.keys() <= known:
        raise ValueError(f"{kind.__name__} has no parameter {min(written.keys() - known)!r}")
    return {name: decode(value) for name, value in written.items()}


def _decode_attribute(name: str, written: Any, wanted: type) -> Any:
    if wanted is np.ndarray:
        return decode_labels(written)
    value = decode(written)
    if type(value) is not wanted or wanted not in _PLAIN:
        raise ValueError(f"{name} is no {wanted.__name__}")
    return value
