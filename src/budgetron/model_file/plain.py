"""Plain values of Python and NumPy as JSON and arrays, exactly and without trust.

scikit-learn's transformers consist of numbers, texts, None, lists, dicts, slices, arrays of
numbers, of text and of such objects, and NumPy's types. Arrays of numbers become arrays of the
file, all else JSON: values other than None, bool, int, float or str are a dict with one key, their
type. Reading makes only these, and uses each array of the file once, so that a file cannot ask for
more than it holds.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.model_file.limits import Arrays
from budgetron.model_file.values import FLOATS, NUMBERS

PREFIX = "pipeline/"  # of the names of arrays
_PYTHON = ("bool", "int", "float", "str", "object")  # types of parameters
_TYPES = (*NUMBERS, *FLOATS)


class Writer:
    """Writes values; `arrays` are those of the file so far.

    Parameters
    ----------
    other : writes other values, or raises TypeError
    """

    def __init__(self, other: Callable[[Any], Any]) -> None:
        self.arrays: Arrays = {}
        self._other = other

    def write(self, value: Any) -> Any:
        """The value as JSON; TypeError if it cannot be written."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic) and value.dtype.name in _TYPES:
            return {"number": self.write(value.item()), "as": value.dtype.name}
        if isinstance(value, str):  # of NumPy
            return str(value)
        if type(value) is list:
            return {"list": [self.write(each) for each in value]}
        if type(value) is tuple:
            return {"tuple": [self.write(each) for each in value]}
        if type(value) is dict:
            return {"dict": [[self.write(k), self.write(v)] for k, v in value.items()]}
        if type(value) is slice:
            return {"slice": [self.write(v) for v in (value.start, value.stop, value.step)]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        return self._type(value)

    def _array(self, array: Any) -> Any:
        if array.dtype.kind == "U" and array.ndim == 1:
            return {"texts": array.tolist()}
        if array.dtype == object and array.ndim == 1:
            return {"objects": [self.write(each) for each in array]}
        if array.dtype.name not in _TYPES:
            return self._other(array)
        name = f"{PREFIX}{len(self.arrays)}"
        native = array.dtype.newbyteorder("=")
        self.arrays[name] = np.array(array, dtype=native, order="C")
        return {"array": name}

    def _type(self, value: Any) -> Any:
        if isinstance(value, np.dtype):
            name = value.name if value.kind in "biufO" else value.str
            if name in _TYPES or name == "object" or value.kind == "U":
                return {"dtype": "str" if value.kind == "U" else name}
        if isinstance(value, type):
            if issubclass(value, np.generic) and np.dtype(value).name in _TYPES:
                return {"numpy": np.dtype(value).name}
            if value.__name__ in _PYTHON and getattr(builtins, value.__name__) is value:
                return {"python": value.__name__}
        return self._other(value)


class Reader:
    """Reads what a `Writer` wrote; raises BudgetronError for anything else.

    Parameters
    ----------
    arrays : of the file, those with PREFIX
    other : reads what the `other` of the writer wrote
    """

    def __init__(self, arrays: Arrays, other: Callable[[Any], Any]) -> None:
        self._arrays = dict(arrays)
        self._other = other

    def read(self, written: Any) -> Any:
        if written is None or isinstance(written, bool | int | float | str):
            return written
        match written:
            case {"float": "nan" | "inf" | "-inf" as text, **more} if not more:
                return float(text)
            case {"number": value, "as": str(name), **more} if not more and name in _TYPES:
                return np.dtype(name).type(self.read(value))
            case {"list": list(values), **more} if not more:
                return [self.read(each) for each in values]
            case {"tuple": list(values), **more} if not more:
                return tuple(self.read(each) for each in values)
            case {"dict": list(pairs), **more} if not more:
                return {self.read(key): self.read(value) for key, value in pairs}
            case {"slice": [start, stop, step], **more} if not more:
                return slice(self.read(start), self.read(stop), self.read(step))
            case {"texts": list(texts), **more} if not more:
                if not all(isinstance(each, str) for each in texts):
                    raise BudgetronError("an array of text has other values")
                return _texts(texts)
            case {"objects": list(values), **more} if not more:
                array = np.empty(len(values), dtype=object)
                for i, each in enumerate(values):
                    array[i] = self.read(each)
                return array
            case {"array": str(name), **more} if not more:
                if name not in self._arrays:
                    raise BudgetronError("an array is missing, or occurs twice")
                return np.array(self._arrays.pop(name))
            case {"dtype": str(name), **more} if not more and name in (*_TYPES, "object", "str"):
                return np.dtype(name)
            case {"numpy": str(name), **more} if not more and name in _TYPES:
                return np.dtype(name).type
            case {"python": str(name), **more} if not more and name in _PYTHON:
                return getattr(builtins, name)
        return self._other(written)

    def check_all_read(self) -> None:
        if self._arrays:
            raise BudgetronError("an array in the file is not used")


def _texts(texts: list[str]) -> Any:
    """An array of text; its items are as wide as the longest, which is checked first."""
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > 64 * (sum(map(len, texts)) + len(texts)) + 2**20:
        raise BudgetronError("one text of an array is out of all proportion to the others")
    return np.array(texts, dtype=str)
