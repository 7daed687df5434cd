"""Encoded rows as bytes, in the log and where they wait for a label, and back to the bit.

Rows are kept as the model takes them, so that nothing that reads requests can change what a replay
learns. Of rows with many zeros the others are written, with their places.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import scipy.sparse

WIDEST = 4096  # features up to which rows are dense in memory


class Packed(msgspec.Struct, array_like=True, frozen=True):
    """Rows as bytes.

    Attributes
    ----------
    rows, width : their shape
    dtype : of the values, "f4" or "f8"
    values : all, row by row, or those that are not 0
    indices, ends : places of these, and where each row's end; empty: all values are there
    """

    rows: int
    width: int
    dtype: str
    values: bytes
    indices: bytes = b""
    ends: bytes = b""

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.values) + len(self.indices) + len(self.ends) + 200


def pack(X: Any) -> Packed:
    """Rows, a C-ordered array or CSR in its canonical format, as bytes."""
    dense = isinstance(X, np.ndarray)
    rows, width = X.shape
    dtype = X.dtype.str[1:]
    if dense and 2 * int(np.count_nonzero(X)) >= X.size:
        return Packed(rows, width, dtype, X.tobytes())
    csr = scipy.sparse.csr_array(X)
    indices, ends = csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
    return Packed(rows, width, dtype, csr.data.tobytes(), indices.tobytes(), ends.tobytes())


def unpack(found: Packed) -> Any:
    """The rows: an array, or CSR where they are very wide."""
    values = np.frombuffer(found.values, found.dtype)
    shape = (found.rows, found.width)
    if not found.ends:
        return values.reshape(shape).copy()
    indices = np.frombuffer(found.indices, np.int32)
    ends = np.frombuffer(found.ends, np.int64)
    csr = scipy.sparse.csr_array((values.copy(), indices.copy(), ends.copy()), shape=shape)
    csr.has_canonical_format = True
    return csr.toarray() if found.width <= WIDEST else csr
