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
from typing import Any

import numpy as np

import budgetron
from budgetron.durable import write_whole
from budgetron.model_document import Arrays, Document, describe, restore
from budgetron.model_sizes import allowed_bytes

FORMAT = 3
READ = (2, FORMAT)
KEY = "budgetron"  # of the document in the header


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

    try:
        described, arrays = describe(model)
    except TypeError as error:
        raise ModelFileError(str(error)) from None
    document: Document = {
        "format": FORMAT,
        "budgetron": budgetron.__version__,
        "versions": _versions(),
        **described,
        "extra": extra,
    }
    document["sha256"] = _checksum(document, arrays)
    return bytes(to_safetensors(arrays, {KEY: _text(document)}))


def _versions() -> dict[str, str]:
    import scipy
    import sklearn

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


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


def load(path: str | os.PathLike[str], *, max_bytes: int | str | None = None) -> Any:
    """The learner that `save` wrote: predicts, and goes on learning, to the bit as it would have.

    Parameters
    ----------
    path : of a file by `save`, or of a checkpoint by `budgetron run`
    max_bytes : the most a model may take, as 2000000000 or "2GB". None: 1 GiB, or 64 times the file
        if that is more

    Raises
    ------
    ModelFileError
        If the file is damaged, no model file, of a version this one does not read, or asks for
        more bytes than it may.
    OSError
        If it cannot be opened.
    """
    return read(path, max_bytes)[0]


def read(path: str | os.PathLike[str], max_bytes: int | str | None = None) -> tuple[Any, Document]:
    """The learner in a file, and the document with it."""
    document, arrays = _open(path, header_only=False)
    name = os.fspath(path)
    try:
        sound = document.get("sha256") == _checksum(document, arrays)
    except (ValueError, TypeError, RecursionError):  # what JSON has no right to hold
        sound = False
    if not sound:
        raise ModelFileError(f"{name}: damaged: its checksum is not that of its contents")
    try:
        arrays = _of_this_format(arrays, document["format"])
        return restore(document, arrays, allowed_bytes(path, max_bytes)), document
    except MemoryError:
        raise ModelFileError(f"{name}: the model does not fit into memory") from None
    except Exception as error:
        what = _one_line(error) or type(error).__name__
        wrote = _plain(document["budgetron"])
        raise ModelFileError(f"{name}: written by budgetron {wrote}, unreadable: {what}") from error


def _of_this_format(arrays: Arrays, written: int) -> Arrays:
    """The arrays as this version would have written them."""
    scaler = "preparation/scaler/"
    if written == 2 and scaler + "features" in arrays:  # settled on no deviations
        return {**arrays, scaler + "deviations": np.empty(0)}
    return arrays


def _one_line(error: Exception) -> str:
    return "".join(each for each in " ".join(str(error).split()) if each.isprintable())


def _plain(version: Any) -> str:
    """What a file says of its version, fit for one line of a terminal."""
    return "".join(each for each in str(version) if each.isprintable())[:40]


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
    if written not in READ:
        raise ModelFileError(
            f"{name}: written by budgetron {_plain(wrote)} in format {written!r:.20}"
            f"; budgetron {budgetron.__version__} reads formats {READ[0]} to {FORMAT}"
        )
    return document, arrays
