"""Model files: a learner on disk, restored exactly, safe to open.

A file is in safetensors format: the arrays of the compiled state, and one JSON document with all
else (estimator, parameters, versions, counters, classes, feature names), so that the header alone
shows what is inside. The learner may be the last step of a pipeline of plain transformers, which
are data too (steps.py). A SHA-256 over the arrays and the rest of the document finds damage. It
does not make a stranger's file honest: nothing in a file is ever executed or imported, the
estimator is one of this package's by name, its engine is built from checked parameters, and the
core refuses arrays that do not fit (core/base/state.hpp).

A later version reads the files of this one, or says which version wrote them: `FORMAT` counts up
when their content changes. May use the catalogue, the estimators and the layers below them.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import struct
from typing import IO, Any

import numpy as np

import budgetron
from budgetron.errors import BudgetronError
from budgetron.merging import Delta
from budgetron.model_file import deltas
from budgetron.model_file.atomic import write_whole
from budgetron.model_file.columns import know_columns, with_columns
from budgetron.model_file.document import Document, Estimator, Rows, Steps, describe, restore
from budgetron.model_file.formats import FORMAT, PIPELINE, READ, of_this_format
from budgetron.model_file.limits import Arrays, allowed_bytes

KEY = "budgetron"  # key of the document in the header
LONGEST_HEADER = 100_000_000  # bytes, as in safetensors


class ModelFileError(BudgetronError):
    """A model cannot be saved or loaded; the text is one line."""


# ---- saving --------------------------------------------------------------------------------------


def save(model: Estimator | Steps | Rows | Delta, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file; `load` restores it so that it continues bit for bit.

    The file is replaced in one step: at any moment it is the old one or the new one, complete. It
    holds data and no code: nothing is pickled.

    Parameters
    ----------
    model : an estimator of this package, fitted or not, or a scikit-learn Pipeline that ends with
        one. Steps before it may be TableEncoder, StandardScaler, OneHotEncoder, OrdinalEncoder,
        SimpleImputer, FeatureHasher, "passthrough" and "drop", also in a ColumnTransformer or an
        inner Pipeline. Or a model of `budgetron.river`, alone or after its TableEncoder in a
        River pipeline. Or the delta of a worker (`model.delta`)
    path : the file; its usual ending is .btn

    Raises
    ------
    ModelFileError
        If the labels are not str, bool, int or float, a parameter or a step cannot be written,
        or `load` would refuse the model. The file is then unchanged.
    OSError
        If it cannot be written, or the path is not a regular file.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from budgetron import BudgetronClassifier, TableEncoder
    >>> table = {"age": [31, 45, 28, 60], "town": ["Rome", "Oslo", "Rome", "Oslo"]}
    >>> pipeline = make_pipeline(TableEncoder(), BudgetronClassifier(budget=50))
    >>> pipeline = pipeline.fit(table, ["no", "yes", "no", "yes"])
    >>> import tempfile, budgetron
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     budgetron.save(pipeline, folder + "/model.btn")
    ...     budgetron.load(folder + "/model.btn").predict({"age": [50], "town": ["Oslo"]})
    array(['yes'], dtype='<U3')
    """
    write_whole(path, to_bytes(model))


def to_bytes(model: Estimator | Steps | Rows | Delta, extra: Document | None = None) -> bytes:
    """The bytes that `save` writes. `extra` is kept in the document, for the caller.

    Equal models have equal bytes. What `load` would refuse is refused here.
    """
    from safetensors.numpy import save as to_safetensors

    if isinstance(model, Delta):
        return _delta_bytes(model)
    try:
        described, arrays = describe(model)
    except TypeError as error:
        raise ModelFileError(str(error)) from None
    _check_loads(described, arrays)
    document: Document = {
        "format": PIPELINE if {"pipeline", "river"} & described.keys() else FORMAT,
        "budgetron": budgetron.__version__,
        "versions": _versions(),
        **described,
        "extra": with_columns(model, extra),
    }
    document["sha256"] = _checksum(document, arrays)
    return bytes(to_safetensors(arrays, {KEY: _text(document)}))


def _delta_bytes(delta: Delta) -> bytes:
    from safetensors.numpy import save as to_safetensors

    try:
        described, arrays = deltas.describe_delta(delta)
    except TypeError as error:
        raise ModelFileError(str(error)) from None
    document: Document = {
        "format": deltas.FORMAT,
        "budgetron": budgetron.__version__,
        "versions": _versions(),
        **described,
    }
    document["sha256"] = _checksum(document, arrays)
    return bytes(to_safetensors(arrays, {KEY: _text(document)}))


def _check_loads(described: Document, arrays: Arrays) -> None:
    """Restore a copy from what will be written, as `load` would; it passes the same checks."""
    try:
        restore(described, arrays)
    except MemoryError:
        what = "there is no memory to check the model"
        raise ModelFileError(f"{what}: nothing was written") from None
    except Exception as error:
        what = _one_line(error) or type(error).__name__
        raise ModelFileError(f"the model is damaged ({what}): nothing was written") from error


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


