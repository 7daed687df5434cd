"""What each column of a table is for, as a user says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Column: TypeAlias = str | int


def spans(text: str) -> list[str]:
    """Columns as people list them: names or numbers with commas between, spans of numbers.

    >>> spans("0,3-5,age")
    ['0', '3', '4', '5', 'age']
    """
    listed: list[str] = []
    for each in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = each.partition("-")
        if dash and first.isdigit() and last.isdigit():
            listed += map(str, range(int(first), int(last) + 1))
        else:
            listed.append(each)
    return listed


@dataclass(frozen=True)
class Roles:
    """What each column is for.

    Parameters
    ----------
    label : name or number (from 0; -1 is the last) of the label's column; None: the one column
        called label, target, class or y; False: there is none, and y is NaN
    columns : names or numbers of the features, in the order wanted; None: all but the label
    categorical : of these, those to one-hot
    hashed : of these, those to hash
    hash_width : number of features hashed into
    """

    label: Column | Literal[False] | None = None
    columns: Sequence[Column] | None = None
    categorical: Sequence[Column] = ()
    hashed: Sequence[Column] = ()
    hash_width: int = 1024

    def __post_init__(self) -> None:
        if self.hash_width < 1:
            raise ValueError(f"hash_width must be at least 1, not {self.hash_width}")
