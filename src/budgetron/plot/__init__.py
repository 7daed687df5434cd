"""Pictures of models and runs, one call each: `budgetron.plot`.

Every function takes a Matplotlib axis (`ax`; default: a new figure), draws into it, and returns it.
Colour-blind people can tell the colours apart. Matplotlib comes with the extra `lab` and is
imported when something is drawn. May use the laboratory and the layers below it.
"""

from budgetron.plot.budgets import budget_against_error
from budgetron.plot.calibration import reliability_diagram
from budgetron.plot.over_time import error_over_time, learning_curve
from budgetron.plot.plane import decision_boundary, stored_examples

__all__ = [
    "budget_against_error",
    "decision_boundary",
    "error_over_time",
    "learning_curve",
    "reliability_diagram",
    "stored_examples",
]
