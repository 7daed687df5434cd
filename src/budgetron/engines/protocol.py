"""The interface of an engine: store values, run functions of them, hold objects.

Arguments of a function may be results of `put` and `submit`; it then gets the values. A function
whose process dies is run again elsewhere, so it must change nothing but its result. A value of
`put` survives the death of any process except the one that put it. A held object dies with its
process, and its owner starts another (`buckets.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol


class Wrong(NamedTuple):
    """Returned by a method of a held object that raised an exception: the object lives on."""

    error: Exception


class Died(Exception):
    """A process died more often than the engine tries again; the text says what is known."""


class Engine(Protocol):
    """An engine that does work.

    Attributes
    ----------
    name : "dask" or "ray"
    """

    name: str

    @property
    def count(self) -> int:
        """How many functions run at once."""

    def put(self, value: Any) -> Any:
        """Store a value for functions; return a reference to it."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function; return a reference to its result."""

    def wait(self, references: Sequence[Any]) -> list[Any]:
        """Return the finished ones of these, at least one."""

    def result(self, reference: Any) -> Any:
        """Wait for the value and return it.

        Raises
        ------
        Died
            If the process died, and also those that tried again.
        """

    def hold(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """Make an object in a process there, which keeps it."""

    def call(self, held: Any, method: str, *arguments: Any) -> Any:
        """Start a method of a held object; return a reference for `answer`.

        Calls of one object run one after the other, in the order in which they were started.
        """

    def answer(self, reference: Any) -> Any:
        """The result of a method.

        Raises
        ------
        Died
            If the object is lost: its process died.
        """

    def release(self, held: Any) -> None:
        """Release an object."""

    def close(self) -> None:
        """Close what was started for us."""
