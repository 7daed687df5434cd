"""The data sets of the papers by name, read from sets.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from budgetron.errors import BudgetronError


class DataError(BudgetronError):
    """A data set that is unknown, missing, not reachable or not valid; one line."""


@dataclass(frozen=True)
class File:
    """One file of a data set.

    Parameters
    ----------
    part : "all", "train", "test", ...
    name : its file name here
    url : its public origin
    rows : number of rows
    sha256 : hash of the uncompressed text, if known
    held : names of files that can replace it in a local folder, converted or repacked
    held_part : "START:STOP", the rows of such an .npz file, if it holds other parts too
    read : how to read the origin's file: fields of `budgetron.streams.SourceOptions`
    labels : number of each label, if the origin's are words; `load` returns these numbers
    by_hand : how a person makes it, if the origin has no such file; it is not fetched
    member : the file inside the zip at the origin
    features : columns of X, if not those of the set
    """

    part: str
    name: str
    url: str
    rows: int
    sha256: str | None = None
    held: tuple[str, ...] = ()
    held_part: str | None = None
    read: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, float] = field(default_factory=dict)
    by_hand: str | None = None
    member: str | None = None
    features: int | None = None


@dataclass(frozen=True)
class DataSet:
    """A data set of the papers.

    Parameters
    ----------
    name : its name in the papers
    about : a description in one line
    task : "classification", "regression" or both
    features : columns of X, before words become features
    page : its web page
    papers : paper -> how it prepared the set
    files : its files, in the order in which the papers join them
    classes : number of classes, for classification
    """

    name: str
    about: str
    task: str
    features: int
    page: str
    papers: dict[str, str]
    files: tuple[File, ...]
    classes: int | None = None

    @property
    def rows(self) -> int:
        """Rows of all files together."""
        return sum(file.rows for file in self.files)

    def parts(self, *wanted: str) -> list[File]:
        """The files of these parts; all of them if none is given."""
        known = [file.part for file in self.files]
        for part in wanted:
            if part not in known:
                raise DataError(f"{self.name} has no part {part!r}; it has {', '.join(known)}")
        return [file for file in self.files if not wanted or file.part in wanted]


@cache
def data_sets() -> dict[str, DataSet]:
    """Every data set by name, in the papers' order.

    >>> data_sets()["a9a"].rows
    48842
    """
    text = files("budgetron.datasets").joinpath("sets.toml").read_text(encoding="utf-8")
    return {name: _read(name, entry) for name, entry in tomllib.loads(text).items()}


def _read(name: str, entry: dict[str, Any]) -> DataSet:
    listed = tuple(
        File(**{**each, "held": tuple(each.get("held", ()))}) for each in entry.pop("files")
    )
    return DataSet(name=name, files=listed, **entry)


def find(name: str) -> DataSet:
    """Find the data set called `name`.

    Parameters
    ----------
    name : one of `budgetron data list`

    Raises
    ------
    DataError
        If there is none of this name.

    Examples
    --------
    >>> from budgetron.datasets import find
    >>> find("a9a").name
    'a9a'
    """
    known = data_sets()
    if name not in known:
        close = get_close_matches(name.lower(), {each.lower(): each for each in known}, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"
        raise DataError(f"no data set is called {name!r}; {hint}")
    return known[name]
