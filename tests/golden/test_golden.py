"""Files of earlier versions: loaded with the state exact and answers to 1e-6, from now on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import budgetron
from budgetron import model_file
from tests.golden.make import answers, models
from tests.support.native import state_of

HERE = Path(__file__).resolve().parent
FILES = sorted(HERE.glob("*.btn"))
EXPECTED = json.loads((HERE / "answers.json").read_text())


def test_there_is_a_file_for_every_answer() -> None:
    assert {path.stem for path in FILES} == EXPECTED.keys() == models().keys()


def test_all_formats_that_are_read_have_a_file() -> None:
    written = {model_file.read_header(path)["format"] for path in FILES}
    assert written == set(model_file.READ)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_stays_readable(path: Path) -> None:
    document, arrays = model_file._take_apart(path)[:2]
    model = budgetron.load(path)
    state = state_of(model)
    assert state.keys() >= arrays.keys()
    for later in state.keys() - arrays.keys():  # fields that its format did not have
        assert document["format"] < model_file.FORMAT
        assert not state[later].size
    for name, array in arrays.items():
        assert state[name].dtype == array.dtype
        np.testing.assert_array_equal(state[name], array, err_msg=name)
    written, wrote_now = document["learned"], _document(model)["learned"]
    assert written == wrote_now
    np.testing.assert_allclose(answers(model), EXPECTED[path.stem], rtol=1e-6, atol=1e-6)


def _document(model: object) -> dict[str, object]:
    data = model_file.to_bytes(model)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return dict(json.loads(header["__metadata__"][model_file.KEY]))
