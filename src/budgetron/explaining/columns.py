"""The features of a model's columns, and the inverse: from features to what a column held.

A column as the user knows it may be one feature, or many: one per category, points on circles,
buckets. Transformers are followed one by one. After an unknown transformer, columns are its
features, with the names that it gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetron.estimators.table_encoder import TableEncoder
from budgetron.tables.codings import OFF, Cell, Coding
from budgetron.tables.encoding import Encoding

Floats = NDArray[np.float64]
Decode = Callable[[Floats], Cell]
UNKNOWN = "(unknown)"


@dataclass(frozen=True)
class Known:
    """A column of the table, as the model sees it.

    Parameters
    ----------
    name : its name for the user
    features : numbers of its features
    decode : returns what the column held, from the values of these features
    mended : restores values that a model has clipped (marked in the second array), for `decode`
    """

    name: str
    features: NDArray[np.int64]
    decode: Decode
    mended: Callable[[Floats, NDArray[np.bool_]], Floats] = lambda values, cut: values


def number(values: Floats) -> Cell:
    """What a column of numbers held."""
    return None if np.isnan(values[0]) else float(values[0])


def of_names(names: Sequence[Any]) -> list[Known]:
    """Columns that are one feature each."""
    return [Known(str(name), np.array([j]), number) for j, name in enumerate(names)]


def of_encoding(encoding: Encoding) -> list[Known]:
    """The columns of a table that are not left out."""
    starts = zip(encoding.starts, encoding.starts[1:], strict=False)
    where = range(encoding.starts[-1]) if encoding.places is None else encoding.places
    return [
        placed(coding, np.array(where[first:last], np.int64))
        for coding, (first, last) in zip(encoding.coded, starts, strict=True)
    ]


def placed(coding: Coding, places: NDArray[np.int64]) -> Known:
    """A column with features at these positions; features without a position (-1) are 0."""
    kept = places >= 0
    if kept.all():
        return Known(coding.name, places, coding.decode, coding.mended)

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        whole = np.zeros(len(places), values.dtype)
        whole[kept] = values
        return whole

    return Known(
        coding.name,
        places[kept],
        lambda values: coding.decode(spread(values)),
        lambda values, cut: coding.mended(spread(values), spread(cut))[kept],
    )


def of_steps(steps: Sequence[tuple[str, Any]], width: int) -> list[Known]:
    """The columns of the table that the first of these steps was fitted to.

    Parameters
    ----------
    steps : fitted transformers by name, "passthrough" or None
    width : width of the output of the last one
    """
    columns: list[Known] | None = None
    for _, step in steps:
        if step is not None and step != "passthrough":
            if columns is None:
                columns = of_names(_names_in(step))
            columns = _behind(step, columns)
    if columns is None or _last(columns) >= width:
        return of_names([f"x{j}" for j in range(width)])
    return columns


def _names_in(step: Any) -> Sequence[Any]:
    """The names of the columns that a step was fitted to."""
    if isinstance(step, TableEncoder):
        return list(step._names)
    if hasattr(step, "steps"):
        inner = [each for _, each in step.steps if each not in (None, "passthrough")]
        return _names_in(inner[0]) if inner else []
    names = getattr(step, "feature_names_in_", None)
    if names is not None:
        return list(names)
    return [f"x{j}" for j in range(getattr(step, "n_features_in_", 0))]


def _last(columns: Sequence[Known]) -> int:
    return max((int(each.features.max(initial=-1)) for each in columns), default=-1)


# ---- transformers --------------------------------------------------------------------------------


def _behind(step: Any, columns: list[Known]) -> list[Known]:
    """The columns, by their features after a fitted step."""
    follow = _FOLLOWED.get(type(step).__name__)
    if follow is None or not type(step).__module__.startswith(("sklearn.", "budgetron.")):
        return _opaque(step)
    return follow(step, columns)


def _opaque(step: Any) -> list[Known]:
    return of_names(step.get_feature_names_out())


def _encoder(step: Any, columns: list[Known]) -> list[Known]:
    return of_encoding(step._ready())


def _pipeline(step: Any, columns: list[Known]) -> list[Known]:
    for _, each in step.steps:
        if each is not None and each != "passthrough":
            columns = _behind(each, columns)
    return columns


def _scaler(step: Any, columns: list[Known]) -> list[Known]:
    ones = np.ones(step.n_features_in_)
    sizes = ones if step.scale_ is None else step.scale_
    centres = 0 * ones if not step.with_mean else step.mean_
    return [_mapped(each, sizes, centres) for each in columns]


def _mapped(column: Known, sizes: Floats, centres: Floats) -> Known:
    size, centre = sizes[column.features], centres[column.features]

    def decode(values: Floats) -> Cell:
        return column.decode(values * size + centre)

    return Known(column.name, column.features, decode)


def _one_hot(step: Any, columns: list[Known]) -> list[Known]:
    groups = []
    start = 0
    for j, count in enumerate(step._n_features_outs):
        groups.append((np.arange(start, start + count), _category(step, j)))
        start += count
    return _regrouped(columns, groups)


def _category(step: Any, j: int) -> Decode:
    """From the features of the j-th column; a dropped category has none."""
    kept: list[Any] = _codes(step, j)
    dropped: Any = UNKNOWN
    if step._drop_idx_after_grouping is not None:
        place = step._drop_idx_after_grouping[j]
        dropped = UNKNOWN if place is None else kept.pop(int(place))

    def decode(values: Floats) -> Cell:
        place = int(np.argmax(values)) if len(values) else -1
        return _plain(kept[place] if place >= 0 and values[place] > OFF else dropped)

    return decode


def _codes(step: Any, j: int) -> list[Any]:
    """What the codes of a column mean; rare categories share the last one."""
    known = step.categories_[j].tolist()
    rare = step._infrequent_indices[j] if step._infrequent_enabled else None
    if rare is None:
        return list(known)
    those = set(rare.tolist())
    return [*(each for i, each in enumerate(known) if i not in those), "(rare)"]


def _ordinal(step: Any, columns: list[Known]) -> list[Known]:
    def decoder(j: int) -> Decode:
        known = _codes(step, j)

        def decode(values: Floats) -> Cell:
            code = round(float(values[0])) if np.isfinite(values[0]) else -1
            missing = np.isnan(values[0]) or abs(values[0] - step.encoded_missing_value) < OFF
            if missing and j in step._missing_indices:
                return None
            return _plain(known[code]) if 0 <= code < len(known) else UNKNOWN

        return decode

    groups = [(np.array([j]), decoder(j)) for j in range(step.n_features_in_)]
    return _regrouped(columns, groups)


def _plain(value: Any) -> Cell:
    """A category as a decoded cell: a gap is None."""
    if value is None or value != value:
        return None
    return value if isinstance(value, bool | str) else float(value)


def _imputer(step: Any, columns: list[Known]) -> list[Known]:
    width = step.n_features_in_
    kept = np.ones(width, bool)
    if step.strategy != "constant" and not step.keep_empty_features:
        kept = np.array([each == each and each is not None for each in step.statistics_.tolist()])
    places = np.cumsum(kept) - 1
    flags = [] if step.indicator_ is None else step.indicator_.features_.tolist()

    def group(j: int) -> tuple[NDArray[np.int64], Decode]:
        own = [int(places[j])] if kept[j] else []
        flag = [int(kept.sum()) + flags.index(j)] if j in flags else []

        def decode(values: Floats) -> Cell:
            if not own or (flag and values[-1] > OFF):
                return None
            return number(values)

        return np.array([*own, *flag], np.int64), decode

    return _regrouped(columns, [group(j) for j in range(width)])


def _hasher(step: Any, columns: list[Known]) -> list[Known]:
    name = columns[0].name if len(columns) == 1 else "(hashed)"

    def decode(values: Floats) -> Cell:
        return f"({int(np.count_nonzero(np.abs(values) > OFF))} hashed)"

    return [Known(name, np.arange(step.n_features), decode)]


def _columns(step: Any, columns: list[Known]) -> list[Known]:
    found: dict[str, list[Known]] = {}
    for name, inner, _ in step.transformers_:
        place = step.output_indices_[name]
        if inner == "drop" or place.stop <= place.start:
            continue
        inputs = step._transformer_to_input_indices[name]
        given = [_alone(columns, feature, i) for i, feature in enumerate(inputs)]
        behind = given if inner == "passthrough" else _behind(inner, given)
        for each in behind:
            moved = Known(each.name, each.features + place.start, each.decode)
            found.setdefault(each.name, []).append(moved)
    return [_joined(each) for each in found.values()]


def _alone(columns: list[Known], feature: int, place: int) -> Known:
    """The column of a feature, as if it were only that feature, at another position."""
    [owner] = [each for each in columns if feature in each.features] or [columns[0]]
    decode = owner.decode if len(owner.features) == 1 else lambda values: UNKNOWN
    return Known(owner.name, np.array([place]), decode)


def _joined(parts: list[Known]) -> Known:
    """One column with several paths: the first one gives what it held."""
    first = parts[0]
    if len(parts) == 1:
        return first
    features = np.concatenate([each.features for each in parts])

    def decode(values: Floats) -> Cell:
        return first.decode(values[: len(first.features)])

    return Known(first.name, features, decode)


def _regrouped(columns: list[Known], groups: list[tuple[NDArray[np.int64], Decode]]) -> list[Known]:
    """The columns after a step that turns each feature into a group.

    A column that was one feature is decoded by its group; for others the inverse is lost.
    """
    found = []
    for column in columns:
        those = [groups[j] for j in column.features.tolist()]
        if len(those) == 1:
            features, decode = those[0]
            if column.decode is not number:
                decode = _after(decode, column.decode)
            found.append(Known(column.name, features, decode))
        else:
            features = np.concatenate([each for each, _ in those])
            found.append(Known(column.name, features, lambda values: UNKNOWN))
    return [each for each in found if len(each.features)]


def _after(decode: Decode, before: Decode) -> Decode:
    """The inverse of a step, then of those before it, for a number."""

    def both(values: Floats) -> Cell:
        value = decode(values)
        return before(np.array([value])) if isinstance(value, float) else value

    return both


_FOLLOWED: dict[str, Callable[[Any, list[Known]], list[Known]]] = {
    "TableEncoder": _encoder,
    "Pipeline": _pipeline,
    "FunctionTransformer": lambda step, columns: columns if step.func is None else _opaque(step),
    "StandardScaler": _scaler,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "SimpleImputer": _imputer,
    "FeatureHasher": _hasher,
    "ColumnTransformer": _columns,
}
