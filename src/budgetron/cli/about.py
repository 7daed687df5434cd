"""`budgetron about`: an algorithm's card, laid out for the terminal or, into a pipe, as it is."""

from __future__ import annotations

import sys
from typing import Annotated

from budgetron.catalogue import CATALOGUE
from budgetron.cli._console import fail, output
from budgetron.cli.algorithms import NAME, find, nearest_or_all, trial


def about(name: Annotated[str, NAME]) -> None:
    """Print an algorithm's card: idea, pseudocode, symbols, guarantee, cost, numbers."""
    from budgetron.cards import card, papers

    if name not in CATALOGUE:
        fail(f"budgetron: unknown algorithm {name!r}{nearest_or_all(name, CATALOGUE)}")
    if name not in papers():
        fail(f"budgetron: the card of {name} is not installed; see `budgetron algorithms {name}`")
    if not sys.stdout.isatty():
        print(card(name))
        return
    from rich.markdown import Markdown
    from rich.text import Text

    console = output()
    console.print(Markdown(card(name)))
    console.print(Text(f"\n{name}: {CATALOGUE[name].summary}", style="bold"))
    console.print(Text(f"its parameters: budgetron algorithms {name}"))
    console.print(Text(f"try: {trial(find(name))}"))
