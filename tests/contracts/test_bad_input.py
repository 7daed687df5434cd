"""Bad input never corrupts: after a refused call the model is the same, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from budgetron.checks import contracts
from budgetron.model_file import to_bytes
from tests.support.cases import CASES, REGRESSION, Case, numeric_stream, stream

each_case = pytest.mark.parametrize("case", CASES + REGRESSION, ids=str)

# The error message of each of `contracts.bad_calls`.
SAYS = {
    "nan": "NaN",
    "infinity": "infinity",
    "sparse nan": "NaN",
    "sparse infinity": "infinity",
    "wide": "features",
    "narrow": "features",
    "empty": "0 sample|at least one",
    "one dimension": "2D array|Expected 2D|inconsistent numbers",
    "text": "not a number",
    "fewer targets": "inconsistent numbers",
    "nan target": "NaN",
    "no target": "y",
    "strange label": "not among the class",
    "text label": "not among the class",
}


def test_every_bad_call_has_its_message() -> None:
    calls = contracts.bad_calls(CASES[0].make(scale=None), *stream(30))
    gaps = contracts.bad_calls(CASES[0].make(scale="auto"), *stream(30))
    numbers = contracts.bad_calls(REGRESSION[0].make(scale=None), *numeric_stream(30))
    assert numbers.keys() < calls.keys()
    assert calls.keys() | gaps.keys() == SAYS.keys()
    assert SAYS.keys() - gaps.keys() == {"nan", "sparse nan"}


@each_case
def test_a_refused_call_leaves_the_same_bytes(case: Case) -> None:
    contracts.check_refused_calls_change_nothing(case.make(scale="standard"), says=SAYS)
    contracts.check_refused_calls_change_nothing(case.make(scale="auto"), says=SAYS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_undeclared_class_of_another_kind_is_refused(case: Case) -> None:
    X, y = stream(60)
    model = case.make().partial_fit(X, y)
    before = to_bytes(model)
    with pytest.raises(ValueError, match="all are numbers or none is"):
        model.partial_fit(X, np.array(["a", "b"])[y])
    assert to_bytes(model) == before
