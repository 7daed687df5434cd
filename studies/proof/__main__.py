"""`python -m studies.proof`: run the missing cells, then write the tables and the figure."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from budgetron.cli._console import fail, note
from budgetron.lab.reproduce import data
from studies.proof import figure, report
from studies.proof.running import Results, Wanted, run
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
    learners: Annotated[str, typer.Option(help="Only these: budgetron;fogd.")] = "",
    budgets: Annotated[str, typer.Option(help="Only these: 100;400KB.")] = "",
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Parameters of rivals as on the page; no tuning.")
    ] = False,
    tables: Annotated[
        bool, typer.Option("--tables", help="Run nothing: only write what is finished.")
    ] = False,
) -> None:
    """Compare Budgetron with every learner of the catalogue.

    Run the same command again to resume after an interruption. Data sets are read from
    $BUDGETRON_DATA, or from where `budgetron data get` stores them.
    """
    warnings.simplefilter("ignore")
    results = Results(out)
    if not tables:
        chosen = _chosen(sets)
        wanted = Wanted(
            tuple(filter(None, learners.split(";"))),
            tuple(int(each) if each.isdigit() else each for each in budgets.split(";") if each),
            recorded,
        )
        run(chosen, results, permutations=permutations, processes=processes, wanted=wanted)
    write(results, out)


def _chosen(sets: str | None) -> list[ProofSet]:
    """The requested sets if all of them are there; otherwise the command ends."""
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
    """Write the tables of all sets, and the figure if matplotlib is installed."""
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
