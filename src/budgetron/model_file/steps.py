"""The steps of a pipeline as data, and back: scikit-learn's plain transformers and TableEncoder.

For each transformer its class, parameters and fitted attributes are written, attribute by attribute
(plain.py); no other class and no other attribute is read. All is checked before it is used:
scikit-learn trusts its own attributes, for example that categories are sorted or that an index is
below a width, and would give wrong results silently.
"""

from __future__ import annotations

from collections import Counter, UserList
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.estimators.table_encoder import TableEncoder
from budgetron.model_file.limits import Arrays
from budgetron.model_file.plain import Reader, Writer

Document = dict[str, Any]
KEPT = (
    "TableEncoder, StandardScaler, OneHotEncoder, OrdinalEncoder, SimpleImputer, FeatureHasher, "
    "'passthrough' and 'drop', also in a ColumnTransformer or a Pipeline"
)
_MOST_JOBS = 256  # most processes that a file may ask for
_WORDS = ("passthrough", "drop")
_OUTPUT = "_sklearn_output_config"
_ALWAYS = ("n_features_in_", "feature_names_in_", _OUTPUT)
_RARE = ("_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings")


class Kept(NamedTuple):
    """What is written about a transformer.

    `attributes` are those that fitting sets; `check` refuses values that are not valid.
    """

    kind: type
    attributes: tuple[str, ...]
    check: Callable[[Any, int], None]


@cache
def _kept() -> dict[str, Kept]:
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.preprocessing import (
        FunctionTransformer,
        OneHotEncoder,
        OrdinalEncoder,
        StandardScaler,
    )

    found = (
        Kept(StandardScaler, ("n_samples_seen_", "mean_", "var_", "scale_"), _check_scaler),
        Kept(
            OneHotEncoder,
            ("categories_", "drop_idx_", "_drop_idx_after_grouping", "_n_features_outs", *_RARE),
            _check_one_hot,
        ),
        Kept(OrdinalEncoder, ("categories_", "_missing_indices", *_RARE), _check_ordinal),
        Kept(
            SimpleImputer,
            ("statistics_", "indicator_", "_fit_dtype", "_fill_dtype"),
            _check_imputer,
        ),
        Kept(MissingIndicator, ("features_", "_n_features", "_precomputed"), _check_indicator),
        Kept(FeatureHasher, (), _nothing),
        Kept(FunctionTransformer, (), _check_identity),  # "passthrough", fitted
        Kept(
            ColumnTransformer,
            (
                "transformers_",
                "_columns",
                "_transformer_to_input_indices",
                "_remainder",
                "_n_features",
                "_transformers_feature_names_out",
                "sparse_output_",
                "output_indices_",
            ),
            _check_columns,
        ),
    )
    return {each.kind.__name__: each for each in found}


def is_pipeline(model: Any) -> bool:
    """Whether it is a scikit-learn Pipeline."""
    from sklearn.pipeline import Pipeline

    return type(model) is Pipeline


# ---- to data -------------------------------------------------------------------------------------


def describe_pipeline(pipeline: Any) -> tuple[Document, Arrays]:
    """The steps of a pipeline, without the content of the last; TypeError if they are not data."""
    writing = _Writing()
    *before, (last, _) = pipeline.steps
    steps = [[str(name), writing.named(str(name), each)] for name, each in before]
    return {"steps": [*steps, [str(last), {"model": True}]], **_options(pipeline)}, writing.arrays


def _options(pipeline: Any) -> Document:
    if pipeline.memory is not None:
        raise TypeError("a pipeline with memory cannot be kept: set memory=None")
    inputs = getattr(pipeline, "transform_input", None)
    return {
        "verbose": bool(pipeline.verbose),
        **({} if inputs is None else {"transform_input": [str(each) for each in inputs]}),
    }


