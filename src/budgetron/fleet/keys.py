"""Keys of any type as 16 bytes, the form that the core uses.

A key becomes a tag and bytes that are the same in every process, so that fleets of several
processes agree. Up to 15 bytes are kept as they are, after their number: 64-bit integers,
fractions, times, and text of up to 14 bytes of UTF-8. For longer keys 120 bits of a hash (BLAKE2b)
are kept; two of a billion keys have the same hash with a probability below 1e-18.

Keys that are equal in Python are one key: 1, 1.0, True, Decimal(1), Fraction(1), and NumPy's and
Arrow's 1; times of all units. A date is not the midnight of its day, as in Python; NumPy's times of
unit D and coarser are dates.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import hashlib
import math
import pickle
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.errors import BudgetronError

Ids = NDArray[np.uint64]  # (n, 2)

BYTES = 16
_HASHED = 255  # in place of the number of bytes
_EPOCH = datetime.datetime(1970, 1, 1)
_DATES = ("D", "W", "M", "Y")  # units of NumPy times that are dates


def encode(keys: Any) -> Ids:
    """The ids of keys, (n, 2), in order.

    Parameters
    ----------
    keys : a list, an array, a column of pandas, polars or Arrow; hashable values

    Raises
    ------
    BudgetronError
        If a key is missing, or cannot be one.

    Examples
    --------
    >>> from budgetron.fleet.keys import encode
    >>> ids = encode(["Rome", "Oslo", "Rome"])
    >>> bool((ids[0] == ids[2]).all()), bool((ids[0] == ids[1]).all())
    (True, False)
    """
    kind = type(keys).__module__.partition(".")[0]
    if kind == "pyarrow":
        return _of_arrow(keys)
    if kind == "pandas" and isinstance(getattr(keys, "dtype", None), _categorical()):
        names = keys.cat.categories if hasattr(keys, "cat") else keys.categories
        codes = np.asarray(keys.cat.codes if hasattr(keys, "cat") else keys.codes)
        return _taken(names.tolist(), codes)
    if hasattr(keys, "to_numpy"):
        keys = keys.to_numpy()
    if isinstance(keys, np.ndarray):
        if keys.ndim != 1:
            raise BudgetronError(f"keys have shape {keys.shape}: pass one key per row, (n,)")
        if keys.dtype.kind in "biufMU":
            return _of_array(keys)
        keys = keys.tolist()
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise BudgetronError(f"keys={keys!r} is one key: pass one per row, as a list or an array")
    return _of_each(keys)


def _categorical() -> Any:
    import pandas

    return pandas.CategoricalDtype


def _of_arrow(keys: Any) -> Ids:
    import pyarrow

    if isinstance(keys, pyarrow.ChunkedArray):
        keys = keys.combine_chunks()
    if not pyarrow.types.is_dictionary(keys.type):
        keys = keys.dictionary_encode()
    codes = np.asarray(keys.indices.fill_null(-1).to_numpy(zero_copy_only=False))
    return _taken(keys.dictionary.to_pylist(), codes)


def _taken(names: list[Any], codes: NDArray[Any]) -> Ids:
    """The ids of names, by their codes; a code below 0 is a missing key."""
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        raise _no_key(int(missing[0]))
    return _of_each(names)[codes] if len(codes) else np.zeros((0, 2), dtype=np.uint64)


def _of_array(keys: NDArray[Any]) -> Ids:
    """The ids of numbers, times and text, without one Python object per key."""
    kind = keys.dtype.kind
    if kind == "U":
        names, codes = np.unique(keys, return_inverse=True)
        return _taken(names.tolist(), codes.reshape(-1))
    if kind == "M":
        missing = np.flatnonzero(np.isnat(keys))
        if missing.size:
            raise _no_key(int(missing[0]))
        if np.datetime_data(keys.dtype)[0] in _DATES:
            days, codes = np.unique(keys, return_inverse=True)
            return _taken(days.tolist(), codes.reshape(-1))
        whole = keys.astype("datetime64[us]")
        ids = _packed(b"d", whole.view(np.int64))
        finer = whole != keys
        if finer.any():
            ids[finer] = _packed(b"D", keys[finer].astype("datetime64[ns]").view(np.int64))
        return ids
    if kind == "u" and keys.size and int(keys.max()) >= 2**63:
        return _of_each(keys.tolist())
    if kind != "f":
        return _packed(b"i", keys.astype(np.int64))
    missing = np.flatnonzero(np.isnan(keys))
    if missing.size:
        raise _no_key(int(missing[0]))
    keys = keys.astype(np.float64)
    whole = (keys == np.rint(keys)) & (np.abs(keys) < 2**63)
    ids = _packed(b"f", keys)
    if whole.any():
        ids[whole] = _packed(b"i", keys[whole].astype(np.int64))
    far = ~whole & np.isfinite(keys) & (np.abs(keys) >= 2**63)
    for row in np.flatnonzero(far).tolist():  # large integers
        ids[row] = _of_each([float(keys[row])])[0]
    return ids


def _packed(tag: bytes, numbers: NDArray[Any]) -> Ids:
    """Tag and 8 bytes, as in `_payload`."""
    ids = np.zeros((len(numbers), BYTES), dtype=np.uint8)
    ids[:, 0], ids[:, 1] = 9, tag[0]
    little = np.ascontiguousarray(numbers).astype(numbers.dtype.newbyteorder("<"), copy=False)
    ids[:, 2:10] = little.view(np.uint8).reshape(-1, 8)
    return ids.view(np.uint64)


def _of_each(keys: Iterable[Any]) -> Ids:
    known: dict[Any, bytes] = {}
    parts = []
    for row, key in enumerate(keys):
        try:
            found = known.get(key)
        except TypeError:
            what = f"the key of row {row}, {key!r}, cannot be one: it is not hashable"
            raise BudgetronError(f"{what}; use a tuple for a list") from None
        if found is None:
            payload = _payload(key, row)
            if len(payload) < BYTES:
                found = bytes([len(payload)]) + payload.ljust(BYTES - 1, b"\0")
            else:
                digest = hashlib.blake2b(payload, digest_size=BYTES - 1).digest()
                found = bytes([_HASHED]) + digest
            if len(known) < 2**16:  # for many keys the objects would take more memory than the keys
                known[key] = found
        parts.append(found)
    return np.frombuffer(bytearray(b"".join(parts)), dtype=np.uint64).reshape(-1, 2)


def _payload(key: Any, row: int) -> bytes:
    timed = isinstance(key, np.datetime64) and not np.isnat(key)
    if timed and np.datetime_data(key.dtype)[0] not in _DATES:
        return _of_array(np.array([key])).tobytes()[1:10]  # tag and 8 bytes
    if isinstance(key, np.generic):
        key = key.item()
    if key is None or (isinstance(key, float) and math.isnan(key)) or repr(key) in ("NaT", "<NA>"):
        raise _no_key(row)
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return b"b" + key
    if isinstance(key, float | decimal.Decimal | fractions.Fraction):
        if isinstance(key, decimal.Decimal) and key.is_nan():
            raise _no_key(row)
        if math.isinf(key) or key != int(key):
            return _fraction(key)
        key = int(key)
    if isinstance(key, int):
        if -(2**63) <= key < 2**63:
            return b"i" + struct.pack("<q", key)
        return b"I" + str(int(key)).encode()
    if isinstance(key, datetime.datetime):
        if getattr(key, "nanosecond", 0) and key.tzinfo is None:  # a pandas time
            return b"D" + struct.pack("<q", key.value)  # type: ignore[attr-defined]
        if key.tzinfo is None:
            return b"d" + struct.pack("<q", (key - _EPOCH) // datetime.timedelta(microseconds=1))
        return b"z" + key.astimezone(datetime.UTC).isoformat().encode()
    if isinstance(key, datetime.date):
        return b"a" + key.isoformat().encode()
    if isinstance(key, tuple):
        return b"t" + b"".join(_sized(_payload(each, row)) for each in key)
    if isinstance(key, frozenset):
        return b"F" + b"".join(sorted(_sized(_payload(each, row)) for each in key))
    try:
        return b"p" + pickle.dumps(key, protocol=4)
    except Exception:
        kind = type(key).__name__
        what = f"the key of row {row} is a {kind}, which cannot become bytes"
        raise BudgetronError(f"{what}: use text, numbers, times, or tuples of them") from None


def _fraction(key: Any) -> bytes:
    """A number that is not an integer: float64 if it is one, else its exact ratio."""
    try:
        near = float(key)
    except OverflowError:  # a fraction of large integers
        near = math.inf
    if near == key:
        return b"f" + struct.pack("<d", near)
    return b"n%d/%d" % key.as_integer_ratio()


def _sized(payload: bytes) -> bytes:
    return struct.pack("<I", len(payload)) + payload


def _no_key(row: int) -> BudgetronError:
    return BudgetronError(f"row {row} has no key: fill or drop rows with a missing key")


def decode(ids: Ids) -> list[Any]:
    """The keys of ids; for a hashed key # and its hexadecimal digits.

    Examples
    --------
    >>> from budgetron.fleet.keys import decode, encode
    >>> decode(encode(["Rome", 7, 2.5]))
    ['Rome', 7, 2.5]
    """
    whole = np.ascontiguousarray(ids).view(np.uint8).reshape(-1, BYTES).tobytes()
    return [_decoded(whole[at : at + BYTES]) for at in range(0, len(whole), BYTES)]


def _decoded(key: bytes) -> Any:
    size = key[0]
    payload = key[1 : 1 + size]
    tag, rest = payload[:1], payload[1:]
    if size < BYTES and len(rest) == 8 and tag in (b"i", b"f", b"d"):
        number = struct.unpack("<d" if tag == b"f" else "<q", rest)[0]
        return number if tag != b"d" else _EPOCH + datetime.timedelta(microseconds=number)
    if size < BYTES and tag == b"s":
        return rest.decode("utf-8", "surrogatepass")
    if size < BYTES and tag == b"b":
        return rest
    if size < BYTES and tag == b"a":
        return datetime.date.fromisoformat(rest.decode())
    return "#" + key.hex()
