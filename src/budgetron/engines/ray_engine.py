"""Ray: functions by `ray.remote`, objects by its actors.

Stored values belong to this process and stay on its machine, whatever worker dies. A task whose
worker dies is run again, `TRIES` times. Actors reserve no processor: actors that reserved all of
them would keep tasks waiting for ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from budgetron.engines import imported
from budgetron.engines.protocol import Died, Wrong
from budgetron.errors import BudgetronError

TRIES = 3
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


class RayEngine:
    """Ray, as this process is connected to it.

    Parameters
    ----------
    ours : Ray was started, or connected to, only for this
    """

    name = "ray"

    def __init__(self, *, ours: bool = False) -> None:
        self._ray = imported("ray", "ray")
        self._ours = ours
        self._functions: dict[Any, Any] = {}
        wrong = imported("ray", "ray.exceptions")
        self._deaths = (
            wrong.WorkerCrashedError,
            wrong.RayActorError,
            wrong.NodeDiedError,
            wrong.OutOfMemoryError,
            wrong.ObjectLostError,
        )
        self._of_task = wrong.RayTaskError

    @classmethod
    def opened(cls, address: str | None, processes: int | None) -> RayEngine:
        """The cluster at an address, or processes of this machine; or the running Ray."""
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        ray = imported("ray", "ray")
        if ray.is_initialized():
            return cls()
        quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        try:
            if address is not None:
                ray.init(address=address, **quiet)
            else:
                ray.init(num_cpus=processes, include_dashboard=False, **quiet)
        except (ConnectionError, ValueError, OSError, RuntimeError) as error:
            if address is None:
                raise
            why = " ".join(str(error).split())[:200]
            raise BudgetronError(f"no Ray cluster answers at {address}: {why}") from None
        return cls(ours=True)

    @property
    def count(self) -> int:
        """Processors of all machines."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def put(self, value: Any) -> Any:
        return self._ray.put(value)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        known = self._functions.get(function)
        if known is None:
            known = self._ray.remote(max_retries=TRIES)(function)
            self._functions[function] = known
        return known.remote(*arguments)

    def wait(self, references: Sequence[Any]) -> list[Any]:
        done, _ = self._ray.wait(list(references), num_returns=1)
        return list(done)

    def result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._deaths as error:
            raise Died(type(error).__name__) from None
        except self._of_task as error:
            raise error.cause from None

    def hold(self, make: Callable[..., Any], *arguments: Any) -> Any:
        return self._ray.remote(num_cpus=0)(make).remote(*arguments)

    def call(self, held: Any, method: str, *arguments: Any) -> Any:
        return getattr(held, method).remote(*arguments)

    def answer(self, reference: Any) -> Any:
        found = self.result(reference)
        if isinstance(found, Wrong):
            raise found.error
        return found

    def release(self, held: Any) -> None:
        self._ray.kill(held)

    def close(self) -> None:
        if self._ours:
            self._ray.shutdown()
