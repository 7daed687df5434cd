"""The arguments of a function as bytes; large arrays are separate, each sent once.

Cells of a sweep share the arrays of their stream. Pickled one by one, each cell would carry all of
them. Here an array of more than `APART` bytes is stored in the engine the first time it occurs, and
the payload refers to it by its number.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from budgetron.engines.protocol import Engine

APART = 10_000  # bytes


class Payloads:
    """Packs values for one engine, and remembers which arrays it has."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[int, tuple[Any, Any]] = {}  # by id: the array, kept alive; its reference

    def pack(self, value: Any) -> tuple[bytes, list[Any]]:
        """The bytes of a value without its large arrays, and references to these."""
        used: list[int] = []
        known, engine = self._known, self._engine

        class Pickler(pickle.Pickler):
            def persistent_id(self, each: Any) -> int | None:
                if type(each) is not np.ndarray or each.nbytes <= APART or each.dtype.hasobject:
                    return None
                if id(each) not in known:
                    known[id(each)] = each, engine.put(each)
                if id(each) not in used:
                    used.append(id(each))
                return used.index(id(each))

        file = io.BytesIO()
        Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
        return file.getvalue(), [known[each][1] for each in used]


def unpack(data: bytes, arrays: tuple[Any, ...]) -> Any:
    """Restore the value, where it is needed."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, number: Any) -> Any:
            return arrays[number]

    return Unpickler(io.BytesIO(data)).load()
