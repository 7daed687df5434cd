"""A model in service: it predicts, learns what the writer passes, explains, and reports counts.

Any number of threads may predict while one learns: the compiled model admits them between rows.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from typing import Any

import numpy as np

from budgetron.errors import BudgetronError
from budgetron.estimators._base.sizes import parse_bytes
from budgetron.explaining import looked_at, of_features
from budgetron.explaining.columns import of_encoding
from budgetron.explaining.reasons import Explainer
from budgetron.model_file import to_bytes
from budgetron.serve.definition import Definition
from budgetron.serve.errors import Refused
from budgetron.serve.monitor import Monitor
from budgetron.serve.pulse import Pulse
from budgetron.serve.rows import Reader
from budgetron.serve.tensors import PREDICT, PROBABILITIES, datatype_of
from budgetron.streams.table.roles import Layout

UNLEARNED = "the model has learned nothing yet: learn some rows first"
PLATFORM = "budgetron"
# Seconds of the pause for answering threads after every row that is learned, and rows between two
# pauses if many rows wait. While the learning thread sleeps, another thread gets Python's lock at
# once; otherwise it waits a whole switch interval each time it has released the lock: four times
# per answer.
PAUSE, MANY = 20e-6, 4
# Ratio of the time between two explained decisions to the time of one. Explaining does not sleep:
# under load it has to stay well below the 1 % of the time that a 99th percentile leaves out.
REST, REST_ASKED = 50, 500


class Served:
    """A model in service.

    Parameters
    ----------
    definition : the model to serve

    Attributes
    ----------
    learner : the estimator
    reader : turns requests into its rows
    monitor, pulse : the counters
    """

    def __init__(self, definition: Definition) -> None:
        self.name, self.origin = definition.name, definition.origin
        self.classes = definition.classes
        self.pulse = Pulse()
        self._recent: deque[tuple[Any, Any, Any, float | None, bool]] = deque(maxlen=64)
        self._before: Any = None  # a snapshot that explains later rows
        self._looked = 0.0
        self._looking = threading.Lock()
        self.take(definition.learner, definition.layout)

    def take(self, learner: Any, layout: Layout | None) -> None:
        """Serve this learner from now on."""
        self.learner, self.layout = learner, layout
        self.reader = Reader(learner, layout)
        self.monitor = Monitor(learner)
        self.regression = learner._task == "regression"
        learner.watch(lambda event: self.monitor.event(event))

    @property
    def learned(self) -> bool:
        """Whether it can predict."""
        return hasattr(self.learner, "_engine") and (
            self.regression or len(self.learner.classes_) > 0
        )

    def read_by(self, layout: Layout | None) -> None:
        """Set how a new model reads its table; None: nothing is known about its rows again."""
        self.layout = layout
        self.reader = Reader(self.learner, layout)

    # ---- answering -------------------------------------------------------------------------------

    def predict(self, X: Any) -> tuple[list[Any], Any, Any]:
        """The prediction for each row; probabilities and classes, or None and None.

        The predicted class always has the largest probability.
        """
        learner = self.learner
        if not self.learned:
            raise Refused(409, UNLEARNED)
        dense = isinstance(X, np.ndarray)
        if self.regression:
            if dense and len(X) == 1:
                return [float(learner.prediction_one(X[0]))], None, None
            return learner.predict(X).tolist(), None, None
        while True:
            classes = learner.classes_
            if dense and len(X) == 1:
                chances = learner.probabilities_one(X[0])[None, :]
            else:
                chances = learner.predict_proba(X)
            if chances.shape[1] == len(classes):
                return classes[chances.argmax(axis=1)].tolist(), chances, classes
            time.sleep(0)  # a class was just added, and is about to get its name

    def explain(self, X: Any, examples: int, raw: list[dict[str, Any]] | None) -> list[Any]:
        """The reasons for the prediction of each row, as plain data."""
        if not self.learned:
            raise Refused(409, UNLEARNED)
        reasons = self._explainer(self.learner.snapshot(), X, examples)
        return [each.to_dict() for each in reasons.reasons(X, raw)]

    def _explainer(self, learner: Any, X: Any, examples: int) -> Explainer:
        X = looked_at(learner, X)
        if self.layout is None:
            return Explainer(learner, of_features(learner, X), examples)
        return Explainer(learner, of_encoding(self.layout.encoding), examples)

    # ---- learning: one thread at a time ----------------------------------------------------------

    def learn(self, X: Any, labels: list[Any], hurry: bool = False) -> int:
        """Learn rows that the reader made; return the number of mistakes.

        While requests come it sleeps after every row; in a hurry after every MANY rows.

        Raises
        ------
        BudgetronError
            If the model does not have a label; nothing is learned then.
        """
        learner = self.learner
        known = self.learned and isinstance(X, np.ndarray)
        if known and not self.regression:
            known = not learner._changed and all(self.knows(label) for label in labels)
        if not known:
            return self._learn_at_once(X, labels)
        wrong = 0
        asked, few = self.pulse.asked_lately(), MANY if hurry else 1
        for i, (x, label) in enumerate(zip(X, labels, strict=True)):
            if asked and i % few == 0:
                time.sleep(PAUSE)
            if self.regression:
                prediction, chance = learner.learn_one(x, label), None
            else:
                chances = learner.probabilities_one(x)
                best = int(chances.argmax())
                prediction, chance = learner.classes_[best].item(), float(chances[best])
                learner.learn_one(x, label)
            wrong += self._count(x, label, prediction, chance)
        return wrong

    def knows(self, label: Any) -> bool:
        """Whether the label is one of the model's classes; in regression any number is."""
        if self.regression:
            return True
        try:
            self.learner._codes[label]
        except (KeyError, TypeError):
            return False
        return True

    def _learn_at_once(self, X: Any, labels: list[Any]) -> int:
        """Learn all rows in one call, all or none: the first rows, or rows with a new class."""
        learner = self.learner
        first = not hasattr(learner, "_engine")
        if self.regression:
            answers = learner.prequential(X, np.array(labels)).tolist()
        else:
            known = {"classes": self.classes} if first and self.classes is not None else {}
            decisions = learner.prequential(X, np.array(labels), **known)
            answers = learner._choose(decisions).tolist()
        if first and self.layout is None:
            self.reader = Reader(learner, None)
        rows = X if isinstance(X, np.ndarray) else [None] * X.shape[0]
        return sum(
            self._count(x, label, answer, None)
            for x, label, answer in zip(rows, labels, answers, strict=True)
        )

    def _count(self, x: Any, label: Any, prediction: Any, chance: float | None) -> bool:
        wrong = self.monitor.count(label, prediction, chance)
        self.pulse.learned += 1
        if x is not None and (wrong or random.random() < 0.05):
            self._recent.append((x, label, prediction, chance, wrong))
        return wrong

    # ---- explaining decisions --------------------------------------------------------------------

    def look(self) -> None:
        """Explain one mistake and one other row of the last second, for the page.

        A snapshot from before they were learned explains them. This takes at most a fiftieth of the
        time, and a 500th while requests come, however wide the rows are.
        """
        if not self.learned or time.monotonic() < self._looked:
            return
        if self._before is not None and not self._recent:
            return
        if not self._looking.acquire(blocking=False):
            return
        try:
            start = time.thread_time()
            before, self._before = self._before, self.learner.snapshot()
            rows = [self._recent.popleft() for _ in range(len(self._recent))]
            if before is not None:
                wrong = next((row for row in reversed(rows) if row[4]), None)
                other = next((row for row in reversed(rows) if not row[4]), None)
                for row in (wrong, other):
                    if row is not None:
                        self._explain_row(before, *row)
            rest = REST_ASKED if self.pulse.asked_lately() else REST
            self._looked = time.monotonic() + rest * (time.thread_time() - start)
        finally:
            self._looking.release()

    def _explain_row(
        self, learner: Any, x: Any, label: Any, prediction: Any, chance: float | None, wrong: bool
    ) -> None:
        try:
            [reason] = self._explainer(learner, x[None, :], 1).reasons(x[None, :])
        except (BudgetronError, ValueError):  # the snapshot has fewer classes, or another width
            return
        found = reason.to_dict()
        self.monitor.moved({each["column"]: each["change"] for each in found["columns"]})
        if wrong and (self.regression or reason.prediction == prediction):
            self.monitor.mistakes.appendleft(
                {
                    "seconds": time.time(),
                    "row": self.learner.n_seen_,
                    "label": label,
                    "prediction": prediction,
                    "probability": chance,
                    "columns": [
                        {key: each[key] for key in ("column", "value", "change")}
                        for each in found["columns"][:5]
                    ],
                }
            )

    # ---- results ---------------------------------------------------------------------------------

    def file(self) -> bytes:
        """A model file that `budgetron predict` reads."""
        table = {} if self.layout is None else {"table": self.layout.to_json()}
        return to_bytes(self.learner, table or None)

    def metadata(self) -> dict[str, Any]:
        """The metadata of the protocol; a table's columns are listed one by one."""
        width = self.reader.width or -1
        if self.layout is None:
            inputs = [{"name": "rows", "datatype": "FP64", "shape": [-1, width]}]
        else:
            inputs = [
                {
                    "name": each.name,
                    "datatype": {"number": "FP64", "boolean": "BOOL"}.get(each.kind, "BYTES"),
                    "shape": [-1],
                }
                for each in self.layout.encoding.coded
            ]
        outputs = [{"name": PREDICT, "datatype": "FP64", "shape": [-1]}]
        if not self.regression:
            classes = self.learner.classes_ if self.learned else np.zeros(0, str)
            outputs[0]["datatype"] = datatype_of(classes)
            shape = [-1, len(classes) or -1]
            outputs.append({"name": PROBABILITIES, "datatype": "FP64", "shape": shape})
        return {"name": self.name, "platform": PLATFORM, "inputs": inputs, "outputs": outputs}

    def stats(self) -> dict[str, Any]:
        """Counts of the model, and of the rows learned here."""
        learner, monitor = self.learner, self.monitor
        learned = hasattr(learner, "_engine")
        params = learner.get_params(deep=False)
        budget = params.get(learner._budget_name)
        stores = learned and learner._stores_examples
        return {
            "name": self.name,
            "task": learner._task,
            "estimator": type(learner).__name__,
            "budget": budget,
            "budget_bytes": parse_bytes(budget, "budget") if isinstance(budget, str) else None,
            "rows": learner.n_seen_ if learned else 0,
            "mistakes": learner.n_mistakes_ if learned and not self.regression else None,
            "rows_here": monitor.rows,
            "loss_here": monitor.loss,
            "majority_here": monitor.majority,
            "last_label_here": monitor.last,
            "answered": self.pulse.answered,
            "stored": learner.n_support_ if stores else 0,
            "updates": learner.n_updates_ if learned else 0,
            "memory_bytes": learner.memory_bytes_ if learned else 0,
            "unit_changes": learner.unit_changes_ if learned else 0,
            "drifts": sum(kind == "drift" for _, kind in monitor.marks),
            "warning": learner.not_learning_ if learned else None,
            "unread": dict(self.reader.unread),
            "classes": learner.classes_.tolist() if self.learned and not self.regression else None,
        }
