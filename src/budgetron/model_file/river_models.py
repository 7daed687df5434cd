"""River models as data, and back: a learner of `budgetron.river`, alone or after its TableEncoder.

The learner's estimator is the document itself; `river` has what River's side adds: the given
parameters, the numbers of the feature names, and the encoding of the encoder, with the rows it is
waiting on while that is provisional.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NoReturn

from budgetron.errors import BudgetronError
from budgetron.model_file.limits import Arrays
from budgetron.model_file.plain import Reader, Writer
from budgetron.model_file.values import decode, encode
from budgetron.tables.cells import KnownCells
from budgetron.tables.encoding import Encoding

Document = dict[str, Any]
_OURS = "budgetron.river"


def is_river(model: Any) -> bool:
    """Whether it is a model of `budgetron.river`, or a pipeline of River."""
    module, name = type(model).__module__, type(model).__name__
    return module == _OURS or (module.startswith("river.compose.") and name == "Pipeline")


def estimator_in(model: Any) -> Any:
    """The estimator in a River model or at the end of a pipeline; TypeError if it is not ours."""
    steps = _steps_of(model)
    *before, (name, last) = steps
    for each, step in before:
        if type(step).__module__ != _OURS or type(step).__name__ != "TableEncoder":
            what = f"step {each}: {type(step).__name__} of River cannot be kept as data"
            raise TypeError(f"{what}; a model file holds TableEncoder of {_OURS} before a learner")
    if type(last).__module__ != _OURS or not hasattr(last, "estimator"):
        raise TypeError(f"step {name}: {type(last).__name__} is not a learner of {_OURS}")
    return last.estimator


def _steps_of(model: Any) -> list[tuple[str, Any]]:
    steps = getattr(model, "steps", None)
    return [(type(model).__name__, model)] if steps is None else list(steps.items())


# ---- to data -------------------------------------------------------------------------------------


def describe_river(model: Any) -> tuple[Document, Arrays]:
    """What River's side of a model adds to its estimator's document; TypeError if not data."""
    writer = Writer(_refuse)
    *before, (name, learner) = _steps_of(model)
    return {
        "pipeline": hasattr(model, "steps"),
        "encoders": [[str(each), _encoder(step, writer)] for each, step in before],
        "learner": [str(name), _learner(learner, writer)],
    }, writer.arrays


def _refuse(value: Any) -> NoReturn:
    raise TypeError(f"{type(value).__name__} cannot be kept as data in a row or a feature's name")


def _learner(model: Any, writer: Writer) -> Document:
    given = {name: getattr(model, name) for name in (*model._shared(), *sorted(model._own))}
    classes = given.pop("classes", None)
    return {
        "params": {name: encode(value) for name, value in given.items()},
        "classes": None if classes is None else writer.write(list(classes)),
        "names": [[writer.write(name), number] for name, number in model._names.items()],
    }


def _encoder(step: Any, writer: Writer) -> Document:
    encoding = step._encoding
    return {
        "step": "TableEncoder",
        "params": {name: writer.write(getattr(step, name)) for name in step._parameters},
        "encoding": None if encoding is None else encoding.to_dict(),
        "fixed": step._fixed,
        "rows": _waiting(step, writer),
        "unparsed": dict(step.unparsed_),
    }


def _waiting(step: Any, writer: Writer) -> list[Any]:
    """The rows from which the columns are not inferred yet."""
    try:
        return [writer.write(row) for row in step._rows]
    except TypeError as error:
        seen = f"{len(step._rows):,} of {step.infer_rows:,} rows"
        what = f"the TableEncoder has seen {seen} and waits on them; {error}"
        raise TypeError(f"{what}: save it when it has seen all, or lower infer_rows") from None


# ---- and back ------------------------------------------------------------------------------------


def restore_river(written: Document, arrays: Arrays, estimator: Any) -> Any:
    """The River model with this estimator inside; any exception if there is none."""
    from river import compose

    import budgetron.river

    reader = Reader(arrays, _nothing)
    name, learner = written["learner"]
    kind = getattr(budgetron.river, type(estimator).__name__)
    model = _restored_learner(kind, learner, estimator, reader)
    encoders = [(each, _restored_encoder(step, reader)) for each, step in written["encoders"]]
    reader.check_all_read()
    if not written["pipeline"]:
        if encoders:
            raise BudgetronError("a model without a pipeline has steps before it")
        return model
    names = [*(each for each, _ in encoders), name]
    if not all(isinstance(each, str) for each in names) or len(set(names)) < len(names):
        raise BudgetronError("names of steps are not valid")
    return compose.Pipeline(*encoders, (name, model))


def _nothing(written: Any) -> NoReturn:
    raise BudgetronError("a value has an unknown kind")


def _restored_learner(kind: Any, written: Document, estimator: Any, reader: Reader) -> Any:
    given = {name: decode(value) for name, value in written["params"].items()}
    if "classes" in kind._own:
        given["classes"] = reader.read(written["classes"])
    model = kind(**given)
    names = {reader.read(name): number for name, number in written["names"]}
    numbers = sorted(names.values())
    most, largest = model._names.most, model._names.largest
    sound = all(type(each) is int and 0 <= each < largest for each in numbers)
    if not model._names.hashed:
        sound &= numbers == list(range(len(numbers)))
    learned = hasattr(estimator, "_engine")
    if not sound or (most is not None and len(names) > most) or (names and not learned):
        raise BudgetronError("the numbers of the features are not valid")
    if learned and not model._names.hashed and len(names) > estimator.n_features_in_:
        raise BudgetronError("there are more names than features")
    model._estimator = estimator
    model._names.update(names)
    if learned and hasattr(estimator, "classes_"):
        model._labels = estimator.classes_.tolist()
    return model


def _restored_encoder(written: Document, reader: Reader) -> Any:
    import budgetron.river

    params = {name: reader.read(value) for name, value in written["params"].items()}
    step = budgetron.river.TableEncoder(**params)
    found, rows = written["encoding"], [reader.read(row) for row in written["rows"]]
    fixed, unparsed = written["fixed"], written["unparsed"]
    sound = (
        type(fixed) is bool
        and all(isinstance(row, dict) for row in rows)
        and (not rows if fixed else len(rows) < step.infer_rows)
        and (not fixed or found is not None)
        and isinstance(unparsed, dict)
        and all(type(each) is int for each in unparsed.values())
    )
    if not sound:
        raise BudgetronError("its description of the table encoder is not valid")
    step._encoding = None if found is None else Encoding.from_dict(found)
    step._cells = None if step._encoding is None else KnownCells(step._encoding)
    step._fixed, step._rows, step._unread = fixed, rows, Counter(unparsed)
    return step