class _Writing(Writer):
    """Writes steps, and knows the path to the current one."""

    def __init__(self) -> None:
        super().__init__(self._step)
        self._way: list[str] = []
        self._within = ""  # and to the parameter

    def write(self, value: Any) -> Any:
        if isinstance(value, UserList):  # the columns of the remainder in scikit-learn 1.6
            value = list(value.data)
        return super().write(value)

    def named(self, name: str, step: Any) -> Any:
        self._way.append(name)
        written = self._step(step)
        self._way.pop()
        return written

    def _step(self, step: Any) -> Any:
        if step is None or (isinstance(step, str) and step in _WORDS):
            return step
        kind = type(step)
        if kind is TableEncoder:
            return {"step": "TableEncoder", **self._table_encoder(step)}
        if is_pipeline(step):
            steps = [[str(name), self.named(str(name), each)] for name, each in step.steps]
            return {"step": "Pipeline", "steps": steps, **_options(step)}
        kept = _kept().get(kind.__name__)
        if kept is None or kept.kind is not kind:
            self._refuse(_called(step))
        if kind.__name__ == "FunctionTransformer" and not _is_identity(step):
            self._refuse("FunctionTransformer")
        params = step.get_params(deep=False)
        return {
            "step": kind.__name__,
            "params": {name: self._parameter(kind, name, params[name]) for name in params},
            "fitted": self._fitted(step, kept, params),
        }

    def _parameter(self, kind: type, name: str, value: Any) -> Any:
        if kind.__name__ == "ColumnTransformer" and name == "transformers":
            return {"list": [{"tuple": self._of_columns(*each)} for each in value]}
        self._within = f", parameter {name}"
        written = self.write(value)
        self._within = ""
        return written

    def _of_columns(self, name: str, step: Any, columns: Any) -> list[Any]:
        if callable(columns):
            what = f"step {'/'.join(self._way)}: the columns of {name!r} are chosen by"
            raise TypeError(f"{what} {_called(columns)}, which is not data: list their names")
        return [str(name), self.named(str(name), step), self.write(columns)]

    def _fitted(self, step: Any, kept: Kept, params: Document) -> Document:
        found = {}
        for name, value in sorted(vars(step).items()):
            if name in params:
                continue
            if name not in kept.attributes and name not in _ALWAYS:
                self._refuse(f"{kept.kind.__name__} with {name}")
            if name == "transformers_":
                found[name] = {"list": [{"tuple": self._of_columns(*each)} for each in value]}
            else:
                found[name] = self.write(value)
        return found

    def _table_encoder(self, encoder: TableEncoder) -> Document:
        params = self.write(encoder.get_params())
        if not hasattr(encoder, "_names"):
            return {"params": params, "encoding": None}
        if not hasattr(encoder, "_encoding"):
            what = f"step {'/'.join(self._way)}: the TableEncoder has not seen all the rows it"
            raise TypeError(f"{what} infers columns from: give it more by partial_fit")
        unparsed = {name: int(count) for name, count in encoder.unparsed_.items()}
        return {"params": params, "encoding": encoder.to_dict(), "unparsed": unparsed}

    def _refuse(self, what: str) -> NoReturn:
        where = f"step {'/'.join(self._way)}{self._within}"
        raise TypeError(f"{where}: {what} cannot be kept as data; a model file holds {KEPT}")


def _called(value: Any) -> str:
    """A name for something that cannot be written."""
    own = getattr(value, "__name__", None)
    if callable(value) and isinstance(own, str):
        return f"the function {own}"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return type(value).__name__


def _is_identity(step: Any) -> bool:
    return all(getattr(step, name) is None for name in ("func", "inverse_func", "kw_args"))


# ---- and back ------------------------------------------------------------------------------------


def restore_pipeline(written: Document, arrays: Arrays, model: Any) -> Any:
    """The pipeline whose last step is the model; any exception if there is none."""
    from sklearn.pipeline import Pipeline

    reading = _Reading(arrays)
    *before, (last, mark) = written["steps"]
    if mark != {"model": True}:
        raise BudgetronError("the last step of the pipeline is not the model")
    steps = [(_text(name), reading.read(each)) for name, each in before]
    reading.check_all_read()
    pipeline = Pipeline([*steps, (_text(last), model)], **_read_options(written))
    pipeline._validate_steps()
    return pipeline


def _read_options(written: Document) -> Document:
    inputs = written.get("transform_input")
    if inputs is not None and not _are(inputs, str):
        raise BudgetronError("transform_input are not names")
    return {
        "verbose": bool(written["verbose"]),
        **({} if inputs is None else {"transform_input": inputs}),
    }


class _Reading(Reader):
    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays, self._step)

    def _step(self, written: Any) -> Any:
        from sklearn.pipeline import Pipeline

        name = written.get("step") if isinstance(written, dict) else None
        if name == "TableEncoder":
            return self._table_encoder(written)
        if name == "Pipeline":
            steps = [(_text(each), self.read(step)) for each, step in written["steps"]]
            pipeline = Pipeline(steps, **_read_options(written))
            pipeline._validate_steps()
            return pipeline
        kept = _kept().get(name) if isinstance(name, str) else None
        if kept is None:
            raise BudgetronError("a step has an unknown kind")
        given = {_text(key): self.read(each) for key, each in written["params"].items()}
        step = kept.kind(**given)
        step._validate_params()
        _check_parameters(step)
        fitted = {key: self.read(each) for key, each in written["fitted"].items()}
        for key, value in fitted.items():
            if key not in kept.attributes and key not in _ALWAYS:
                raise BudgetronError(f"{name} has no {key!r:.40}")
            setattr(step, key, value)
        if fitted.keys() - {_OUTPUT}:
            kept.check(step, _width(step))
        return step

    def _table_encoder(self, written: Document) -> TableEncoder:
        params = self.read(written["params"])
        if written["encoding"] is None:
            encoder = TableEncoder(**params)
            encoder._validate_params()
            return encoder
        encoder = TableEncoder.from_dict(written["encoding"])
        encoder.set_params(**params)
        encoder._wishes()
        unparsed = written["unparsed"]
        if not isinstance(unparsed, dict) or not _are(list(unparsed.values()), int):
            raise BudgetronError("what the table encoder could not read was not counted")
        encoder._unread = Counter(unparsed)
        return encoder


