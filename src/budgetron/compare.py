"""The public module for comparisons: run learners over data sets, write a report."""

from budgetron.lab.compare import Comparison, Failure, Line, Rows, Settings, compare, load

__all__ = ["Comparison", "Failure", "Line", "Rows", "Settings", "compare", "load"]
