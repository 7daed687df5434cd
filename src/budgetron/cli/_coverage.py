"""`run --coverage`: how often intervals and sets hold the label, and how wide they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from budgetron.cli._console import fail

if TYPE_CHECKING:
    from budgetron.evaluate.curve import Curve

Coverage = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Report intervals of this coverage.",
    ),
]


class CoverPoint(NamedTuple):
    """Sums over the rows so far.

    Attributes
    ----------
    rows : number of rows
    scored : rows with an interval or a set
    inside : scored rows whose interval or set holds the label
    width : sum of the widths, or of the set sizes, of scored rows
    """

    rows: float
    scored: float
    inside: float
    width: float


class Covered:
    """Counts how often the intervals or sets of a run hold the label.

    Parameters
    ----------
    coverage : the share that they should hold
    task : "classification" or "regression"
    """

    def __init__(self, coverage: float, task: str) -> None:
        from budgetron.evaluate.curve import Curve

        self.coverage = coverage
        self._regression = task == "regression"
        self._sums = CoverPoint(0.0, 0.0, 0.0, 0.0)
        self.curve: Curve[CoverPoint] = Curve(CoverPoint)

    def count(self, spans: Any, y: Any) -> None:
        """Count the rows of a chunk: interval ends, or set sizes and hits, shape (n, 2)."""
        import numpy as np

        if self._regression:
            known = np.isfinite(spans).all(axis=1)
            inside = (spans[:, 0] <= y) & (y <= spans[:, 1])
            with np.errstate(invalid="ignore"):
                width = spans[:, 1] - spans[:, 0]
        else:
            known = ~np.isnan(spans[:, 0])
            width, inside = spans[:, 0], spans[:, 1] > 0
        each = np.column_stack(
            [np.ones(len(y)), known, known & inside, np.where(known, width, 0.0)]
        )
        # One row after the other: the same bits for any chunk size.
        sums = np.cumsum(np.vstack([self._sums, each]), axis=0)
        before = int(self._sums.rows)
        while self.curve.next <= before + len(y):
            self.curve.add(CoverPoint(*sums[self.curve.next - before].tolist()))
        self._sums = CoverPoint(*sums[-1].tolist())

    def point(self) -> CoverPoint:
        """The current point of the curve."""
        return self._sums

    def state(self) -> dict[str, Any]:
        """The state that a checkpoint keeps."""
        from budgetron.evaluate.metrics import packed

        return {"sums": packed(list(self._sums)), **self.curve.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from such a state."""
        import numpy as np

        from budgetron.evaluate.metrics import unpacked

        self._sums = CoverPoint(*unpacked(state["sums"], np.dtype(float)).tolist())
        self.curve.restore(state, int(self._sums.rows))

    def result(self) -> dict[str, Any]:
        """The values for the report."""
        rows, width = self._sums.scored, self._sums.width
        return {
            "coverage_asked": self.coverage,
            "coverage": self._sums.inside / rows if rows else None,
            "mean_width" if self._regression else "mean_set_size": width / rows if rows else None,
        }


def coverage_lines(result: dict[str, Any]) -> dict[str, str]:
    """The lines for the table of a run; none if no coverage was asked for."""
    from budgetron.cli._tally import digits

    if "coverage_asked" not in result:
        return {}
    held = result["coverage"]
    asked = f"{100 * result['coverage_asked']:g}%"
    lines = {f"coverage (of {asked})": "-" if held is None else f"{held:.2%}"}
    if "mean_width" in result:
        return lines | {"mean width": digits(result["mean_width"])}
    return lines | {"mean set size": digits(result["mean_set_size"])}


def with_coverage(coverage: float | None, task: str, parameters: dict[str, Any]) -> Covered | None:
    """The counter of intervals or sets of a run; sets the parameters that it needs."""
    from budgetron.errors import BudgetronError
    from budgetron.estimators._base.coverage import check_coverage

    if coverage is None:
        return None
    if task == "novelty":
        fail("budgetron: --coverage is for labels; a share of alarms is --set alarm_rate=0.01")
    try:
        check_coverage(coverage)
    except BudgetronError as error:
        fail(f"budgetron: --{error}".replace("coverage=", "coverage "))
    name = "intervals" if task == "regression" else "sets"
    if parameters.setdefault(name, True) is False:
        fail(f"budgetron: --coverage needs {name}=True; remove --set {name}=False")
    return Covered(coverage, task)
