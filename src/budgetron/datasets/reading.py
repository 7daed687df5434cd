"""From a data set's name to its rows: how to read each file, as a stream or all at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron.datasets.cache import local_folder, locate
from budgetron.datasets.registry import DataError, DataSet, File, find

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.streams import SourceOptions


def options(data_set: DataSet, file: File, path: Path) -> SourceOptions:
    """How to read the file at `path`, which is the origin's own or one that replaces it."""
    from budgetron.streams import SourceOptions
    from budgetron.streams.opening import format_of
    from budgetron.streams.table.roles import Layout, spans

    kind = format_of(path.name)
    held = path.name in file.held
    if not file.read or (held and kind != "csv"):
        if kind == "npz":
            return SourceOptions(part=_held_part(file))
        return SourceOptions(n_features=file.features or data_set.features)
    read = dict(file.read)
    if held:
        read.pop("header", None)  # repacked as text, perhaps with column names
    if isinstance(read.get("columns"), str):
        read["columns"] = spans(read["columns"])
    if "layout" in read:
        text = (files(__package__) / read["layout"]).read_text(encoding="utf-8")
        read["layout"] = Layout.from_json(json.loads(text))
    return SourceOptions(**read)


def _held_part(file: File) -> str | None:
    named = file.part if file.part in ("train", "test") else None
    return file.held_part or named


def rows_missing(file: File, path: Path) -> int:
    """How many rows of the file are missing in the one at `path` that replaces it.

    For converted files the headers say; others have all rows (`verify` counts them).

    Parameters
    ----------
    file : a file of a data set
    path : where it is

    Examples
    --------
    >>> from budgetron.datasets import find, locate, rows_missing
    >>> file = find("a9a").files[0]
    >>> rows_missing(file, locate(file))  # doctest: +SKIP
    0
    """
    from budgetron.streams.arrays import count_npz
    from budgetron.streams.opening import format_of

    if path.name not in file.held or format_of(path.name) != "npz":
        return 0
    rows = count_npz(path, _held_part(file))
    return 0 if rows is None else max(0, file.rows - rows)


def found(data_set: DataSet, file: File) -> Path:
    """Where the file is.

    Raises
    ------
    DataError
        If it is missing; the text says how to get it.
    """
    path = locate(file)
    if path is None:
        folder = local_folder()
        looked = "" if folder is None else f" and not in {folder}"
        raise DataError(
            f"{data_set.name}: {file.name} is not here{looked}; fetch it: "
            f"budgetron data get {data_set.name}"
        )
    return path


def paths(name: str, *parts: str) -> list[Path]:
    """The paths of the files of a data set, or of some of its parts.

    Parameters
    ----------
    name : name of the data set
    *parts : such as "train" and "test"; none: all

    Examples
    --------
    >>> from budgetron.datasets import paths
    >>> paths("a9a", "train")  # doctest: +SKIP
    """
    data_set = find(name)
    return list(dict.fromkeys(found(data_set, file) for file in data_set.parts(*parts)))


def sources(text: str) -> list[tuple[Path, SourceOptions]]:
    """The files of `NAME` or `NAME/PART`, and how to read each.

    Parameters
    ----------
    text : name of a data set, or with one of its parts

    Examples
    --------
    >>> from budgetron.datasets import sources
    >>> sources("a9a/train")  # doctest: +SKIP
    """
    data_set, chosen = named(text)
    places = [(file, found(data_set, file)) for file in chosen]
    return [(path, options(data_set, file, path)) for file, path in places]


def named(text: str) -> tuple[DataSet, list[File]]:
    """The data set and the files of `NAME` or `NAME/PART`.

    Parameters
    ----------
    text : name of a data set, or with one of its parts

    Examples
    --------
    >>> from budgetron.datasets import named
    >>> data_set, files = named("a9a/train")
    >>> data_set.name, len(files)
    ('a9a', 1)
    """
    name, _, part = text.partition("/")
    data_set = find(name)
    return data_set, data_set.parts(part) if part else data_set.parts()


def here(text: str) -> bool:
    """Whether all files of `NAME` or `NAME/PART` are on this machine.

    Parameters
    ----------
    text : name of a data set, or with one of its parts

    Examples
    --------
    >>> from budgetron.datasets import here
    >>> here("a9a/train")  # doctest: +SKIP
    True
    """
    return all(locate(file) is not None for file in named(text)[1])


def load(
    name: str, parts: Sequence[str] = (), dtype: str = "float32", rows: int | None = None
) -> tuple[Any, NDArray[Any]]:
    """Load all rows of a data set, its parts one after the other; dense if most values are not 0.

    Labels and targets are float64, or words if the origin's are words and the catalogue has no
    numbers for them. So rows and labels do not depend on which of its files is present, except as
    the catalogue says (`usps`: other pixels and class numbers in its .npz file).

    Parameters
    ----------
    name : name of the data set
    parts : such as ("train", "test"); none: all
    dtype : type of X
    rows : at most so many

    Raises
    ------
    DataError
        If a file is missing or cannot be read.

    Examples
    --------
    >>> from budgetron.datasets import load
    >>> X, y = load("a9a", ["train"], rows=1000)  # doctest: +SKIP
    """
    import numpy as np

    from budgetron.streams import StreamError, open_stream

    chunks: list[Any] = []
    try:
        for part in parts or [""]:
            text = f"data:{name}/{part}" if part else f"data:{name}"
            left = None if rows is None else rows - sum(len(y) for _, y in chunks)
            with open_stream(text, dtype=dtype, rows=left) as stream:
                chunks.extend(stream)
    except StreamError as error:
        raise DataError(str(error)) from error
    y = _numbers(find(name), np.concatenate([chunk[1] for chunk in chunks]))
    return stacked([chunk[0] for chunk in chunks]), y


def stacked(parts: Sequence[Any]) -> Any:
    """Rows one after the other, as wide as the widest; dense if most values are not 0.

    Parameters
    ----------
    parts : arrays or sparse matrices of rows

    Examples
    --------
    >>> import numpy as np
    >>> from budgetron.datasets import stacked
    >>> stacked([np.ones((2, 3)), np.ones((1, 3))]).shape
    (3, 3)
    """
    import numpy as np
    from scipy.sparse import csr_array, issparse, vstack

    if not any(map(issparse, parts)):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    rows = [csr_array(part) for part in parts]
    wide = [csr_array((p.data, p.indices, p.indptr), shape=(p.shape[0], width)) for p in rows]
    X = csr_array(vstack(wide, format="csr"))
    X.has_canonical_format = True
    return X.toarray() if X.nnz > 0.5 * X.shape[0] * X.shape[1] else X


def _numbers(data_set: DataSet, y: NDArray[Any]) -> NDArray[Any]:
    """Labels as float64, by the catalogue if they are words; words without a number stay."""
    if y.dtype.kind not in "OUS":
        return y.astype("float64")
    known = {word: each for file in data_set.files for word, each in file.labels.items()}
    if not known:
        return y
    import numpy as np

    words, codes = np.unique(y.astype(str), return_inverse=True)
    unknown = next((word for word in words if word not in known), None)
    if unknown is not None:
        raise DataError(f"{data_set.name}: label {str(unknown)!r}; there are {', '.join(known)}")
    numbers: NDArray[Any] = np.array([known[word] for word in words], dtype="float64")[codes]
    return numbers
