"""Parameters of estimators: fields with a default and their allowed values.

Most belong to a part: ``ridge: float = of(Halve, "ridge")`` takes default and ranges from there.
Others state their own, ``rule: str = parameter("bounded", OneOf("bounded", "aggressive"))``.
scikit-learn's validation uses these fields.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar

from budgetron.parts import Part
from budgetron.parts.ranges import constraints, parameter, ranges_of

BYTES = str  # a budget in bytes is text, as "256KB" (sizes.py)


def of(part: type[Part], name: str, *also: Any, default: Any = MISSING) -> Any:
    """A field with the default and the ranges of a part's parameter.

    Parameters
    ----------
    part, name : the part, and the name of its parameter
    *also : further ranges
    default : replaces the part's default
    """
    found = {field.name: field for field in fields(part)}[name]
    given = found.default if default is MISSING else default
    return parameter(given, *ranges_of(found), *also)


class Parameters:
    """Something whose fields have ranges, its own and those of its parents."""

    _stated: ClassVar[dict[str, list[Any]]] = {}  # in the body of the class
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._stated = vars(cls).get("_parameter_constraints", {}) | {
            name: constraints(ranges_of(value))
            for name, value in vars(cls).items()
            if isinstance(value, Field) and ranges_of(value)
        }
        cls._parameter_constraints = {
            name: stated
            for parent in reversed(cls.__mro__)
            for name, stated in vars(parent).get("_stated", {}).items()
        }
