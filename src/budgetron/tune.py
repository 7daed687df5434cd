"""The public door to tuning: choose parameters on the beginning of a stream."""

from budgetron.lab.tune import Candidate, Tuning, combinations, paper_grid, tune

__all__ = ["Candidate", "Tuning", "combinations", "paper_grid", "tune"]
