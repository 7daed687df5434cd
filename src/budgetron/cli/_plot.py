"""`--plot`: draw the errors of a run over its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetron.cli._checkpoint import reason
from budgetron.cli._console import fail

if TYPE_CHECKING:
    from budgetron.cli._tally import Tally

ENDINGS = (".png", ".svg", ".pdf")


def check_plot(path: str) -> None:
    """End the command early if no picture can be drawn into this file."""
    if Path(path).suffix.lower() not in ENDINGS:
        fail(f"--plot {path}: the name of a picture must end in {', '.join(ENDINGS[:-1])} or .pdf")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        fail("--plot needs Matplotlib: pip install 'budgetron[lab]'")


def draw_plot(path: str, result: dict[str, Any], tally: Tally) -> None:
    """Draw what a run reports; ends the command if the file cannot be written."""
    from budgetron.lab.report.stream_figure import draw_stream

    points = list(tally.curve.points)
    last = tally.point()
    if not points or points[-1].rows < last.rows:
        points.append(last)
    budget = "" if result["budget"] is None else f", budget {result['budget']}"
    title = f"{result['algorithm']}{budget} on {Path(result['source']).name}"
    covered = None
    if tally.covered is not None:
        along = list(tally.covered.curve.points)
        end = tally.covered.point()
        along += [end] if not along or along[-1].rows < end.rows else []
        covered = (tally.covered.coverage, along)
    try:
        draw_stream(Path(path), result["task"], points, title, covered)
    except OSError as error:
        fail(f"--plot {path}: {reason(error)}")
