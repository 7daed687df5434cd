"""How a column of each kind becomes features: fixed names, and values for any cells.

| coding | features |
|---|---|
| Number | the number; NaN or `fill` for a gap |
| Boolean | 1 or 0; NaN or `fill` for a gap |
| Date | days since the first day, time of day, weekday and month as points on circles |
| Category | one per known category, one for gaps, buckets for all others |
| Text | buckets of words; the values of a row have length 1 |

A coding is plain data, frozen: no row changes it, so that a cell becomes the same features whatever
came before it. Cost: O(cells) in NumPy and Arrow; Python work is at most per distinct text.

`decode` is the inverse, as far as there is one: from the features of a cell to what a person would
write there. Features may be slightly off, by rounding or because a learner has clipped them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.tables.hashing import buckets
from budgetron.tables.parsing import LONE, ORDERS, booleans, dictionary_of, numbers, times, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from budgetron.tables.parsing import Read

_MICROSECONDS_A_DAY = 86_400_000_000
# A longer text is not its own category, and is not kept: it would make the encoder large.
LONGEST = 200
KEPT = 500  # texts of a column whose features are cached
_ONE = np.ones(1)
_ONE.flags.writeable = False
OFF = 0.01  # how far a feature may be off and still be decoded
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799  # seconds: the years 1 to 9999
_PARTS = ("elapsed", "hour", "weekday", "month")


# What a decoded cell may be; None is a gap.
Cell: TypeAlias = float | bool | str | None


class Cells(NamedTuple):
    """Features of n cells, each with the same number m.

    `places` (n x m, or 1 x m if all cells have the same) are features of the column from 0,
    `values` (n x m) their values; `wrong` marks cells that could not be read. If `ends` is not None
    the cells have different numbers of features: places and values are flat, and those of cell i
    end at ends[i].
    """

    places: NDArray[np.int64]
    values: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    ends: NDArray[np.int64] | None = None

    @property
    def one_hot(self) -> bool:
        """Whether every cell has one feature of value 1, as `one_hot` makes them."""
        return self.values.strides == (0, 0)


def one_hot(places: NDArray[np.int64]) -> Cells:
    """Cells with one feature of value 1 each; the ones take no memory."""
    n = len(places)
    ones: NDArray[np.float64] = np.ndarray((n, 1), np.float64, _ONE, strides=(0, 0))
    return Cells(places[:, None], ones, np.zeros(n, bool))


@dataclass(frozen=True)
class Coding:
    """How the cells of one column become features."""

    name: str  # name of the column
    kind: ClassVar[str]

    @property
    def features(self) -> list[str]:
        """The names of its features."""
        return [self.name]

    @property
    def width(self) -> int:
        return len(self.features)

    def encode(self, column: Any) -> Cells:
        """The features of the cells of an Arrow array of any type."""
        raise NotImplementedError

    def decode(self, values: NDArray[np.float64]) -> Cell:
        """What a cell with these features held; `values` are all of them, NaN for missing.

        For hashed words it is only known that there are some.
        """
        return "(hashed)" if (np.nan_to_num(values) > OFF).any() else None

    def mended(self, values: NDArray[np.float64], cut: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The features of a cell, some of them clipped by a learner, for `decode`."""
        return values

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def _dense(values: NDArray[np.float64], wrong: NDArray[np.bool_]) -> Cells:
    """Cells that have all features each."""
    if values.ndim == 1:
        values = values[:, None]
    return Cells(np.arange(values.shape[1])[None, :], values, wrong)


def _filled(read: Read, fill: float | None) -> Cells:
    values = read.values if fill is None else np.where(np.isnan(read.values), fill, read.values)
    return _dense(values, read.wrong)


@dataclass(frozen=True)
class Number(Coding):
    """The number itself; `decimal` is the decimal point of numbers that are text."""

    decimal: str = "."
    fill: float | None = None
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise BudgetronError(f"decimal must be '.' or ',', not {self.decimal!r}")

    @property
    def width(self) -> int:
        return 1

    def encode(self, column: Any) -> Cells:
        return _filled(numbers(column, self.decimal), self.fill)

    def decode(self, values: NDArray[np.float64]) -> Cell:
        return None if np.isnan(values[0]) else float(values[0])


@dataclass(frozen=True)
class Boolean(Coding):
    """1 for yes, 0 for no."""

    fill: float | None = None
    kind: ClassVar[str] = "boolean"

    @property
    def width(self) -> int:
        return 1

    def encode(self, column: Any) -> Cells:
        return _filled(booleans(column), self.fill)

    def decode(self, values: NDArray[np.float64]) -> Cell:
        """True or False; a number between them, with which a learner fills a gap, is a gap."""
        near = round(float(values[0])) if np.isfinite(values[0]) else -1
        return bool(near) if near in (0, 1) and abs(values[0] - near) <= OFF else None


