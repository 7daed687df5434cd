"""What a model file knows about the columns it learned, and the steps before its learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from budgetron._text import shown
from budgetron.cli._console import fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from budgetron.tables.encoding import Encoding
    from budgetron.tables.kinds import Column

FEW = 5  # categories listed
MOST = 60  # columns in the table


def taken_apart(path: str, model: Any, document: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The learner in a file, and the document that says how to read tables for it.

    A pipeline of a TableEncoder and a learner reads tables as `run --save` does; the command cannot
    know the rows of other pipelines.
    """
    if "river" in document:
        fail(f"{path}: a River model, whose rows are dicts: use budgetron.load in Python")
    steps = getattr(model, "steps", None)
    if steps is None:
        return model, document
    kinds = [type(each).__name__ for _, each in steps]
    if len(steps) != 2 or kinds[0] != "TableEncoder":
        what = f"a pipeline of {' and '.join(kinds[:-1])} before {kinds[-1]}"
        fail(f"{path}: {what}: files need a TableEncoder; use budgetron.load in Python")
    encoder, learner = steps[0][1], steps[1][1]
    if not hasattr(encoder, "_encoding"):
        fail(f"{path}: the model in it has not learned anything yet")
    table = {"encoding": encoder._encoding.to_dict()}
    return learner, {**document, "extra": {"table": table}}


def encoding_in(document: dict[str, Any]) -> Encoding | None:
    """The encoding of the table that a model learned from; None if the file has none."""
    from budgetron.streams.table.roles import Layout

    extra = document.get("extra")
    table = extra.get("table") if isinstance(extra, dict) else None
    return None if table is None else Layout.from_json(table).encoding


def label_in(document: dict[str, Any]) -> str | None:
    """The name of the label column, if the file has it."""
    extra = document.get("extra")
    table = extra.get("table") if isinstance(extra, dict) else None
    label = table.get("label") if isinstance(table, dict) else None
    name = label.get("name") if isinstance(label, dict) else label
    return name if isinstance(name, str) else None


def columns_in(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, kind and values of the columns that the file describes.

    They are the columns of the table that `run` learned, or of a pipeline's fitted encoders.
    """
    from budgetron.tables.encoding import Encoding

    own = encoding_in(document)
    found = [] if own is None else [_described(each) for each in own.columns]

    def look(written: Any) -> None:
        match written:
            case {"step": "TableEncoder", "encoding": dict(encoding)}:
                found.extend(map(_described, Encoding.from_dict(encoding).columns))
            case {"step": str(), "fitted": {"categories_": {"list": list(known)}}}:
                names = written["fitted"].get("feature_names_in_", {}).get("objects")
                names = names or [f"x{j}" for j in range(len(known))]
                for name, each in zip(names, known, strict=True):
                    found.append((shown(str(name)), "category", _categories(each)))
            case {"fitted": dict(inner)}:
                look(inner)
            case dict():
                look(list(written.values()))
            case list():
                for each in written:
                    look(each)

    look([document.get("pipeline"), document.get("river")])
    return found


def _categories(written: Any) -> str:
    """The categories of a column of scikit-learn's encoders; the header has no numbers."""
    listed = written.get("texts", written.get("objects")) if isinstance(written, dict) else None
    return "numbers" if listed is None else _few([_category(each) for each in listed])


def _category(written: Any) -> str:
    if written is None or isinstance(written, dict):
        return "?" if written is None or "float" in written else str(written.get("number"))
    return str(written)


def _few(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > FEW else ""
    return f"{len(names):,}: {', '.join(map(shown, names[:FEW]))}{more}"


def steps_in(document: dict[str, Any]) -> str | None:
    """The steps of a pipeline in one line; None if the file has no pipeline."""
    if "river" in document:
        river = document["river"]
        steps = [*river["encoders"], [river["learner"][0], {"model": True}]]
        return f"River: {_steps(steps, document['estimator'])}"
    pipeline = document.get("pipeline")
    return None if pipeline is None else _steps(pipeline["steps"], document["estimator"])


def _steps(steps: list[Any], last: str = "") -> str:
    return ", ".join(f"{shown(str(name))}: {_step(each, last)}" for name, each in steps)


def _step(written: Any, last: str) -> str:
    match written:
        case {"model": True}:
            return shown(str(last))
        case {"step": "Pipeline", "steps": list(steps)}:
            return f"({_steps(steps)})"
        case {"step": "ColumnTransformer", "params": {"transformers": {"list": list(parts)}}}:
            inner = [each["tuple"] for each in parts]
            return f"({'; '.join(f'{_columns(c)}: {_step(each, last)}' for _, each, c in inner)})"
        case {"step": str(name)}:
            return shown(name)
    return shown(str(written))


def _columns(written: Any) -> str:
    names = written.get("list", []) if isinstance(written, dict) else [written]
    more = ", ..." if len(names) > FEW else ""
    return ", ".join(shown(str(each)) for each in names[:FEW]) + more


def _described(column: Column) -> tuple[str, str, str]:
    """Name and kind of a column, and a remark."""
    name, coding = shown(column.name), column.coding
    if coding is None:
        return name, column.kind, f"left out: {shown(column.why)}" if column.why else "left out"
    found = coding.to_dict()
    if "categories" in found:
        return name, column.kind, _few(found["categories"])
    if "others" in found:
        return name, column.kind, f"{found['others']:,} buckets"
    if "parts" in found:
        return name, column.kind, ", ".join(found["parts"])
    return name, column.kind, "decimal comma" if found.get("decimal") == "," else ""
