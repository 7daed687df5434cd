"""The public module for tuning: choose parameters on the first rows of a stream."""

from budgetron.lab.tune import Candidate, Tuning, combinations, paper_grid, tune

__all__ = ["Candidate", "Tuning", "combinations", "paper_grid", "tune"]