@dataclass(frozen=True)
class Date(Coding):
    """Days since `origin`, and the position in the day, the week and the year.

    A position in a period, as a share s of it, is the point (sin 2 pi s, cos 2 pi s) on a circle:
    23:59 is near 0:00.

    Parameters
    ----------
    order : format of dates that are text, one of ORDERS
    origin : microseconds since 1970 at which the elapsed time is 0
    parts : which of elapsed, hour, weekday and month there are
    fill : elapsed time of a gap, which is at the centre of every circle; None: a gap is NaN
    """

    order: str = "ymd"
    origin: int = 0
    parts: tuple[str, ...] = _PARTS
    fill: float | None = None
    kind: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if self.order not in ORDERS:
            raise BudgetronError(f"dates are written as {', '.join(ORDERS)}, not {self.order!r}")
        if not set(self.parts) <= set(_PARTS):
            raise BudgetronError(f"parts of a date are {', '.join(_PARTS)}")

    @property
    def features(self) -> list[str]:
        circles = (f"{self.name}:{p}_{f}" for p in self.parts[1:] for f in ("sin", "cos"))
        return [f"{self.name}:{self.parts[0]}", *circles]

    def encode(self, column: Any) -> Cells:
        stamps, wrong = times(column, self.order)
        absent = np.isnat(stamps)
        micro = np.where(absent, np.datetime64(0, "us"), stamps).astype("datetime64[us]")
        day = micro.astype("datetime64[D]")
        month = micro.astype("datetime64[M]")
        shares = {
            "hour": (micro - day).astype(np.int64) / _MICROSECONDS_A_DAY,
            "weekday": (day.astype(np.int64) + 3) % 7 / 7,
            "month": (month.astype(np.int64) % 12 + (day - month).astype(np.int64) / 31) / 12,
        }
        values = [(micro.astype(np.int64) - self.origin) / _MICROSECONDS_A_DAY]
        for part in self.parts[1:]:
            values += [np.sin(2 * np.pi * shares[part]), np.cos(2 * np.pi * shares[part])]
        columns = np.stack(values, axis=1)
        columns[absent] = np.nan if self.fill is None else 0.0
        if self.fill is not None:
            columns[absent, 0] = self.fill
        return _dense(columns, wrong)

    def decode(self, values: NDArray[np.float64]) -> Cell:
        """The day, with its time if days have times; a point off the circles is a gap."""
        points = values[1:].reshape(-1, 2)
        radii = np.sqrt((points**2).sum(axis=1))
        if np.isnan(values).any() or (np.abs(radii - 1) > OFF).any():
            return None
        seconds = self.origin / 1e6 + float(values[0]) * 86_400
        if not _EARLIEST <= seconds <= _LATEST:
            return None
        whole = 60 if "hour" in self.parts else 86_400
        stamp = np.datetime64(round(seconds / whole) * whole, "s")
        if self.order == "hms":
            return str(stamp)[11:16]
        return str(stamp)[:16].replace("T", " ") if "hour" in self.parts else str(stamp)[:10]

    def mended(self, values: NDArray[np.float64], cut: NDArray[np.bool_]) -> NDArray[np.float64]:
        """A clipped point is moved back to its circle: the day is in the elapsed time."""
        points, lost = values[1:].reshape(-1, 2).copy(), cut[1:].reshape(-1, 2).any(axis=1)
        points[lost] = (0.0, 1.0)
        return np.concatenate([values[:1], points.ravel()])


@dataclass(frozen=True)
class Category(Coding):
    """One feature per known category, one for gaps, and buckets into which others are hashed.

    Parameters
    ----------
    categories : categories with their own feature, sorted
    others : number of buckets
    """

    categories: tuple[str, ...] = ()
    others: int = 1
    kind: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(self.categories))
        if list(self.categories) != sorted(set(self.categories)) or self.others < 1:
            raise BudgetronError(f"the categories of column {self.name!r} are not valid")

    @property
    def features(self) -> list[str]:
        known = [f"{self.name}={each}" for each in self.categories]
        return [*known, f"{self.name}?", *(f"{self.name}#{i}" for i in range(self.others))]

    @property
    def width(self) -> int:
        return len(self.categories) + 1 + self.others

    @cached_property
    def _known(self) -> Any:
        import pyarrow as pa

        return pa.array(self.categories, pa.string())

    @cached_property
    def seen(self) -> dict[str, int]:
        """A cache of the places of texts, for repeated ones."""
        return {}

    def encode(self, column: Any) -> Cells:
        codes, texts = dictionary_of(column)
        gap = len(self.categories)  # the place of null, which has the code -1
        if len(texts) <= KEPT:
            places = np.array([*self._looked_up(texts), gap], np.int64)
        else:
            places = np.append(self._places(texts), gap)
        return one_hot(places[codes])

    def decode(self, values: NDArray[np.float64]) -> Cell:
        """The category, "(other)" for one without its own feature, "(unknown)" for none."""
        place = 0 if np.isnan(values).all() else int(np.nanargmax(values))
        if not values[place] > OFF:
            return "(unknown)"
        k = len(self.categories)
        return self.categories[place] if place < k else None if place == k else "(other)"

    def _looked_up(self, texts: Any) -> list[int]:
        seen = self.seen
        listed = texts.to_numpy(zero_copy_only=False).tolist()
        places = [seen.get(text, -1) for text in listed]
        if -1 in places:
            new = self._places(texts).tolist()
            short = {t: p for t, p in zip(listed, new, strict=True) if t and len(t) <= LONGEST}
            if len(seen) + len(short) > KEPT:
                seen.clear()
            seen.update(short)
            places = new
        return places

    def _places(self, texts: Any) -> NDArray[np.int64]:
        """The feature of each text."""
        import pyarrow as pa
        from pyarrow import compute

        codes, words = words_of(texts, lone=not {*LONE} & {*self.categories})
        k = len(self.categories)
        known = compute.index_in(words, value_set=self._known).fill_null(-1)
        places = np.append(known.to_numpy(zero_copy_only=False).astype(np.int64), k)  # k: a gap
        other = places < 0
        if other.any():
            unknown = words.filter(pa.array(other[:-1]))
            places[other] = k + 1 + buckets(unknown, self.name, self.others)
        return places[codes]


