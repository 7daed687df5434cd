"""The cards: one Markdown page per paper, from `papers/*/card.md`.

The head of a card, all before its first section, names its algorithms in backticks.
"""

from __future__ import annotations

import re
from functools import cache

from budgetron import _papers
from budgetron.catalogue import CATALOGUE


def cards() -> dict[str, str]:
    """Paper -> the text of its card.

    Examples
    --------
    >>> from budgetron.cards import cards
    >>> sorted(cards())[:3]
    ['ahpatron', 'alma', 'avm']
    """
    found = {name: folder / "card.md" for name, folder in _papers.papers().items()}
    return {name: path.read_text(encoding="utf-8") for name, path in found.items() if path.exists()}


@cache
def papers() -> dict[str, str]:
    """Algorithm -> paper, for every algorithm of the catalogue that a card names.

    Examples
    --------
    >>> from budgetron.cards import papers
    >>> papers()["forgetron-greedy"], papers()["nogd"]
    ('forgetron', 'lsokl')
    """
    found = {}
    for paper, text in cards().items():
        head = text.partition("\n## ")[0]
        found.update({name: paper for name in re.findall(r"`([^`]+)`", head) if name in CATALOGUE})
    return found


def card(name: str) -> str:
    """The card that describes the algorithm `name`."""
    return cards()[papers()[name]]


def section(text: str, heading: str) -> str:
    """The text of a card under the first heading that begins so, without the heading.

    Examples
    --------
    >>> from budgetron.cards import card, section
    >>> section(card("pegasos"), "Symbols").splitlines()[0]
    '| paper | parameter | here |'
    """
    found = re.search(rf"^## {heading}.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""