def _require(sound: bool, what: str) -> None:
    if not sound:
        raise BudgetronError(f"{what} are not valid")


def _text(value: Any) -> str:
    _require(isinstance(value, str), "names of steps")
    return str(value)


def _are(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(each) is kind for each in values)


def _check_parameters(step: Any) -> None:
    """Check what scikit-learn looks at only when it uses a parameter, or never."""
    dtype = getattr(step, "dtype", float)
    _require(isinstance(dtype, type | np.dtype | str), "types of numbers")
    _require(np.dtype(dtype).kind in "biuf", "types of numbers")
    jobs = getattr(step, "n_jobs", None)
    _require(jobs is None or abs(jobs) <= _MOST_JOBS, "numbers of processes")
    for _, inner, _ in getattr(step, "transformers", ()):
        _check_transforms(inner)
    _check_transforms(getattr(step, "remainder", "drop"))


def _check_transforms(step: Any) -> None:
    known = hasattr(step, "transform") or hasattr(step, "steps")
    _require(known or (isinstance(step, str) and step in _WORDS), "steps")


def _width(step: Any) -> int:
    """The number of features of a fitted step; checks that it has as many names."""
    config = getattr(step, _OUTPUT, {})
    _require(isinstance(config, dict) and set(config) <= {"transform"}, "settings of output")
    _require(set(config.values()) <= {"default", "pandas", "polars", None}, "settings of output")
    width = step.n_features_in_
    _require(type(width) is int and 0 < width < 2**31, "widths of steps")
    names = getattr(step, "feature_names_in_", None)
    if names is not None:
        sound = isinstance(names, np.ndarray) and names.shape == (width,)
        _require(sound and all(type(each) is str for each in names.tolist()), "names of features")
    return int(width)


# ---- checks of fitted attributes -----------------------------------------------------------------


def _nothing(step: Any, width: int) -> None:
    pass


def _check_identity(step: Any, width: int) -> None:
    _require(_is_identity(step) and step.inv_kw_args is None, "functions")


def _numbers(array: Any, *shape: int) -> bool:
    return isinstance(array, np.ndarray) and array.shape == shape and array.dtype.kind in "biuf"


def _check_scaler(step: Any, width: int) -> None:
    needed = {"mean_": step.with_mean, "var_": step.with_std, "scale_": step.with_std}
    for name, must in needed.items():
        value = getattr(step, name)
        _require((value is None and not must) or _numbers(value, width), "means and deviations")
    seen = step.n_samples_seen_
    one = isinstance(seen, int | np.number) and float(seen) >= 0
    _require(one or _numbers(seen, width), "numbers of rows")


def _check_categories(step: Any, width: int) -> None:
    _require(isinstance(step.categories_, list) and len(step.categories_) == width, "categories")
    for each in step.categories_:
        _require(isinstance(each, np.ndarray) and each.ndim == 1 and len(each) > 0, "categories")
        if each.dtype.kind in "biuf":  # they are searched
            last = len(each) - int(each.dtype.kind == "f" and np.isnan(each[-1]))
            _require(bool((each[: last - 1] < each[1:last]).all()), "categories")
            _require(each.dtype.kind != "f" or not np.isnan(each[:last]).any(), "categories")
        elif each.dtype == object:
            plain = (str, bool, int, float, type(None), np.generic)
            _require(all(isinstance(value, plain) for value in each), "categories")
        else:
            _require(each.dtype.kind == "U", "categories")
    _require(type(step._infrequent_enabled) is bool, "rare categories")
    if not step._infrequent_enabled:
        return
    rare, mappings = step._infrequent_indices, step._default_to_infrequent_mappings
    _require(isinstance(rare, list) and len(rare) == width, "rare categories")
    _require(isinstance(mappings, list) and len(mappings) == width, "rare categories")
    for those, mapping, known in zip(rare, mappings, step.categories_, strict=True):
        if those is None:
            _require(mapping is None, "rare categories")
            continue
        _require(_below(those, len(known)) and _numbers(mapping, len(known)), "rare categories")
        common = np.setdiff1d(np.arange(len(known)), those)
        wanted = np.full(len(known), len(common))
        wanted[common] = np.arange(len(common))
        _require(mapping.dtype.kind == "i" and np.array_equal(mapping, wanted), "rare categories")


