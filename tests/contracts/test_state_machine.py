"""Whatever happens between them, rows give the same model as a plain loop over them.

Random sequences of learning in chunks of any size, dense or sparse, predicting, explaining, saving
and loading, pickling, snapshots, listeners, refused calls: equal to the bit.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import budgetron
from budgetron.model_file import to_bytes
from tests.support.cases import BY_NAME, Case, same_state, stream
from tests.support.native import has_learned

X, Y = stream(260, classes=3, sparse=True)
LEARNERS = [
    (BY_NAME["ahpatron"], {}),
    (BY_NAME["rbp"], {"gamma": "median", "scale": "auto"}),
    (BY_NAME["bsgd-merge"], {}),
    (BY_NAME["avm"], {"average": "suffix", "scale": "standard"}),
    (BY_NAME["projectron"], {"gamma": "median"}),
    (BY_NAME["nogd"], {}),
]

operations = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.integers(1, 60)),
        st.tuples(st.just("learn sparse"), st.integers(1, 60)),
        st.tuples(st.just("one by one"), st.integers(1, 12)),
        st.tuples(
            st.sampled_from(
                ["predict", "explain", "save and load", "pickle", "snapshot", "watch", "refused"]
            ),
            st.just(0),
        ),
    ),
    min_size=3,
    max_size=14,
)


class Machine:
    """A model under test and how many rows it has learned."""

    def __init__(self, case: Case, more: dict[str, Any], folder: Path) -> None:
        self.model = case.make(random_state=4, **more)
        self.rows = 0
        self.folder = folder

    def do(self, what: str, amount: int) -> None:
        chunk = slice(self.rows, min(self.rows + amount, len(X)))
        if "learn" in what and chunk.start < chunk.stop:
            rows = scipy.sparse.csr_array(X[chunk]) if "sparse" in what else X[chunk]
            self.model.partial_fit(rows, Y[chunk])
            self.rows = chunk.stop
        elif what == "one by one":
            for i in range(chunk.start, chunk.stop):
                self.model.learn_one(X[i], int(Y[i]))
            self.rows = chunk.stop
        elif what == "save and load":
            budgetron.save(self.model, self.folder / "model.btn")
            self.model = budgetron.load(self.folder / "model.btn")
        elif what == "pickle":
            self.model = pickle.loads(pickle.dumps(self.model))
        elif what == "snapshot":
            self.model = self.model.snapshot()
        elif what == "watch":
            self.model.watch(lambda event: None)
        elif self.rows and what == "predict":
            self.model.predict(X[:20])
        elif self.rows and what == "explain":
            self.model.explain(X[7])
        elif self.rows and what == "refused":
            with pytest.raises(ValueError, match="infinity"):
                self.model.partial_fit(np.full_like(X[:5], np.inf), Y[:5])


@pytest.mark.parametrize(("case", "more"), LEARNERS, ids=lambda value: str(value)[:30])
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(steps=operations)
def test_any_sequence_equals_the_plain_loop(
    case: Case, more: dict[str, Any], steps: list[tuple[str, int]], tmp_path: Path
) -> None:
    machine = Machine(case, more, tmp_path)
    for what, amount in steps:
        machine.do(what, amount)
    if not machine.rows:
        assert not has_learned(machine.model)
        return
    plain = case.make(random_state=4, **more)
    for i in range(machine.rows):
        plain.learn_one(X[i], int(Y[i]))
    same_counts = [(model.n_seen_, model.n_mistakes_) for model in (machine.model, plain)]
    assert same_counts[0] == same_counts[1]
    np.testing.assert_array_equal(machine.model.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(machine.model.dual_coef_, plain.dual_coef_)
    if not any("sparse" in what for what, _ in steps):  # otherwise stored rows have another layout
        same_state(machine.model, plain)
        assert to_bytes(machine.model) == to_bytes(plain)
