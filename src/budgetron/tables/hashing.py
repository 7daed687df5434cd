"""Buckets for texts: a hash that depends only on the bytes, computed for a whole column at once.

The hash of the bytes b_0 ... b_(n-1) is the polynomial sum_i (b_i + 1) M^i modulo 2^64, with an odd
M, mixed by the finaliser of splitmix64 (Steele, Lea & Flood 2014) so that all bits count. A seed,
the hash of the column's name, keeps the buckets of two columns apart. Cost: O(bytes of the column),
in NumPy; the same on every machine and in every process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MULTIPLIER = 0x9E3779B97F4A7C15 | 1  # 2^64 / golden ratio: an odd number whose bits look random
MASK = 2**64 - 1


def buckets(texts: Any, column: str, count: int) -> NDArray[np.int64]:
    """The bucket of each text, below `count`; `texts` is an Arrow array of strings without nulls.

    >>> import pyarrow as pa
    >>> buckets(pa.array(["Rome", "Oslo", "Rome"]), "town", 1024)
    array([532,  83, 532])
    """
    seed = np.uint64(column_seed(column))
    return (_mix(_hashes(texts) ^ seed) % np.uint64(count)).astype(np.int64)


def column_seed(column: str) -> int:
    """The seed that separates the buckets of a column from those of others."""
    return _mixed(_polynomial(np.frombuffer(column.encode(), np.uint8)))


def _hashes(texts: Any) -> NDArray[np.uint64]:
    import pyarrow as pa

    texts = texts.cast(pa.large_binary())
    n = len(texts)
    if n == 0:
        return np.zeros(0, np.uint64)
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + n + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    if first == last:
        return np.zeros(n, np.uint64)
    content = np.frombuffer(data, np.uint8)[first:last].astype(np.uint64) + np.uint64(1)
    places = np.arange(last - first) - np.repeat(offsets[:-1] - first, lengths)
    content *= _powers(int(lengths.max()))[places]
    sums = np.zeros(n, np.uint64)
    filled = lengths > 0
    sums[filled] = np.add.reduceat(content, (offsets[:-1] - first)[filled])
    return sums


def _powers(count: int) -> NDArray[np.uint64]:
    powers = np.full(count, MULTIPLIER, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


def _polynomial(content: NDArray[np.uint8]) -> int:
    total, power = 0, 1
    for byte in content.tolist():
        total += (byte + 1) * power
        power = power * MULTIPLIER & MASK
    return total & MASK


def _mix(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _mixed(value: int) -> int:
    return int(_mix(np.array([value], np.uint64))[0])
