"""The error for users' mistakes: every other exception is a bug and keeps its traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class BudgetronError(ValueError):
    """A user's mistake: a parameter, a row, a file or a name that is refused.

    It is a ValueError. A file that cannot be opened stays an OSError, a model that has learned
    nothing scikit-learn's NotFittedError, an argument of a wrong type may be a TypeError.
    """

    __module__ = "budgetron"  # its public name, as tracebacks show it


@contextmanager
def as_budgetron_error() -> Iterator[None]:
    """Turn a ValueError inside into a BudgetronError with the same text and traceback.

    Only for calls into other libraries that check what users gave: a bug of ours inside would look
    like a user's mistake.
    """
    try:
        yield
    except BudgetronError:
        raise
    except ValueError as error:
        raise BudgetronError(str(error)).with_traceback(error.__traceback__) from None
