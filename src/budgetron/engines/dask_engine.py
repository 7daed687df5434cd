"""Dask: functions by `client.submit`, objects by its actors.

A stored value is the result of a task, not a scattered one: the scheduler knows the task and runs
it again if a worker that kept its result died, while scattered values die with their workers. The
scheduler runs a task again after the death of its worker, three times by default
(`distributed.scheduler.allowed-failures`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from budgetron.engines import imported
from budgetron.engines.protocol import Died, Wrong
from budgetron.errors import BudgetronError

WAITING = 120  # seconds to wait for a worker, if there is none
CALLING = 10  # seconds until a silent scheduler counts as not reachable


def _given(value: Any) -> Any:
    return value


class DaskEngine:
    """A client of a Dask cluster.

    Parameters
    ----------
    client : a `distributed` client
    ours : what to close with it; None: it is the user's, and stays open
    """

    name = "dask"

    def __init__(self, client: Any, ours: Any = None) -> None:
        self._distributed = imported("dask", "distributed")
        self._client, self._ours = client, ours
        self._actors: dict[int, Any] = {}

    @classmethod
    def opened(cls, address: str | None, processes: int | None) -> DaskEngine:
        """The cluster at an address, or processes of this machine with one thread each."""
        distributed = imported("dask", "distributed")
        if address is None:
            cluster = distributed.LocalCluster(
                n_workers=processes,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=50,
            )
            client = distributed.Client(cluster, set_as_default=False)
            return cls(client, cluster)
        try:
            client = distributed.Client(address, timeout=CALLING, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            why = " ".join(str(error).split())
            raise BudgetronError(f"no Dask scheduler answers at {address}: {why}") from None
        return cls(client, client)

    @property
    def count(self) -> int:
        """Threads of all workers; one if there are none yet."""
        return max(1, int(sum(self._client.nthreads().values())))

    def put(self, value: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a large graph: it is sent once
            return self._client.submit(_given, value, pure=False)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False)

    def computed(self, delayed: Any) -> Any:
        """A reference to the result of a Dask delayed value."""
        return self._client.compute(delayed)

    def wait(self, references: Sequence[Any]) -> list[Any]:
        with self._client.as_current():
            done = self._distributed.wait(list(references), return_when="FIRST_COMPLETED").done
        return [each for each in references if each in done]

    def result(self, reference: Any) -> Any:
        try:
            return reference.result()
        except self._distributed.scheduler.KilledWorker as error:
            raise Died(" ".join(str(error).split())) from None
        except self._distributed.client.FutureCancelledError as error:
            raise BudgetronError(f"Dask gave a task up: {' '.join(str(error).split())}") from None

    def hold(self, make: Callable[..., Any], *arguments: Any) -> Any:
        try:  # all may have died, and be restarting
            self._client.wait_for_workers(1, timeout=WAITING)
        except TimeoutError:
            raise BudgetronError("the Dask cluster has no workers: start some") from None
        workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        there = workers[len(self._actors) % len(workers)]  # in turn
        future = self._client.submit(
            make, *arguments, actor=True, pure=False, workers=[there], allow_other_workers=True
        )
        self._actors[id(future)] = future  # a future that nobody keeps ends its actor
        return future

    def call(self, held: Any, method: str, *arguments: Any) -> Any:
        try:
            return getattr(held.result(), method)(*arguments)
        except Exception as error:  # of several types, depending on what noticed first
            raise Died(type(error).__name__) from None

    def answer(self, reference: Any) -> Any:
        try:
            found = reference.result()
        except Exception as error:
            raise Died(type(error).__name__) from None
        if isinstance(found, Wrong):
            raise found.error
        return found

    def release(self, held: Any) -> None:
        self._actors.pop(id(held), None)
        held.release()

    def close(self) -> None:
        if self._ours is None:
            return
        self._actors.clear()
        self._client.close()
        if self._ours is not self._client:
            self._ours.close()