def load(path: str | os.PathLike[str], *, max_bytes: int | str | None = None) -> Estimator | Steps:
    """Load a learner that `save` wrote: it predicts and continues to learn, bit for bit.

    For a delta, the delta. For a pipeline, the pipeline: with the same steps, parameters,
    categories and names. A learner of `budgetron run` knows the columns of its table: it takes
    frames of pandas, polars and Arrow, finds columns by name, and has the encoder as
    `table_encoder_`. It also takes arrays of its features.

    Parameters
    ----------
    path : a file of `save`, or a checkpoint of `budgetron run`
    max_bytes : largest size of the model, as 2000000000 or "2GB". None: 1 GiB, or 64 times the file
        if that is more. A file larger than that (and than 1 GiB), or than the memory of the
        machine, is not read

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model file, from a version that this one does not read, or
        needs more bytes than allowed.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import os, tempfile
    >>> import budgetron
    >>> model = budgetron.make("rbp", gamma=1.0).partial_fit([[0.0], [1.0]], ["no", "yes"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.btn")
    >>> budgetron.save(model, path)
    >>> budgetron.load(path).predict([[0.9]])
    array(['yes'], dtype='<U3')
    """
    found: Estimator | Steps = _read(path, max_bytes)[0]
    return found


def read(path: str | os.PathLike[str], max_bytes: int | str | None = None) -> tuple[Any, Document]:
    """The learner in a file, and its document; ModelFileError for a delta."""
    if is_delta(read_header(path)):
        what = "the delta of a worker, not a model"
        raise ModelFileError(f"{os.fspath(path)}: {what}: merge it with its base (budgetron merge)")
    return _read(path, max_bytes)


def is_delta(document: Document) -> bool:
    """Whether a file holds a delta, from its document."""
    return bool(document["format"] == deltas.FORMAT)


def _read(path: str | os.PathLike[str], max_bytes: int | str | None) -> tuple[Any, Document]:
    document, arrays, most = _take_apart(path, max_bytes)
    name = os.fspath(path)
    try:
        sound = document.get("sha256") == _checksum(document, arrays)
    except (ValueError, TypeError, RecursionError):  # values that JSON must not hold
        sound = False
    if not sound:
        raise ModelFileError(f"{name}: damaged: its checksum does not match its contents")
    try:
        if is_delta(document):
            return deltas.restore_delta(document, arrays), document
        model = restore(*of_this_format(document, arrays), most)
        know_columns(model, document)
        return model, document
    except MemoryError:
        raise ModelFileError(f"{name}: the model does not fit into memory") from None
    except Exception as error:
        what = _one_line(error) or type(error).__name__
        wrote = _plain(document["budgetron"])
        raise ModelFileError(f"{name}: written by budgetron {wrote}, unreadable: {what}") from error


def _one_line(error: Exception) -> str:
    return "".join(each for each in " ".join(str(error).split()) if each.isprintable())


def _plain(version: Any) -> str:
    """The version in a file, as text for one line of a terminal."""
    return "".join(each for each in str(version) if each.isprintable())[:40]


def read_header(path: str | os.PathLike[str]) -> Document:
    """The document of a file, without reading its arrays; its checksum is not checked."""
    with _opened(path) as file:
        return _document(file, os.fspath(path))


def _take_apart(
    path: str | os.PathLike[str], max_bytes: int | str | None = None
) -> tuple[Document, Arrays, int]:
    """The document, the arrays, and how many bytes the model may take.

    The header comes first, and decides whether the rest is worth reading. The rest is read as a
    whole and then checked, so that a write to the file cannot change it in between.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_safetensors

    name = os.fspath(path)
    with _opened(path) as file:
        document = _document(file, name)
        size = os.fstat(file.fileno()).st_size
        try:
            most = allowed_bytes(size, max_bytes)
        except BudgetronError as error:
            raise ModelFileError(f"{name}: {error}") from None
        try:
            file.seek(0)
            return document, dict(from_safetensors(file.read(size))), most
        except MemoryError:
            raise ModelFileError(f"{name}: the model does not fit into memory") from None
        except (SafetensorError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise _no_model(name, error) from None


def _opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open the file; raises OSError as usual."""
    kind = os.stat(path).st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):  # opening a pipe would wait
        raise ModelFileError(f"{os.fspath(path)}: not a model file: it is not a regular file")
    return open(path, "rb")


def _document(file: IO[bytes], name: str) -> Document:
    """The document in the header of an open file; nothing after the header is read."""
    size = os.fstat(file.fileno()).st_size
    try:
        if size < 8:
            raise ValueError(f"it has {size} bytes")
        start = file.read(8)
        if start[:4] == b"PK\x03\x04":
            raise ValueError("it is a zip archive; if it is a fleet, Fleet.load reads it")
        (length,) = struct.unpack("<Q", start)
        if length > min(size - 8, LONGEST_HEADER):
            raise ValueError("the header is longer than the file, or than allowed")
        header = json.loads(file.read(length))
        text = (header.pop("__metadata__", None) or {}).get(KEY)
        end = max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
        if end != size - 8 - length:
            raise ValueError(f"{size - 8 - length} bytes follow the header, not {end}")
    except (
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        RecursionError,
        struct.error,
    ) as error:
        raise _no_model(name, error) from None
    if text is None:
        raise ModelFileError(f"{name}: a safetensors file, but not of a budgetron model")
    try:
        document = json.loads(text)
        written, wrote = document["format"], str(document["budgetron"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelFileError(f"{name}: damaged: its header cannot be read") from None
    if not isinstance(document, dict) or written not in (*READ, deltas.FORMAT):
        raise ModelFileError(
            f"{name}: written by budgetron {_plain(wrote)} in format {_plain(repr(written))[:20]}"
            f"; budgetron {budgetron.__version__} reads formats {READ[0]} to {READ[-1]}"
        )
    return document


def _no_model(name: str, error: Exception) -> ModelFileError:
    return ModelFileError(f"{name}: not a model file, or cut short ({_one_line(error)})")