@dataclass(frozen=True)
class Text(Coding):
    """Counts of lower-case words, hashed into buckets; a cell's counts have length 1.

    A gap has no words.
    """

    others: int = 1024
    kind: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        if self.others < 1:
            raise BudgetronError(f"the text of column {self.name!r} takes at least 1 bucket")

    @property
    def features(self) -> list[str]:
        return [f"{self.name}#{i}" for i in range(self.others)]

    @property
    def width(self) -> int:
        return self.others

    def encode(self, column: Any) -> Cells:
        from pyarrow import compute

        codes, texts = words_of(column)
        lists = compute.split_pattern_regex(compute.utf8_lower(texts), r"[^\p{L}\p{N}]+")
        words, counts = lists.flatten(), compute.list_value_length(lists)
        owner = np.repeat(np.arange(len(texts)), counts.to_numpy(zero_copy_only=False))
        filled = compute.not_equal(words, "").to_numpy(zero_copy_only=False)
        owner = owner[filled]
        place = buckets(words.filter(filled), self.name, self.others)
        cell, count = np.unique(owner * self.others + place, return_counts=True)
        owner, place = cell // self.others, cell % self.others
        lengths = np.sqrt(np.bincount(owner, count.astype(np.float64) ** 2, len(texts)))
        value = count / lengths[owner]
        # From the distinct texts to the cells; a gap is the text with number len(texts).
        sizes = np.append(np.bincount(owner, minlength=len(texts)), 0)
        starts = np.cumsum(sizes) - sizes
        per_cell = sizes[codes]
        ends = np.cumsum(per_cell)
        within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - per_cell, per_cell)
        taken = np.repeat(starts[codes], per_cell) + within
        return Cells(place[taken], value[taken], np.zeros(len(codes), bool), ends)

    def decode(self, values: NDArray[np.float64]) -> Cell:
        """How many buckets its words are in: the words themselves are not kept."""
        words = int(np.count_nonzero(np.nan_to_num(values) > OFF))
        return None if words == 0 else "(1 word)" if words == 1 else f"({words} words)"


@dataclass(frozen=True)
class Checksum(Text):
    """Whole texts by zlib.crc32 of the column's name and theirs, as in older files.

    A gap has no bucket. See older.py.
    """

    kind: ClassVar[str] = "checksum"

    def encode(self, column: Any) -> Cells:
        codes, texts = words_of(column)
        names = [f"{self.name}={text}".encode() for text in texts.to_pylist()]
        places = np.array([crc32(each) % self.others for each in names] + [0], np.int64)
        values = np.append(np.ones(len(texts)), 0.0)
        return Cells(places[codes][:, None], values[codes][:, None], np.zeros(len(codes), bool))


_ALL = (Number, Boolean, Date, Category, Text, Checksum)
CODINGS: dict[str, type[Coding]] = {each.kind: each for each in _ALL}


# Types of the fields of codings, as `to_dict` writes them.
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: _is_word(value),
    "decimal": lambda value: isinstance(value, str),
    "order": lambda value: isinstance(value, str),
    "parts": lambda value: len(value) > 0 and all(isinstance(each, str) for each in value),
    "fill": lambda value: value is None or (type(value) is float and isfinite(value)),
    "origin": lambda value: type(value) is int and -(2**63) <= value < 2**63,
    "categories": lambda value: isinstance(value, list | tuple) and all(map(_is_word, value)),
    "others": lambda value: type(value) is int and 0 < value < 2**31,
}


def _is_word(value: Any) -> bool:
    """Whether it is text that Arrow can hold: no half of a character."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value


def coding_of(found: Mapping[str, Any]) -> Coding:
    """Make the coding from the result of `to_dict`.

    Raises
    ------
    BudgetronError, TypeError or LookupError
        If it is not a coding.
    """
    given = dict(found)
    kind = CODINGS[given.pop("kind")]
    wrong = [name for name, value in given.items() if not _FIELDS[name](value)]
    if wrong:
        raise BudgetronError(f"{wrong[0]} of a coding is not valid")
    return kind(**given)
