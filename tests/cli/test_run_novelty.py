"""`run --algorithm anomaly`: alarms without labels, AUC with them, and what the others then do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import budgetron
import budgetron.river
from budgetron import BudgetronAnomaly, BudgetronError
from budgetron.cli import main

RANDOM = np.random.default_rng(0)
ROWS = 4000
ANGLE = RANDOM.uniform(0, 2 * np.pi, size=ROWS)
X = np.c_[np.cos(ANGLE), np.sin(ANGLE)] + RANDOM.normal(size=(ROWS, 2)) / 20
STRANGE = RANDOM.random(ROWS) < 0.02
X[STRANGE] = RANDOM.uniform(-2, 2, size=(STRANGE.sum(), 2))
X = X.astype(np.float32)
WORDS = np.where(STRANGE, "attack", "normal")
RUN = ("-a", "anomaly", "--set", "alarm_rate=0.05")


def write(path: Path, labels: Any = None, name: str = "label") -> str:
    columns = {"east": X[:, 0], "north": X[:, 1]} | ({} if labels is None else {name: labels})
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("novelty") / "ring.csv", STRANGE.astype(int))


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(list(words))
    found = capsys.readouterr()
    assert (end.value.code or 0) == code, found.err
    return found


def result(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    return dict(json.loads(said(capsys, "run", *words, "--json")[0]))


def test_rows_are_scored_before_they_are_learned(
    capsys: pytest.CaptureFixture[str], ring: str
) -> None:
    model = BudgetronAnomaly(alarm_rate=0.05)
    decisions = model.prequential_decisions(X)
    scores = BudgetronAnomaly(alarm_rate=0.05).prequential(X)
    found = result(capsys, ring, *RUN)
    assert (found["algorithm"], found["task"], found["rows"]) == ("anomaly", "novelty", ROWS)
    alarms = decisions < 0
    assert found["alarms"] == alarms.sum() > 0.02 * ROWS
    assert found["alarm_rate_asked"] == 0.05
    assert found["strange"] == STRANGE.sum()
    assert found["recall"] == pytest.approx(alarms[STRANGE].mean())
    assert found["precision"] == pytest.approx(STRANGE[alarms].mean())
    assert found["auc"] == pytest.approx(roc_auc_score(STRANGE, -scores), abs=2e-3)
    out, _ = said(capsys, "run", ring, *RUN)
    assert f"alarm rate (of 5%)         │   {alarms.mean():.2%}" in out
    assert "AUC" in out


def test_without_labels_there_are_alarms_only(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ring: str
) -> None:
    bare = write(tmp_path / "bare.csv")
    found = result(capsys, bare, *RUN)
    assert found["alarms"] == result(capsys, ring, *RUN)["alarms"]
    assert (found["auc"], found["strange"], found["recall"]) == (None, None, None)
    assert "AUC" not in said(capsys, "run", bare, *RUN)[0]
    lines = (f"{label} 1:{x} 2:{y}\n" for label, (x, y) in zip(WORDS == "attack", X, strict=True))
    text = "".join(lines).replace("True", "1").replace("False", "-1")
    (tmp_path / "ring.svm").write_text(text)
    assert result(capsys, str(tmp_path / "ring.svm"), *RUN, "--label", "none")["auc"] is None
    assert result(capsys, str(tmp_path / "ring.svm"), *RUN, "--positive", "1")["auc"] > 0.85


def test_words_need_to_be_told_which_is_strange(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ring: str
) -> None:
    words = write(tmp_path / "words.csv", WORDS, "kind")
    asked = (*RUN, "--label", "kind")
    found = result(capsys, words, *asked, "--positive", "attack")
    assert found["auc"] == result(capsys, ring, *RUN)["auc"]

    def refused(*more: str) -> str:
        return said(capsys, "run", *more, code=2)[1]

    assert "label 'attack' is not 0 or 1" in refused(words, *asked)
    assert "no row has this label" in refused(words, *asked, "--positive", "atack")
    assert "--label COLUMN" in refused(write(tmp_path / "b.csv"), *RUN, "--positive", "1")
    assert "anomaly does not do regression" in refused(ring, *RUN, "--task", "regression")
    assert "--coverage is for labels" in refused(ring, *RUN, "--coverage", "0.9")
    assert "--classes is for classification" in refused(ring, *RUN, "--classes", "0,1")
    assert "its masses count the rows of one stream" in refused(ring, *RUN, "--workers", "2")
    assert "these do: anomaly" in refused(ring, "--task", "novelty")
    late = ("tail:" + ring, *RUN, "--labels", "tail:" + ring, "--id", "east")
    assert "learns without labels" in refused(*late)


def test_a_saved_model_scores_rows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ring: str
) -> None:
    path = str(tmp_path / "ring.btn")
    found = result(capsys, ring, *RUN, "--save", path)
    model = budgetron.load(path)
    assert "│ algorithm       │ anomaly" in said(capsys, "info", path)[0]
    out, err = said(capsys, "predict", path, ring, "--label", "label")
    lines = out.splitlines()
    assert lines[0] == "row,score,alarm"
    cells = np.array([line.split(",") for line in lines[1:]], float)
    np.testing.assert_allclose(cells[:, 1], -model.score_samples(X), rtol=1e-6)
    np.testing.assert_array_equal(cells[:, 2] == 1, model.predict(X) == -1)
    auc = roc_auc_score(STRANGE, -model.score_samples(X))
    assert f"{ROWS:,} rows with a label: {cells[:, 2].mean():.2%} alarms" in err
    assert float(err.rpartition("AUC ")[2]) == pytest.approx(auc, abs=2e-3)
    out, _ = said(capsys, "predict", path, ring, "--output", "decisions")
    decisions = np.array([line.split(",")[1] for line in out.splitlines()[1:]], float)
    np.testing.assert_allclose(decisions, model.decision_function(X), rtol=1e-5, atol=1e-8)
    assert (
        "no probabilities"
        in said(capsys, "predict", path, ring, "--output=probabilities", code=2)[1]
    )
    assert "--explain does not work" in said(capsys, "predict", path, ring, "--explain", code=2)[1]
    assert found["n_support"] == model.n_support_


def test_answers_have_scores_and_alarms(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ring: str
) -> None:
    out = tmp_path / "out.jsonl"
    words = (f"tail:{ring}", "--format", "csv", *RUN, "--idle", "0", "--out", str(out))
    found = result(capsys, *words)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    scores = -BudgetronAnomaly().prequential(X)
    np.testing.assert_allclose([line["prediction"] for line in lines], scores, rtol=1e-6)
    assert sum(line["alarm"] for line in lines) == found["alarms"]
    assert [line["label"] for line in lines] == STRANGE.astype(int).tolist()


def test_a_run_goes_on_from_its_checkpoint(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ring: str
) -> None:
    whole = result(capsys, ring, *RUN)
    part = tmp_path / "part.csv"
    lines = Path(ring).read_text().splitlines(keepends=True)
    part.write_text("".join(lines[:2001]))
    keep = ("--checkpoint", str(tmp_path / "keep.btn"), "--every", "500")
    result(capsys, str(part), *RUN, *keep)
    part.write_text("".join(lines))
    again = result(capsys, str(part), *RUN, *keep)
    assert again["resumed_from"] == 2000
    for name in ("rows", "alarms", "strange", "auc", "precision", "recall", "n_support"):
        assert again[name] == whole[name], name


def test_the_detector_is_listed_made_and_not_merged() -> None:
    assert [each.name for each in budgetron.algorithms("novelty")] == ["anomaly"]
    assert type(budgetron.make("anomaly", "novelty", budget=9)) is BudgetronAnomaly
    assert type(budgetron.river.make("anomaly", "novelty")) is budgetron.river.BudgetronAnomaly
    with pytest.raises(BudgetronError, match="anomaly does novelty, not 'classification'"):
        budgetron.make("anomaly")
    with pytest.raises(BudgetronError, match="cannot be merged"):
        BudgetronAnomaly().fit(X).base()


def test_label_none_leaves_the_column_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ring: str
) -> None:
    bare = result(capsys, write(tmp_path / "bare.csv"), *RUN)
    path = str(tmp_path / "none.btn")
    found = result(capsys, ring, *RUN, "--label", "none", "--save", path)
    assert (found["n_features"], found["alarms"]) == (2, bare["alarms"])
    assert found["auc"] is None
    said(capsys, "predict", path, str(tmp_path / "bare.csv"))


def test_rows_without_a_label_are_scored_and_learned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ring: str
) -> None:
    whole = result(capsys, ring, *RUN)
    labels = np.where(np.arange(ROWS) % 3 == 2, "", STRANGE.astype(int).astype(str))
    some = result(capsys, write(tmp_path / "some.csv", labels, "label"), *RUN)
    assert (some["rows"], some["alarms"]) == (ROWS, whole["alarms"])
    assert some["strange"] == (labels == "1").sum() < whole["strange"]
    words = np.where(labels == "", "", WORDS)
    typed = (*RUN, "--label", "kind", "--positive", "attack")
    again = result(capsys, write(tmp_path / "words.csv", words, "kind"), *typed)
    compared = ("alarms", "strange", "recall", "precision", "auc")
    assert [again[name] for name in compared] == [some[name] for name in compared]
    truth = np.where(STRANGE, "True", "false")
    named = result(capsys, write(tmp_path / "named.csv", truth, "label"), *RUN)
    assert [named[name] for name in compared] == [whole[name] for name in compared]


def test_a_share_of_nothing_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    calm = result(capsys, write(tmp_path / "calm.csv", np.zeros(ROWS, int), "label"), *RUN)
    assert (calm["strange"], calm["recall"], calm["auc"]) == (0, None, None)
    assert calm["precision"] == 0.0


def test_the_strange_label_is_kept_for_predict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    signs = write(tmp_path / "signs.csv", np.where(STRANGE, -1, 1), "label")
    path = str(tmp_path / "signs.btn")
    result(capsys, signs, *RUN, "--positive", "-1", "--save", path)
    err = said(capsys, "predict", path, signs, "--label", "label")[1]
    assert f"{ROWS:,} rows with a label" in err
    assert float(err.rpartition("AUC ")[2]) > 0.85
    result(capsys, write(tmp_path / "bare.csv"), *RUN, "--save", path)
    err = said(capsys, "predict", path, signs, "--label", "label")[1]
    assert "label '-1' is not 0 or 1 (strange)" in err
    err = said(capsys, "predict", path, signs, "--label", "label", "--positive", "-1")[1]
    assert float(err.rpartition("AUC ")[2]) > 0.85


def test_other_verbs_say_that_they_take_no_detector(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ring: str
) -> None:
    path = str(tmp_path / "ring.btn")
    result(capsys, ring, *RUN, "--save", path)
    for words, meant in (
        (["serve", path], "cannot be served"),
        (["serve", "--new", "new", "--learn", "-a", "anomaly"], "cannot be served"),
        (["export", path, "--to", "c", "--out", str(tmp_path / "x.h")], "cannot be exported"),
        (["tune", ring, "-a", "anomaly", "--grid", "gamma=1,2"], "learns without labels"),
    ):
        error = said(capsys, *words, code=2)[1]
        assert meant in error
        assert error.count("\n") == 1
