"""`python -m studies.proof`: run what is missing, then write the tables and the figure."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from budgetron.cli._console import fail, note
from budgetron.lab.reproduce import data
from studies.proof import figure, report
from studies.proof.running import Results, run
from studies.proof.sets import SETS, ProofSet
from studies.proof.standing import Table


def main(
    out: Annotated[Path, typer.Option(help="Folder of finished runs, tables and figure.")] = Path(
        "proof"
    ),
    permutations: Annotated[int, typer.Option(min=1, help="Seeded orders of the rows.")] = 10,
    sets: Annotated[str | None, typer.Option(help="Only these data sets: phishing;a9a.")] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="At a time. Default: one a core.")
    ] = None,
    tables: Annotated[
        bool, typer.Option("--tables", help="Run nothing: only write what is finished.")
    ] = False,
) -> None:
    """Compare Budgetron with every learner of the catalogue.

    The same command goes on after an interruption. Data sets are read from $BUDGETRON_DATA,
    or from where `budgetron data get` keeps them.
    """
    warnings.simplefilter("ignore")
    results = Results(out)
    if not tables:
        chosen = _chosen(sets)
        run(chosen, results, permutations=permutations, processes=processes)
    write(results, out)


def _chosen(sets: str | None) -> list[ProofSet]:
    """The sets asked for, all of which are there, or the end of the command."""
    known = {each.name: each for each in SETS}
    wanted = list(known) if sets is None else sets.split(";")
    for name in wanted:
        if name not in known:
            names = ", ".join(map(repr, known))
            fail(f"budgetron: no set of the proof is called {name!r}; there are {names}")
        absent = data.missing(known[name].rows)
        if absent:
            fail(f"budgetron: {name}: {absent}")
    return [each for each in SETS if each.name in wanted]


def write(results: Results, out: Path) -> None:
    """The tables of all sets, and the figure if there is matplotlib."""
    cells, refused = list(results.cells.values()), list(results.refused.values())
    found = [Table(each, cells, refused) for each in SETS]
    parts = report.pages(found, list(results.tuned.values()))
    for name, text in parts.items():
        (out / f"{name}.md").write_text(text, encoding="utf-8")
    print(parts["totals"], parts["targets"], sep="\n")
    try:
        figure.draw(found, out / "proof")
    except ImportError:
        note("budgetron: the figure needs matplotlib: pip install 'budgetron[lab]'")


if __name__ == "__main__":
    typer.run(main)
