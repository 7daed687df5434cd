"""The labels of a table: numbers or words, their task, and how they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetron._text import counted
from budgetron.errors import BudgetronError
from budgetron.tables.kinds import Limits, look
from budgetron.tables.parsing import as_text, is_text, numbers, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES = 20  # numbers with more distinct values are a target, not classes
MOST_CLASSES = 200  # more are rarely classes: learning them would take long, and learn nothing
LONGEST_LABEL = 1000  # characters
AS_WORDS = "keep labels as words by naming their column in categorical (--categorical)"
# The smallest number with so many digits.
_POWERS = np.concatenate([[0.0], 10.0 ** np.arange(300)])
ABSENT = "has no value: fill it in, or add --skip-bad"


@dataclass(frozen=True)
class Label:
    """What the labels are, judged by some rows.

    Parameters
    ----------
    name : name of the column
    numeric : they are numbers, else words
    decimal : decimal point of numbers that are text
    said : the user said that they are words
    rows, distinct : number of rows inspected, and of distinct labels in them
    whole : all of them are whole numbers
    """

    name: str
    numeric: bool
    decimal: str = "."
    said: bool = False
    rows: int = 0
    distinct: int = 0
    whole: bool = False

    @classmethod
    def by(cls, name: str, column: Any, wanted: str | None, decimal: str = "auto") -> Label:
        """Inspect the labels of some rows, an Arrow array.

        Parameters
        ----------
        wanted : "category" or "number" if the user said so
        decimal : decimal point of numbers that are text, or "auto"
        """
        import pyarrow as pa

        column = whole(column)
        kept = Limits(more_rows=True, ids=True)
        found = look(name, column, None, decimal, kept)
        numeric = found.coding is not None and found.coding.kind == "number"
        numeric = numeric or pa.types.is_boolean(column.type)
        if wanted == "number":
            found, numeric = look(name, column, wanted, decimal, kept), True
        numeric = numeric and wanted != "category"
        point = getattr(found.coding, "decimal", ".")
        integral, distinct = False, found.distinct
        if numeric:
            values = numbers(column, point).values
            values = np.unique(values[~np.isnan(values)])  # "1" and "1.0" are one number
            integral, distinct = bool((values == np.floor(values)).all()), len(values)
        said = wanted is not None
        return cls(name, numeric, point, said, found.rows, distinct, integral)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "numeric": self.numeric, "decimal": self.decimal}

    @classmethod
    def from_json(cls, found: Any) -> Label:
        """Make it from the result of `to_json`.

        Raises
        ------
        BudgetronError
            If it is not a label.
        """
        kinds = {"name": str, "numeric": bool, "decimal": str}
        if not isinstance(found, dict) or found.keys() != kinds.keys():
            raise BudgetronError("its description of the label is not valid")
        if not all(type(found[name]) is kind for name, kind in kinds.items()):
            raise BudgetronError("its description of the label is not valid")
        return cls(**found)

    # ---- task --------------------------------------------------------------------------------

    @property
    def task(self) -> str:
        """Regression for numbers, unless they are few and whole."""
        many = self.distinct > CLASSES or not self.whole
        return "regression" if self.numeric and many and not self.said else "classification"

    @property
    def sentence(self) -> str:
        """How the task was found; empty if obvious: it was given, or there are two numbers."""
        if self.said or (self.numeric and self.task == "classification" and self.distinct < 3):
            return ""
        if not self.numeric:
            words = counted(self.distinct, "distinct word")
            return f"label {self.name!r}: {words} in {counted(self.rows, 'row')}: {self.task}"
        other = "regression" if self.task == "classification" else "classification"
        return f"label {self.name!r}: {self._count}: {self.task}; --task {other} to change"

    @property
    def _count(self) -> str:
        fractions = " with a fraction" if self.distinct == 1 else " with fractions"
        values = counted(self.distinct, "distinct number") + ("" if self.whole else fractions)
        return f"{values} in {counted(self.rows, 'row')}"

    # ---- reading -----------------------------------------------------------------------------

    def read(
        self, column: Any, wrong: Callable[[int, str], None], *, optional: bool = False
    ) -> NDArray[Any]:
        """The labels of an Arrow array; `wrong` gets each bad row, by its number from 0.

        With `optional` a row without a label is not bad: its label is NaN, or no text.

        Raises
        ------
        BudgetronError
            If the column holds neither numbers nor words.
        """
        import pyarrow as pa

        column = whole(column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        found = self._numbers if self.numeric else self._words
        return found(column, wrong, "" if optional else ABSENT)

    def _words(self, column: Any, wrong: Callable[[int, str], None], absent: str) -> NDArray[Any]:
        import pyarrow as pa

        if not is_text(column.type):
            try:
                column = as_text(column)
            except pa.ArrowException:  # a list, a struct
                raise BudgetronError(
                    f"column {self.name!r} holds {column.type}, not labels"
                ) from None
        for i in np.nonzero(column.is_null().to_numpy(zero_copy_only=False))[0].tolist():
            if absent:
                wrong(i, absent)
        column = column.dictionary_encode()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        words = [text.strip() for text in column.dictionary.to_pylist()]
        for code, word in enumerate(words):
            what = absent if not word else ""
            if len(word) > LONGEST_LABEL:  # an array has room for the longest label in every row
                what = f"has {len(word):,} characters: is a quotation mark never closed?"
            elif "\0" in word:  # NumPy would drop it
                what = "holds a zero byte, not a label"
            if what:
                for i in np.nonzero(codes == code)[0].tolist():
                    wrong(i, what)
                words[code] = ""
        labels: NDArray[Any] = np.array([*words, ""], dtype=str)[codes]
        return labels

    def _numbers(
        self, column: Any, wrong: Callable[[int, str], None], absent: str
    ) -> NDArray[np.float64]:
        y, strange = numbers(column, self.decimal)
        for i in np.nonzero(np.isnan(y))[0].tolist():
            text = str(column[i].as_py())
            what = f"holds {text[:40]!r}, not a number like the labels before: {AS_WORDS}"
            if not strange[i]:
                what = absent
            elif re.fullmatch(r"\s*[+-]?(inf|infinity|[0-9.]+(e[+-]?[0-9]+)?)\s*", text.lower()):
                what = "is not a finite number"
            if what:
                wrong(i, what)
        for i, text in _lossy(column, y):
            wrong(i, f"holds {text!r}, which is {y[i]:.0f} as a number: {AS_WORDS}")
        return np.array(y)  # Arrow's own memory may be read-only


def refusal(label: Label | None, classes: int, *, numeric: bool) -> str:
    """The error for too many classes, of labels that are numbers or words; empty: not too many.

    >>> refusal(Label("price", True), 2871, numeric=True)
    "label 'price': 2,871 classes, but at most 200 are learned: --task regression predicts numbers"
    """
    if classes <= MOST_CLASSES:
        return ""
    where = "labels" if label is None else f"label {label.name!r}"
    many = f"{where}: {classes:,} classes, but at most {MOST_CLASSES} are learned"
    if numeric:
        return f"{many}: --task regression predicts numbers"
    each = label is not None and label.distinct == label.rows
    what = "every row has its own: is it an id?" if each else "is it an id, or text?"
    return f"{many}: {what} Pass another column (--label), or list all classes (--classes)"


def _longer(column: Any, y: NDArray[np.float64]) -> bool:
    """Whether a text of a whole number has more characters than the number has digits."""
    from pyarrow import compute

    length = compute.binary_length(column)
    if column.null_count:
        length = length.fill_null(0)
    length = length.to_numpy(zero_copy_only=False)
    if length.max(initial=0) < 2:
        return False
    least = _POWERS[np.minimum(length, len(_POWERS) - 1)]
    return bool(((length > 1) & (np.abs(y) < least) & (y == np.floor(y))).any())


def _lossy(column: Any, y: NDArray[np.float64]) -> Iterator[tuple[int, str]]:
    """Whole numbers, as text or not, that float64 changes, or that had leading zeros.

    Two of them could become one class.
    """
    from pyarrow import compute

    suspect = np.abs(y) >= 2**53
    if is_text(column.type) and _longer(column, y):
        zeros = compute.match_substring_regex(column, r"^\s*[+-]?0[0-9]+\s*$")
        suspect |= zeros.fill_null(False).to_numpy(zero_copy_only=False)
    for i in np.nonzero(suspect & np.isfinite(y))[0].tolist():
        text = str(column[i].as_py()).strip()
        if re.fullmatch(r"[+-]?[0-9]+", text) and text.lstrip("+") != f"{y[i]:.0f}":
            yield i, text
