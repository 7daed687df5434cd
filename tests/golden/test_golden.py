"""Files of earlier versions load with the exact state, and answer as before to 1e-6."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from sklearn.pipeline import Pipeline

import budgetron
from budgetron import model_file
from budgetron.cli import main
from budgetron.model_file.formats import of_this_format
from papers.calibration import Calibration
from tests.golden.make import answers, line, models, rows
from tests.support.native import state_of

HERE = Path(__file__).resolve().parent
FILES = sorted(HERE.glob("*.btn"))
EXPECTED = json.loads((HERE / "answers.json").read_text())
LEARNED_ON = json.loads((HERE / "learned_on.json").read_text())  # from the version that wrote them


def test_there_is_a_file_for_every_answer() -> None:
    assert {path.stem for path in FILES} == EXPECTED.keys() == models().keys()


def test_all_formats_that_are_read_have_a_file() -> None:
    written = {model_file.read_header(path)["format"] for path in FILES}
    assert written == set(model_file.READ)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_stays_readable(path: Path) -> None:
    document, arrays = model_file._take_apart(path)[:2]
    now, arrays = of_this_format(document, arrays)
    model = budgetron.load(path)
    state = state_of(model[-1] if isinstance(model, Pipeline) else model)
    arrays = {name: each for name, each in arrays.items() if not name.startswith("pipeline/")}
    if document["format"] < 4:  # probabilities had other sums
        state, arrays = (
            {name: each for name, each in of.items() if not name.startswith("calibration/")}
            for of in (state, arrays)
        )
    assert state.keys() == arrays.keys()
    for name, array in arrays.items():
        assert state[name].dtype == array.dtype
        if name.endswith("support/widths") and -1 in array:
            array = np.full_like(array, -1)  # one layout for all examples, since decision 0063
        np.testing.assert_array_equal(state[name], array, err_msg=name)
    wrote_now = _document(model)
    assert now["learned"] == wrote_now["learned"]
    assert now.get("pipeline") == wrote_now.get("pipeline")
    np.testing.assert_allclose(answers(model), EXPECTED[path.stem], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LEARNED_ON)
def test_a_budgetron_of_before_learns_on_as_it_would_have(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without straight part, floor, reflex, metric and race, as `info` also says."""
    model = budgetron.load(HERE / f"{name}.btn")
    X, y = rows(300, 4)
    X = X * [1, 10, 100, 1]
    model.partial_fit(X, line(X) if "regression" in name else y)
    np.testing.assert_allclose(answers(model), LEARNED_ON[name], rtol=1e-6, atol=1e-6)
    assert (model.straight, model.floor, model.relevance) == ("none", 0.0, False)
    assert model.gamma == "median"
    assert not model.coef_.any()
    np.testing.assert_array_equal(model.feature_relevance_, 1.0)
    assert not any(key.startswith(("race", "contender")) for key in state_of(model))
    with pytest.raises(SystemExit):
        main(["info", str(HERE / f"{name}.btn")])
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    off = "straight part, floor, metric, race of widths, reflex"
    assert f"{off}: the file is older than these parts" in text


def with_sigmoids(path: Path) -> bool:
    classifies = "calibration/slope" in model_file._take_apart(path)[1]
    return model_file.read_header(path)["format"] < 4 and classifies


@pytest.mark.parametrize("path", list(filter(with_sigmoids, FILES)), ids=lambda path: path.stem)
def test_sigmoids_of_earlier_formats_go_on_as_sides(path: Path) -> None:
    """Their probabilities stay, except where the predicted class was not the likeliest."""
    arrays, model = model_file._take_apart(path)[1], budgetron.load(path)
    slope, offset = arrays["calibration/slope"], arrays["calibration/offset"]
    X = rows(200, 3)[0]
    f = model.decision_function(X)
    P = model.predict_proba(X)
    columns = f[:, None] if f.ndim == 1 else f
    margins = np.array([Calibration.margins(each) for each in columns])
    then = expit(slope * margins + offset)
    if len(slope) == 1:
        agreed = (then[:, 0] > 0.5 + 1e-9) == (f >= 0)
        # Within a hundredth of the usual |f| they start from 1/2.
        agreed &= np.abs(f) > 0.02 * np.sqrt(np.mean(f**2))
        then = np.hstack([1 - then, then])
    else:
        then /= then.sum(axis=1, keepdims=True)
        agreed = then.argmax(axis=1) == f.argmax(axis=1)
    assert agreed.mean() > 0.5
    np.testing.assert_allclose(P[agreed], then[agreed], rtol=1e-6, atol=1e-9)
    assert (P.argmax(axis=1) == np.searchsorted(model.classes_, model.predict(X))).all()
    # The fit continues from there: the lines solve the sums.
    for side in map(dict, zip(*numbers_of_sides(model), strict=True)):
        square = side["squares"] / max(side["weight"], 1e-300)
        matrix = np.array(
            [
                [side["curve_mm"] + 0.25 * square, side["curve_m"]],
                [side["curve_m"], side["curve"] + 0.25],
            ]
        )
        line = np.array([side["slope"], side["offset"]])
        pull = np.array([side["pull_m"], side["pull"]])
        np.testing.assert_allclose(matrix @ line, pull, rtol=1e-9, atol=1e-9)


def numbers_of_sides(model: object) -> list[list[tuple[str, float]]]:
    """For each number of a side, its name and value for every side."""
    state = state_of(model)  # type: ignore[attr-defined]
    start = "calibration/"
    names = [name for name in state if name.startswith(start) and name != start + "rows"]
    return [[(name.removeprefix(start), x) for x in state[name]] for name in names]


def _document(model: object) -> dict[str, object]:
    data = model_file.to_bytes(model)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return dict(json.loads(header["__metadata__"][model_file.KEY]))