def _below(places: Any, size: int) -> bool:
    """Whether these are distinct positions in something of this size."""
    return (
        isinstance(places, np.ndarray)
        and places.ndim == 1
        and places.dtype.kind == "i"
        and len(np.unique(places)) == len(places)
        and bool(((places >= 0) & (places < size)).all())
    )


def _check_one_hot(step: Any, width: int) -> None:
    _check_categories(step, width)
    sizes = [
        len(known) - (0 if rare is None else len(rare) - 1)
        for known, rare in zip(step.categories_, _rare(step, width), strict=True)
    ]
    for name, most in (
        ("drop_idx_", [len(known) for known in step.categories_]),
        ("_drop_idx_after_grouping", sizes),
    ):
        dropped = getattr(step, name)
        if dropped is None:
            continue
        sound = isinstance(dropped, np.ndarray) and dropped.shape == (width,)
        _require(sound, "dropped categories")
        for each, size in zip(dropped.tolist(), most, strict=True):
            _require(each is None or (type(each) is int and 0 <= each < size), "dropped categories")
    both = (step.drop_idx_ is None, step._drop_idx_after_grouping is None)
    _require(both[0] == both[1], "dropped categories")
    if not both[1]:
        sizes = [
            size - (each is not None)
            for size, each in zip(sizes, step._drop_idx_after_grouping.tolist(), strict=True)
        ]
    _require([int(each) for each in step._n_features_outs] == sizes, "numbers of categories")


def _rare(step: Any, width: int) -> list[Any]:
    rare: list[Any] = step._infrequent_indices if step._infrequent_enabled else [None] * width
    return rare


def _check_ordinal(step: Any, width: int) -> None:
    _check_categories(step, width)
    for name, place in step._missing_indices.items():
        sound = type(name) is int and 0 <= name < width and isinstance(place, int | np.integer)
        _require(sound and 0 <= place < len(step.categories_[name]), "places of gaps")


def _check_imputer(step: Any, width: int) -> None:
    statistics = step.statistics_
    sound = isinstance(statistics, np.ndarray) and statistics.shape == (width,)
    _require(sound and statistics.dtype.kind in "biufUO", "fillings")
    plain = (str, bool, int, float, type(None), np.generic)
    _require(all(isinstance(each, plain) for each in statistics.tolist()), "fillings")
    # Which of them there are depends on scikit-learn's version.
    fitted = vars(_kept()["SimpleImputer"].kind().fit([[0.0]]))
    for name in {"_fit_dtype", "_fill_dtype"} & fitted.keys():
        _require(isinstance(getattr(step, name, None), np.dtype), "types of numbers")
    indicator = step.indicator_
    _require(
        indicator is None or type(indicator) is _kept()["MissingIndicator"].kind, "flags of gaps"
    )
    _require((indicator is None) == (not step.add_indicator), "flags of gaps")
    _require(indicator is None or indicator._n_features == width, "flags of gaps")


def _check_indicator(step: Any, width: int) -> None:
    _require(type(step._n_features) is int and _below(step.features_, step._n_features), "flags")
    _require(type(step._precomputed) is bool, "flags of gaps")


def _check_columns(step: Any, width: int) -> None:
    names = [_text(name) for name, _, _ in step.transformers]
    found = [_text(name) for name, _, _ in step.transformers_]
    _require(set(found) <= {*names, "remainder"} and len(set(found)) == len(found), "steps")
    inputs = step._transformer_to_input_indices
    _require(isinstance(inputs, dict) and set(inputs) == {*names, "remainder"}, "columns")
    for places in inputs.values():
        _require(isinstance(places, list), "columns")
        whole = all(type(each) is int or isinstance(each, np.integer) for each in places)
        _require(whole and all(0 <= each < width for each in places), "columns")
    _require(isinstance(step._columns, list) and len(step._columns) == len(names), "columns")
    _require(isinstance(step._remainder, tuple) and len(step._remainder) == 3, "columns")
    _require(type(step.sparse_output_) is bool, "columns")
    out = getattr(step, "_transformers_feature_names_out", np.empty(0, object))
    _require(isinstance(out, np.ndarray) and out.ndim == 1, "names of features")
    _require(all(isinstance(each, str) for each in out.tolist()), "names of features")
    for name, each in step.output_indices_.items():
        sound = name in inputs and type(each) is slice
        _require(sound and type(each.start) is type(each.stop) is int, "places of columns")
    for _, inner, _ in step.transformers_:
        _check_transforms(inner)
