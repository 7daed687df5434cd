"""Encodings of files of older versions: numbers, then hashed words, then categories.

All hashed columns shared the same buckets, and each category had its feature in the order in which
categories first appeared, several columns mixed. As an encoding with explicit positions of features
these tables are read like any other. An unseen category has no feature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from budgetron.errors import BudgetronError
from budgetron.tables.codings import Category, Checksum, Coding, Number
from budgetron.tables.encoding import Encoding
from budgetron.tables.kinds import Column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def of_numbers(names: Sequence[str]) -> Encoding:
    """The encoding of columns that are numbers, by name."""
    return Encoding(tuple(Column(each, "number", Number(each)) for each in names))


def of_older(found: Mapping[str, Any]) -> Encoding:
    """The encoding of a table that an older file describes.

    Parameters
    ----------
    found : `numbers`, `hashed` and `categorical` columns by name, `hash_width`, the number of
        features hashed into, and `categories`, of each categorical column each category's feature

    Raises
    ------
    BudgetronError
        If it is not such a description.

    Examples
    --------
    >>> found = {"numbers": ["age"], "hashed": [], "hash_width": 1, "categorical": ["town"]}
    >>> of_older({**found, "categories": [{"Ulm": 1, "Bonn": 2}]}).features
    ['age', 'town=Ulm', 'town=Bonn']
    """
    try:
        numbers, hashed, words = (found[each] for each in ("numbers", "hashed", "categorical"))
        width, categories = found["hash_width"], found["categories"]
        width = width if 0 < width <= 2**20 else 0  # no file had more
        codings: list[Coding] = [Number(each) for each in numbers]
        places = list(range(len(numbers)))
        for name in hashed:
            codings.append(Checksum(name, width))
            places += range(len(numbers), len(numbers) + width)
        for name, known in zip(words, categories, strict=True):
            codings.append(Category(name, tuple(sorted(known)), 1))
            places += [known[each] for each in sorted(known)] + [-1, -1]  # a gap, others
        fixed = len(numbers) + (width if hashed else 0)
        own = sorted(place for known in categories for place in known.values())
        sound = (
            found.keys() == {"numbers", "hashed", "hash_width", "categorical", "categories"}
            and width > 0
            and all(isinstance(each.name, str) for each in codings)
            and own == list(range(fixed, fixed + len(own)))
            and len(codings) > 0
        )
    except (TypeError, ValueError, AttributeError, LookupError):
        sound = False
    if not sound:
        raise BudgetronError("its description of the columns is not valid")
    columns = tuple(Column(each.name, _KINDS[each.kind], each) for each in codings)
    return Encoding(columns, tuple(places) if hashed or words else None)


_KINDS = {"number": "number", "checksum": "category", "category": "category"}
