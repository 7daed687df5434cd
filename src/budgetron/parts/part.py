"""The base of all parts: parameters by name, their ranges, and requirements on the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from budgetron.errors import BudgetronError, as_budgetron_error
from budgetron.parts.ranges import constraints, ranges_of

Spec = dict[str, Any]


@dataclass(frozen=True)
class Need:
    """A requirement of a part on its kernel.

    Parameters
    ----------
    quality : "definite", "isotropic" or "gaussian", a property of kernels (kernels.py)
    why : the reason, for a message
    what : the subject of the message, as "budget 'halve'"; empty in a class, filled in by `needs`
    """

    quality: str
    why: str
    what: str = ""


@dataclass(frozen=True)
class Part:
    """A part that the compiled core can build: a kind and its numbers."""

    kind: ClassVar[str]
    # The name of its family in messages: "budget".
    family: ClassVar[str] = ""
    # Its requirement on the kernel; None: all kernels work.
    need: ClassVar[Need | None] = None

    def spec(self) -> Spec:
        """The dict that the core builds the part from."""
        return {"kind": self.kind} | {
            name: _plain(value) for name, value in self.get_params(deep=False).items()
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` adds those of parts inside, as ``loss__tau``."""
        params = {field.name: getattr(self, field.name) for field in fields(self)}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Part):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """A part with these parameters changed; this one does not change."""
        changes = {name: value for name, value in params.items() if "__" not in name}
        for name in changes:
            self._check_has(name)
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, nested, key = name.partition("__")
            if nested:
                inner.setdefault(outer, {})[key] = value
        for name, parts_params in inner.items():
            self._check_has(name)
            part = changes.get(name, getattr(self, name))
            if not isinstance(part, Part):
                raise BudgetronError(
                    f"{name}={part!r} of {self!r} is not a part: it has no parameters"
                )
            changes[name] = part.set_params(**parts_params)
        return replace(self, **changes)

    def _check_has(self, name: str) -> None:
        names = [field.name for field in fields(self)]
        if name not in names:
            has = ", ".join(names) if names else "none"
            raise BudgetronError(f"{type(self).__name__} has no parameter {name!r}; it has {has}")

    def __sklearn_clone__(self) -> Self:
        return self  # immutable: a copy would be the same

    # ---- allowed parameters and kernels ----------------------------------------------------------

    def check(self) -> None:
        """Raise BudgetronError if a parameter, or one of a part inside, is out of its range."""
        from sklearn.utils._param_validation import validate_parameter_constraints

        params, name = self.get_params(deep=False), type(self).__name__
        ranges = {field.name: ranges_of(field) for field in fields(self) if ranges_of(field)}
        families = {key: each[0] for key, each in ranges.items() if isinstance(each[0], PartOf)}
        known = {key: constraints(each) for key, each in ranges.items() if key not in families}
        with as_budgetron_error():
            validate_parameter_constraints(known, params, caller_name=name)
        for key, value in params.items():
            if key in families and type(value) not in families[key].members:
                names = ", ".join(f"{part.__name__}()" for part in families[key].members)
                raise BudgetronError(f"{key}={value!r} of {name} must be one of {names}")
            if isinstance(value, Part):
                value.check()

    def check_together(self) -> None:
        """Raise BudgetronError if parameters, each within its range, do not fit together."""
        for value in self.get_params(deep=False).values():
            if isinstance(value, Part):
                value.check_together()

    def needs(self) -> Iterator[Need]:
        """Its requirements on the kernel, with the current parameters."""
        if self.need is not None:
            what = f"{self.family} {self.kind!r}" if self.family else self.kind
            yield replace(self.need, what=what)


@dataclass(frozen=True)
class PartOf:
    """The range of a parameter that is a part: a part of one of these classes."""

    members: tuple[type[Part], ...]


def family(base: type[Part]) -> tuple[type[Part], ...]:
    """The parts derived from `base`, in the order of their definition."""
    return tuple(base.__subclasses__())


def _plain(value: Any) -> Any:
    """A value as the core reads it: no NumPy numbers, no parts."""
    if isinstance(value, Part):
        return value.spec()
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value
