"""Serving: a process that predicts and learns over HTTP, survives a crash, and has a status page.

`running` starts a server in a thread, for notebooks and tests; `budgetron serve` does the same as a
command. app.py receives requests; bodies.py, tensors.py and rows.py turn bodies into rows; a served
model (served.py) answers them. Rows to learn go through one queue to one thread (writer.py), which
writes the log (log.py), learns, and then acknowledges. Messages of a source use the same queue
(feeding.py). This folder may use the model files, the explanations, the streams, the sources and
the layers below them.

The extra `serve` brings what this package needs: starlette, uvicorn, msgspec, prometheus-client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from budgetron.serve.settings import Settings

__all__ = ["Settings", "running"]


@contextmanager
def running(
    models: Mapping[str, Any],
    settings: Settings | None = None,
    sources: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Run a server in a thread of this process while the block runs; yields its address.

    Parameters
    ----------
    models : estimators of this package by name, fitted or not, or pipelines of a TableEncoder and
        an estimator. The server takes no copy: these objects go on learning
    settings : None: loopback, a free port, and it learns
    sources : sources of messages to learn, by model name, as for `budgetron run`: tail:FILE,
        kafka://HOST/TOPIC and others

    Examples
    --------
    >>> import budgetron
    >>> from budgetron.client import Client
    >>> from budgetron.serve import running
    >>> model = budgetron.PerceptronClassifier(gamma=1.0)
    >>> with running({"xor": model}) as url:
    ...     xor = Client(url, "xor")
    ...     done = xor.learn([[0, 0], [0, 1], [1, 0], [1, 1]] * 50, ["no", "yes", "yes", "no"] * 50)
    ...     print(done.learned, xor.infer([[0, 1]]).labels)
    200 ['yes']
    """
    from budgetron.serve.definition import Definition
    from budgetron.serve.feeding import Feeding
    from budgetron.serve.server import Background

    fed = {name: Feeding(source) for name, source in (sources or {}).items()}
    wanted = [Definition.of(name, model) for name, model in models.items()]
    with Background(wanted, settings or Settings(learn=True), fed) as url:
        yield url
