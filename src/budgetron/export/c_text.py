"""Text of C: literals, arrays, comments, strings."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

WIDTH = 96


def literal(value: float, suffix: str = "") -> str:
    """A number as C has it, which comes back to the bit; of suffix "f" as float.

    >>> literal(0.1), literal(0.1, "f"), literal(3.0, "f")
    ('0.1', '0.1f', '3.0f')
    """
    number: Any = np.float32(value) if suffix == "f" else np.float64(value)
    if not np.isfinite(number):
        number = np.sign(number) * np.finfo(number.dtype).max
    text = np.format_float_scientific(number) if abs(number) >= 1e16 else _shortest(number)
    text = text.replace(".e", ".0e")
    return (text + "0" if text.endswith(".") else text) + suffix


def _shortest(number: Any) -> str:
    small = number != 0 and abs(number) < 1e-4
    return np.format_float_scientific(number) if small else np.format_float_positional(number)


def array(kind: str, declared: str, values: Any) -> str:
    """A constant array of one or two dimensions: `declared` is its name with its sizes."""
    values = np.asarray(values)
    suffix = "f" if kind == "float" else ""
    whole = values.dtype.kind in "iu"

    def row(numbers: Any) -> str:
        return ", ".join(str(int(n)) if whole else literal(n, suffix) for n in numbers)

    def wrapped(text: str) -> list[str]:
        return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")

    lines = []
    if values.ndim == 1:
        lines = wrapped(row(values))
    else:
        for number, each in enumerate(values):
            end = "," if number < len(values) - 1 else ""
            lines += wrapped(f"{{{row(each)}}}{end}")
    return "\n".join([f"static const {kind} {declared} = {{", *lines, "};"])


def comment(text: str) -> str:
    """A comment; what is in it cannot end it."""
    safe = text.replace("\\", "|").replace("*/", "* /").replace("/*", "/ *").replace("?", ".")
    safe = "".join(c if c == "\n" or 32 <= ord(c) < 127 else "_" for c in safe)
    lines = [
        part
        for line in safe.strip().split("\n")
        for part in (textwrap.wrap(line, WIDTH, drop_whitespace=False) or [""])
    ]
    return "/* " + "\n   ".join(line.rstrip() for line in lines) + " */"


def quoted(text: str) -> str:
    r"""A string literal of the text in UTF-8, in ASCII characters.

    >>> print(quoted('a "b"?'), quoted("Köln"))
    "a \"b\"\?" "K\303\266ln"
    """
    made = []
    for byte in text.encode():
        char = chr(byte)
        plain = 32 <= byte < 127 and char not in '"\\?@'
        made.append(char if plain else f"\\{char}" if char in '"\\?' else f"\\{byte:03o}")
    return '"' + "".join(made) + '"'
