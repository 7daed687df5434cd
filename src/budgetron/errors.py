"""The error for users' mistakes: every other exception is a bug and keeps its traceback."""


class BudgetronError(ValueError):
    """A mistake of the user's: a parameter, a row, a file or a name that is refused, in one line.

    It is a ValueError. Files that cannot be opened stay OSError, a model that has learned nothing
    stays scikit-learn's NotFittedError.
    """
