"""Checks that two learners, or two answers, are equal to the bit; else where they differ first."""

from __future__ import annotations

from typing import Any

import numpy as np

import budgetron
from budgetron.model_file import to_bytes

State = dict[str, Any]
Names = tuple[str, str]


class ContractBroken(AssertionError):
    """A learner breaks one of the contracts; the text says which, where and with what."""


def learned_by(model: Any) -> State:
    """All that a learner knows: compiled state, attributes and file of a learner of this library.

    For any other learner the public attributes that learning sets (`coef_`), if they are numbers,
    text or arrays of them.
    """
    if hasattr(model, "_engine"):
        attributes = {name: getattr(model, name) for name in model._fitted if hasattr(model, name)}
        state = {**model._engine.native.save(), **attributes}
        if can_be_saved(model):  # last: a name says more than a place in a file
            state["the model file"] = np.frombuffer(to_bytes(model), dtype=np.uint8)
        return state
    kinds = (np.ndarray, np.generic, int, float, str, list, tuple)
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and isinstance(value, kinds)
    }


def can_be_saved(model: Any) -> bool:
    """Whether it is one of this library's own learners, not derived from one."""
    return getattr(budgetron, type(model).__name__, None) is type(model)


def same_values(one: State, other: State, names: Names) -> None:
    """Raise ContractBroken where two states differ, with the names of the two."""
    if one.keys() != other.keys():
        alone = min(one.keys() ^ other.keys())
        raise ContractBroken(f"{alone} is there {names[alone not in one]} only")
    for name, value in one.items():
        a, b = np.asarray(value), np.asarray(other[name])
        _same_form(f"{name} has", a, b, names)
        differ = _different(a, b)
        if differ.any():
            at = tuple(int(i) for i in np.argwhere(differ)[0])
            where = f"{name}{list(at)}" if at else name
            raise ContractBroken(
                f"{where} is {_shown(a[at])} {names[0]}, {_shown(b[at])} {names[1]}"
            )


def same_rows(one: Any, other: Any, names: Names) -> None:
    """Raise ContractBroken at the first row whose answers differ, with the names of the two."""
    a, b = np.asarray(one), np.asarray(other)
    _same_form("answers have", a, b, names)
    differ = _different(a, b).reshape(len(a), -1).any(axis=1)
    if differ.any():
        row = int(differ.argmax())
        raise ContractBroken(
            f"the answer to row {row} is {_shown(a[row])} {names[0]}, {_shown(b[row])} {names[1]}"
        )


def all_finite(answers: Any, what: str) -> None:
    """Raise ContractBroken at the first row whose answer is NaN or infinite."""
    values = np.asarray(answers)
    if values.dtype.kind != "f":
        return
    wrong = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ContractBroken(f"{what}: the answer to row {row} is {_shown(values[row])}")


def _shown(value: Any) -> str:
    return repr(np.asarray(value).tolist())


def _same_form(whose: str, a: Any, b: Any, names: Names) -> None:
    """Raise ContractBroken if shape or dtype differ; text may be of another length."""
    if a.shape != b.shape:
        raise ContractBroken(f"{whose} the shape {a.shape} {names[0]}, {b.shape} {names[1]}")
    if a.dtype != b.dtype and not a.dtype.kind == b.dtype.kind == "U":
        raise ContractBroken(f"{whose} the dtype {a.dtype} {names[0]}, {b.dtype} {names[1]}")


def _different(a: Any, b: Any) -> Any:
    """Where two arrays of one shape differ: to the bit (0.0 is not -0.0), but NaN equals NaN."""
    if a.dtype.kind != "f":
        return np.asarray(a != b)
    return ~(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))
