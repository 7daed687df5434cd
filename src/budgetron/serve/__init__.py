"""Serving: a process that answers over HTTP, learns what it is told, survives and shows itself.

`running` has a server in a thread, for notebooks and tests; `budgetron serve` is the same as a
command. Requests come in through app.py, their bodies become rows in bodies.py, tensors.py and
rows.py, a served model (served.py) answers them. What is to be learned goes through one queue to
one thread (writer.py), which writes the log (log.py), learns, and then acknowledges. May use the
model files, the explanations, the streams' layouts and what is below them.

The extra `serve` brings what this package needs: starlette, uvicorn, msgspec, prometheus-client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from budgetron.serve.settings import Settings

__all__ = ["Settings", "running"]


@contextmanager
def running(models: Mapping[str, Any], settings: Settings | None = None) -> Iterator[str]:
    """A server in a thread of this process while the block runs; its address.

    Parameters
    ----------
    models : estimators of this package by name, fitted or not, or pipelines of a TableEncoder and
        an estimator. They go on learning as they are: the server takes no copy
    settings : None: loopback, a free port, and it learns

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.client import Client
    >>> from budgetron.serve import running
    >>> model = budgetron.PerceptronClassifier(gamma=1.0)
    >>> with running({"xor": model}) as url:
    ...     xor = Client(url, "xor")
    ...     told = xor.learn([[0, 0], [0, 1], [1, 0], [1, 1]] * 50, ["no", "yes", "yes", "no"] * 50)
    ...     print(told.learned, xor.infer([[0, 1]]).labels)
    200 ['yes']
    """
    from budgetron.serve.definition import Definition
    from budgetron.serve.server import Background

    wanted = [Definition.of(name, model) for name, model in models.items()]
    with Background(wanted, settings or Settings(learn=True)) as url:
        yield url
