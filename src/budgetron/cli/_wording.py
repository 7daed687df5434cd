"""Translates scikit-learn's messages about values or rows to words of the command line.

scikit-learn checks the parameters of an estimator and names Python types. A user of the command
line types whole numbers, numbers, words and sizes. Types that cannot be typed there (objects,
dictionaries) are dropped from the message.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"The '(\w+)' parameter of \w+ must be (.+)\. Got (.+) instead\.", re.DOTALL)
_WIDTH = re.compile(r"X has (\d+) features, but \w+ is expecting (\d+) features as input\.?")
_CHOICE = re.compile(
    r"an? (?P<number>int|float) in the range "
    r"(?P<open>[\[(])(?P<least>\S+), (?P<most>\S+?)(?P<end>[\])])"
    r"|a str among \{(?P<words>[^}]*)\}"
    r"|a multiple as '(?P<multiple>[^']*)'"
    r"|an instance of '(?P<type>[\w.]+)'"
    r"|(?P<none>\bNone\b)"
)


def in_plain_words(message: str) -> str:
    """Replace a sentence of scikit-learn in a message by plain words.

    >>> in_plain_words(
    ...     "The 'budget' parameter of OGDClassifier must be an int in the range [1, 99] or an "
    ...     "instance of 'str'. Got 0 instead."
    ... )
    'budget must be a whole number, at least 1 and at most 99, or a size as 256KB, not 0'
    >>> in_plain_words("a.csv: has no rows")
    'a.csv: has no rows'
    """
    message = _WIDTH.sub(r"has \1 features, but the model has \2", message)
    return _SENTENCE.sub(_sentence, message)


def _sentence(found: re.Match[str]) -> str:
    name, choices, value = found.groups()
    said = [text for each in _CHOICE.finditer(choices) if (text := _choice(each))]
    if not said:
        return f"{name} cannot be {value}"
    return f"{name} must be {', or '.join(dict.fromkeys(said))}, not {value}"


def _choice(found: re.Match[str]) -> str:
    """One kind of value that a parameter may have; empty if it cannot be typed."""
    if number := found["number"]:
        least = "" if "inf" in found["least"] else _least(found)
        most = "" if "inf" in found["most"] else _most(found)
        limits = " and ".join(filter(None, (least, most)))
        what = "a whole number" if number == "int" else "a number"
        return f"{what}, {limits}" if limits else what
    if (words := found["words"]) is not None:
        names = re.findall(r"'([^']*)'", words)
        return names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    if multiple := found["multiple"]:
        return f"a multiple as {multiple}"
    if found["none"]:
        return "none"
    return {"str": "a size as 256KB", "bool": "true or false"}.get(found["type"], "")


def _least(found: re.Match[str]) -> str:
    return f"{'at least' if found['open'] == '[' else 'above'} {found['least'].removesuffix('.0')}"


def _most(found: re.Match[str]) -> str:
    return f"{'at most' if found['end'] == ']' else 'below'} {found['most'].removesuffix('.0')}"
