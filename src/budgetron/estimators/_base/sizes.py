"""Sizes in bytes as text: "256KB" is 256,000 bytes, "256KiB" 262,144."""

from __future__ import annotations

import re

from budgetron.errors import BudgetronError

_UNITS = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?i?b)\s*", re.IGNORECASE)


def parse_bytes(text: str, name: str = "size") -> int:
    """The number of bytes that a text means, rounded down.

    Parameters
    ----------
    text : a number and a unit: B, KB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)
    name : name of the parameter, for the error

    Raises
    ------
    BudgetronError
        If the text is not a size.

    Examples
    --------
    >>> parse_bytes("256KB"), parse_bytes("256 KiB"), parse_bytes("1.5MB")
    (256000, 262144, 1500000)
    """
    match = _SIZE.fullmatch(text)
    if match is None or match[2].lower() not in _UNITS:
        raise BudgetronError(
            f"{name}={text!r} is not a size: give a number of bytes as '256KB' (256,000), '256KiB' "
            "(262,144), or with B, MB, MiB, GB, GiB"
        )
    whole, _, fraction = str(match[1]).partition(".")
    unit = _UNITS[match[2].lower()]
    return int(whole) * unit + int(fraction or 0) * unit // int(10 ** len(fraction))
