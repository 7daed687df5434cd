"""`python -m studies.real_streams`: run the missing cells; with --page write the page."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from budgetron.lab.cells import finish
from budgetron.lab.store import Store
from budgetron.lab.workers import Workers
from studies.real_streams import figure, plan, report
from studies.real_streams.results import Results
from studies.real_streams.sources import Source


def main(
    out: Annotated[Path, typer.Option(help="Folder of finished cells.")] = Path("streams-study"),
    groups: Annotated[str, typer.Option(help="Of the cells.")] = ",".join(plan.GROUPS),
    only: Annotated[str, typer.Option(help="Streams whose name has this word.")] = "",
    learners: Annotated[str, typer.Option(help="Only these: budgetron;ARF(10).")] = "",
    page: Annotated[bool, typer.Option("--page", help="Run nothing: write the page.")] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Run nothing: draw the figure from the page's table.")
    ] = False,
    processes: Annotated[int, typer.Option(min=1, help="At a time.")] = 1,
) -> None:
    """Run all cells that the folder does not have. The same command resumes."""
    warnings.simplefilter("ignore")
    if redraw:
        figure.draw_from_page(report.PAGE.read_text(encoding="utf-8"), report.FIGURE)
        return
    if page:
        write(out, report.PAGE, report.FIGURE)
        return
    with Workers(processes) as pool:
        for group in groups.split(","):
            store = Store(out, plan.table(group))
            for source in plan.sources(only):
                run(group, source, store, pool, tuple(filter(None, learners.split(";"))))


def run(group: str, source: Source, store: Store, pool: Workers, only: Sequence[str]) -> None:
    """Run one group on one stream; only the named learners, if any are named."""
    cells = [each for each in plan.cells(group, source) if not only or each.setup.label in only]

    def tell(done: int, total: int) -> None:
        if total:
            print(f"{group}, {source.name}: {done} of {total}", flush=True)

    for failure in finish(cells, store, pool, tell):
        print(f"failed: {failure}", flush=True)


def write(out: Path, page: Path, images: Path) -> None:
    """The page and its figures."""
    results = Results.of(out)
    page.write_text(report.page(results), encoding="utf-8")
    figure.draw(results.first, images)


if __name__ == "__main__":
    typer.run(main)
