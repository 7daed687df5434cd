"""`budgetron about`: an algorithm's card, rendered in a terminal, as Markdown in a pipe."""

from __future__ import annotations

import sys
from typing import Annotated

from budgetron.catalogue import ALL, CATALOGUE
from budgetron.cli._console import fail, output, print_markdown
from budgetron.cli.algorithms import NAME, find, nearest_or_all, trial


def about(name: Annotated[str, NAME]) -> None:
    """Print an algorithm's card: idea, pseudocode, symbols, guarantee, cost, numbers.
    A terminal shows it rendered; a file or a pipe gets Markdown.
    """
    from budgetron.cards import card, papers

    if name not in ALL:
        fail(f"budgetron: unknown algorithm {name!r}{nearest_or_all(name, ALL)}")
    if name not in CATALOGUE:
        fail(
            f"budgetron: {name} has no card, for no paper has it; see `budgetron algorithms {name}`"
        )
    if name not in papers():
        fail(f"budgetron: the card of {name} is not installed; see `budgetron algorithms {name}`")
    print_markdown(card(name))
    if not sys.stdout.isatty():
        return
    from rich.text import Text

    console = output()
    console.print(Text(f"\n{name}: {ALL[name].summary}", style="bold"))
    console.print(Text(f"its parameters: budgetron algorithms {name}"))
    console.print(Text(f"try: {trial(find(name))}"))
