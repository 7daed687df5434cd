"""Docstrings that are completed: a class says what is its own, its parents say the rest.

In a class body the section Parameters describes what the class adds or sees otherwise, without the
default, which stands beside the field. What ``help`` shows has every parameter of the class, where
it says nothing in the words of its parents, with its default, the fields of the class itself first.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import Field, dataclass
from typing import Any, Self

HEADING = "Parameters\n----------\n"
SECTION = re.compile(r"\n(?=\w+\n---+\n)")
ENTRY = re.compile(r"\n(?=\w)")


@dataclass
class Docstring:
    """A NumPy docstring in three.

    Parameters
    ----------
    head : all before the parameters
    parameters : the lines of each entry by the names it begins with, as "beta, rho"
    sections : the sections that follow
    """

    head: str
    parameters: dict[str, str]
    sections: list[str]

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """The parts of a docstring."""
        head, *sections = SECTION.split("\n" + inspect.cleandoc(text or ""))
        found = [section for section in sections if section.startswith(HEADING)]
        entries = ENTRY.split(found[0].removeprefix(HEADING).strip()) if found else []
        return cls(
            head.strip(),
            {entry.split(" : ")[0]: entry for entry in entries},
            [section.strip() for section in sections if section not in found],
        )

    def __str__(self) -> str:
        parameters = HEADING + "\n".join(self.parameters.values())
        return "\n\n".join(filter(None, [self.head, parameters, *self.sections])) + "\n"


def complete(cls: Any) -> None:
    """Give a class the docstring with all its parameters; one without a docstring inherits it."""
    if not vars(cls).get("__doc__"):
        return
    document = Docstring.parse(cls.__doc__)
    cls._said = entries = document.parameters
    for parent in cls.__mro__[1:]:
        for names, entry in _said_by(parent).items():
            if names not in entries and all(hasattr(cls, name) for name in names.split(", ")):
                entries = {**entries, names: _without_default(entry)}
    fields = [name for each in cls.__mro__ for name in inspect.get_annotations(each)]
    places = {name: place for place, name in reversed([*enumerate(fields)])}
    in_order = sorted(entries, key=lambda names: places.get(names.split(", ")[0], len(fields)))
    document.parameters = {names: _with_default(cls, names, entries[names]) for names in in_order}
    cls.__doc__ = str(document)


def _said_by(cls: type) -> dict[str, str]:
    """The entries in the body of a class."""
    said: dict[str, str] | None = vars(cls).get("_said")
    return Docstring.parse(vars(cls).get("__doc__")).parameters if said is None else said


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
