"""Completes docstrings: a class describes what it adds, its parents describe the rest.

In a class body the section Parameters describes what the class adds or changes, without the
default, which is beside the field. ``help`` shows every parameter of the class with its default, in
the words of its parents where the class has none; the class's own fields come first.

The section Attributes is made from the properties whose names end with an underscore, with their
docstrings, and from the Attributes sections of the class and its parents.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import Field, dataclass
from typing import Any, Self

HEADING = "Parameters\n----------\n"
ATTRIBUTES = "Attributes\n----------\n"
# Names of attribute types in the documentation; other types stay as written.
TYPES = {
    "Any": "array or sparse array",
    "Floats": "array",
    "NDArray[np.int64]": "array of int",
    "dict[Any, int]": "dict",
}
SECTION = re.compile(r"\n(?=\w+\n---+\n)")
ENTRY = re.compile(r"\n(?=\w)")


@dataclass
class Docstring:
    """A NumPy docstring in three parts.

    Parameters
    ----------
    head : all text before the parameters
    parameters : the lines of each entry by the names it begins with, as "beta, rho"
    sections : the sections after it
    """

    head: str
    parameters: dict[str, str]
    sections: list[str]

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """The parts of a docstring."""
        head, *sections = SECTION.split("\n" + inspect.cleandoc(text or ""))
        return cls(
            head.strip(),
            _entries(sections, HEADING),
            [section.strip() for section in sections if not section.startswith(HEADING)],
        )

    def __str__(self) -> str:
        parameters = HEADING + "\n".join(self.parameters.values())
        return "\n\n".join(filter(None, [self.head, parameters, *self.sections])) + "\n"


def _entries(sections: list[str], heading: str) -> dict[str, str]:
    """The entries of the section with this heading, by the names each begins with."""
    found = [section for section in sections if section.startswith(heading)]
    entries = ENTRY.split(found[0].removeprefix(heading).strip()) if found else []
    return {entry.split(" : ")[0]: entry for entry in entries}


def complete(cls: Any) -> None:
    """Give a class the docstring with all its parameters; without a docstring it inherits one."""
    if not vars(cls).get("__doc__"):
        return
    document = Docstring.parse(cls.__doc__)
    cls._said, cls._noted = document.parameters, _entries(document.sections, ATTRIBUTES)
    entries = document.parameters
    for parent in cls.__mro__[1:]:
        for names, entry in _said_by(parent).items():
            if names not in entries and all(hasattr(cls, name) for name in names.split(", ")):
                entries = {**entries, names: _without_default(entry)}
            elif "\n" not in entries.get(names, "\n") and "\n" in entry:
                meaning = entry.partition("\n")[2]  # the class gives only the values
                entries = {**entries, names: f"{entries[names]}\n{meaning}"}
    fields = [name for each in cls.__mro__ for name in inspect.get_annotations(each)]
    places = {name: place for place, name in reversed([*enumerate(fields)])}
    in_order = sorted(entries, key=lambda names: places.get(names.split(", ")[0], len(fields)))
    document.parameters = {names: _with_default(cls, names, entries[names]) for names in in_order}
    others = [section for section in document.sections if not section.startswith(ATTRIBUTES)]
    document.sections = [ATTRIBUTES + "\n".join(_attributes(cls).values()), *others]
    cls.__doc__ = str(document)


def _attributes(cls: Any) -> dict[str, str]:
    """The entries of a fitted model's attributes, the class's own first."""
    found: dict[str, str] = {}
    for each in cls.__mro__:
        for name, value in vars(each).items():
            public = name.endswith("_") and not name.startswith("_")
            if public and isinstance(value, property) and value.__doc__:
                found.setdefault(name, _attribute(name, value))
        for names, entry in _noted_by(each).items():
            found.setdefault(names, entry)
    if not hasattr(cls, cls._budget_name):
        found.pop("budget_", None)
    return found


def _attribute(name: str, value: property) -> str:
    """The entry of a property: its type and its docstring."""
    kind = str(getattr(value.fget, "__annotations__", {}).get("return", "Any"))
    text = inspect.cleandoc(value.__doc__ or "").replace("\n", "\n    ")
    lines = f"{name} : {TYPES.get(kind, kind).replace(' | ', ' or ')}\n    {text}"
    return "\n".join(line.rstrip() for line in lines.split("\n"))


def _said_by(cls: type) -> dict[str, str]:
    """The entries in the body of a class."""
    said: dict[str, str] | None = vars(cls).get("_said")
    return Docstring.parse(vars(cls).get("__doc__")).parameters if said is None else said


def _noted_by(cls: type) -> dict[str, str]:
    """The attributes in the docstring of the body of a class."""
    noted: dict[str, str] | None = vars(cls).get("_noted")
    if noted is None:
        return _entries(Docstring.parse(vars(cls).get("__doc__")).sections, ATTRIBUTES)
    return noted


def _without_default(entry: str) -> str:
    header, *text = entry.split("\n")
    return "\n".join([header.split(", default ")[0], *text])


def _with_default(cls: type, names: str, entry: str) -> str:
    header, *text = entry.split("\n")
    values = [_written(getattr(cls, name)) for name in names.split(", ") if hasattr(cls, name)]
    if values and ", default " not in header:
        header += f", default {' and '.join(values)}"
    return "\n".join([header, *text])


def _written(value: Any) -> str:
    value = value.default if isinstance(value, Field) else value  # the body of a dataclass to be
    return json.dumps(value) if isinstance(value, str) else repr(value)
