"""Encoded rows as bytes, for the log and for waiting rows; unpacking restores every bit.

Rows are kept as the model takes them, so that a change in how requests are read cannot change a
replay. For rows with many zeros only the other values are written, with their indices.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import scipy.sparse

WIDEST = 4096  # rows with at most this many features are dense in memory


class Packed(msgspec.Struct, array_like=True, frozen=True):
    """Rows as bytes.

    Attributes
    ----------
    rows, width : their shape
    dtype : type of the values, "f4" or "f8"
    values : all values, row by row, or only those that are not 0
    indices, ends : column indices of these values, and the end of each row; empty: all values
    """

    rows: int
    width: int
    dtype: str
    values: bytes
    indices: bytes = b""
    ends: bytes = b""

    @property
    def size(self) -> int:
        """Size in bytes."""
        return len(self.values) + len(self.indices) + len(self.ends) + 200


def pack(X: Any) -> Packed:
    """Pack rows, a C-ordered array or canonical CSR, into bytes."""
    dense = isinstance(X, np.ndarray)
    rows, width = X.shape
    dtype = X.dtype.str[1:]
    if dense and 2 * int(np.count_nonzero(X)) >= X.size:
        return Packed(rows, width, dtype, X.tobytes())
    csr = scipy.sparse.csr_array(X)
    indices, ends = csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
    return Packed(rows, width, dtype, csr.data.tobytes(), indices.tobytes(), ends.tobytes())


def unpack(found: Packed) -> Any:
    """The rows: an array, or CSR if they are very wide."""
    values = np.frombuffer(found.values, found.dtype)
    shape = (found.rows, found.width)
    if not found.ends:
        return values.reshape(shape).copy()
    indices = np.frombuffer(found.indices, np.int32)
    ends = np.frombuffer(found.ends, np.int64)
    csr = scipy.sparse.csr_array((values.copy(), indices.copy(), ends.copy()), shape=shape)
    csr.has_canonical_format = True
    return csr.toarray() if found.width <= WIDEST else csr
