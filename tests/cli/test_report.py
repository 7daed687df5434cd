"""The report of `run`: metrics beside a guess's, one line per class, the curve, the status line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as reference

import budgetron
from budgetron.cli import main
from budgetron.cli._console import shortened, status_line
from budgetron.lab.report import stream_figure

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3000, 3)).round(4)
WORDS = np.where(X[:, 0] + RANDOM.normal(size=3000) / 2 > 0.7, "sick", "well")
PRICE = (1e6 + 100 * X[:, 0] + 20 * RANDOM.normal(size=3000)).round(2)


def write(path: Path, y: Any) -> str:
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("words") / "patients.csv", WORDS)


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("numbers") / "prices.csv", PRICE)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["run", *arguments])
    found = capsys.readouterr()
    assert (end.value.code or 0) == code, found.err
    return found


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    found = json.loads(said(capsys, *arguments, "--json")[0], parse_constant=refuse)
    return dict(found)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    out, err = said(capsys, *arguments, code=2)
    assert out == ""
    return err.splitlines()[-1]


@pytest.fixture
def letters(tmp_path: Path) -> str:
    towns = np.array(list("abcd"))[np.minimum(np.abs(X[:, 0] * 3).astype(int), 3)]
    return write(tmp_path / "letters.csv", towns)


def test_classification(capsys: pytest.CaptureFixture[str], patients: str) -> None:
    found = result(capsys, patients)
    model = budgetron.make("budgetron")
    decisions = model.prequential(X.astype(np.float32), WORDS)
    guess = model.classes_[(decisions >= 0).astype(int)]
    assert (found["task"], found["rows"]) == ("classification", 3000)
    assert (found["algorithm"], found["budget"]) == ("budgetron", model.budget)
    assert found["majority_rate"] == min(np.mean(WORDS == "sick"), np.mean(WORDS == "well"))
    assert found["mistake_rate"] < found["majority_rate"]
    start = 50  # what the first rows, before both classes are known, may move
    f1 = reference.f1_score(WORDS[start:], guess[start:], pos_label="well")
    assert found["f1"] == pytest.approx(f1, abs=0.01)
    assert found["positive"] == "well"
    kappa = reference.cohen_kappa_score(WORDS[start:], guess[start:])
    assert found["kappa"] == pytest.approx(kappa, abs=0.02)
    auc = reference.roc_auc_score(WORDS[start:] == "well", decisions[start:])
    assert found["auc"] == pytest.approx(auc, abs=0.01)
    assert 0 < found["log_loss"] < 0.6
    assert [each["label"] for each in found["per_class"]] == found["classes"] == ["sick", "well"]
    rows = [int(np.sum(each == WORDS)) for each in ("sick", "well")]
    assert [each["rows"] for each in found["per_class"]] == rows
    shown = said(capsys, patients)[0]
    for text in ("majority rate", "F1 (well)", "AUC", "log loss", "kappa", "precision", "recall"):
        assert text in shown


def test_the_positive_class(capsys: pytest.CaptureFixture[str], patients: str) -> None:
    found = result(capsys, patients, "--positive", "sick")
    assert found["positive"] == "sick"
    assert found["f1"] == found["per_class"][0]["f1"]
    assert found["auc"] == result(capsys, patients)["auc"]
    said = "budgetron: --positive dead: no such class; there are sick, well"
    assert complaint(capsys, patients, "--positive", "dead") == said
    assert complaint(capsys, patients, "--positive", "dead", "--classes", "sick,well") == said
    numbers = ["synthetic:sea,rows=500", "--positive"]
    assert result(capsys, *numbers, "-1")["positive"] == -1
    assert "there are -1, 1" in complaint(capsys, *numbers, "0")


def test_many_classes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    letters = np.array(list("abcdefghijklmnop"))
    y = letters[np.minimum(np.abs(X[:, 0] * 6).astype(int), 15)]
    path = write(tmp_path / "letters.csv", y)
    found = result(capsys, path)
    present = np.unique(y).tolist()
    assert found["classes"] == present
    assert found["positive"] is None
    model = budgetron.make("budgetron")
    outputs = model.prequential(X.astype(np.float32), y)
    each = [
        reference.roc_auc_score(y[there] == label, outputs[there, k])
        for k, label in enumerate(model.classes_)
        if (there := np.isfinite(outputs[:, k])).any()
    ]
    assert found["auc"] == pytest.approx(np.mean(each), abs=0.01)
    shares = [each["f1"] for each in found["per_class"]]
    assert found["f1"] == pytest.approx(np.mean(shares))
    shown = said(capsys, path)[0]
    assert f"the largest of {len(present)} classes" in shown
    assert "│ a " in shown
    assert "│ p " not in shown


def test_one_class(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path / "same.csv", ["yes"] * 3000)
    found = result(capsys, path)
    assert (found["mistakes"], found["majority_rate"]) == (1, 0)
    assert (found["auc"], found["log_loss"]) == (None, None)
    assert "yes" in said(capsys, path)[0]


def test_regression(capsys: pytest.CaptureFixture[str], prices: str) -> None:
    found = result(capsys, prices, "--label", "y")
    model = budgetron.make("budgetron", task="regression")
    answers = model.prequential(X.astype(np.float32), PRICE)[1:]
    truth = PRICE[1:]
    assert (found["task"], found["rows"]) == ("regression", 3000)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((answers - truth) ** 2)), rel=1e-9)
    assert found["mae"] == pytest.approx(np.mean(np.abs(answers - truth)), rel=1e-9)
    assert found["r2"] == pytest.approx(reference.r2_score(truth, answers), rel=1e-6)
    means = np.cumsum(PRICE)[:-1] / np.arange(1, 3000)
    assert found["mean_rmse"] == pytest.approx(np.sqrt(np.mean((means - truth) ** 2)), rel=1e-6)
    assert found["mean_mae"] == pytest.approx(np.mean(np.abs(means - truth)), rel=1e-6)
    assert found["rmse"] < found["mean_rmse"] < 200  # row 1, a million off, is not in either
    shown = said(capsys, prices)[0]
    for text in ("R2", "RMSE of the mean", "MAE of the mean"):
        assert text in shown
    one = result(capsys, prices, "--rows", "1", "--task", "regression")
    assert [one[name] for name in ("rmse", "mae", "r2", "mean_rmse")] == [None] * 4
    assert "regression has no classes" in complaint(capsys, prices, "--positive", "1")


@pytest.mark.parametrize("which", ["patients", "prices", "letters"])
def test_a_resumed_run_reports_what_one_without_a_stop_does(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, which: str, request: pytest.FixtureRequest
) -> None:
    """Rows are added to a log: no bit of a metric or of the figure changes."""
    path = Path(request.getfixturevalue(which))
    grown = tmp_path / "log.csv"
    lines = path.read_text().splitlines(keepends=True)
    kept = ["--checkpoint", str(tmp_path / "kept.btn"), "--every", "100"]
    for rows in (1234, 2222, 3000):
        grown.write_text("".join(lines[: rows + 1]))
        picture = ["--plot", str(tmp_path / "resumed.svg")]
        resumed = result(capsys, str(grown), *kept, *picture)
    assert resumed["resumed_from"] == 2222
    whole = result(capsys, str(grown), "--plot", str(tmp_path / "whole.svg"))
    differs = {"seconds", "rows_per_second", "resumed_from"}
    assert {k: v for k, v in resumed.items() if k not in differs} == {
        k: v for k, v in whole.items() if k not in differs
    }
    assert (tmp_path / "resumed.svg").read_bytes() == (tmp_path / "whole.svg").read_bytes()


# ---- the picture ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_plot(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    patients: str,
    prices: str,
    name: str,
    start: bytes,
) -> None:
    path = tmp_path / name
    for source, rows in [(patients, "3000"), (prices, "3000"), (patients, "1"), (prices, "20")]:
        task = ["--task", "regression" if source == prices else "classification"]
        said(capsys, source, "--rows", rows, *task, "--plot", str(path))
        assert path.read_bytes().startswith(start)
        path.unlink()


def test_the_lines_of_the_plot(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    patients: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(stream_figure, "save_as", lambda figure, path: drawn.append(figure))
    found = result(capsys, patients, "--plot", str(tmp_path / "a.png"))
    window, so_far, majority = drawn[0].axes[0].get_lines()
    assert so_far.get_xydata()[-1].tolist() == [3000, 100 * found["mistake_rate"]]
    assert majority.get_xydata()[-1].tolist() == [3000, 100 * found["majority_rate"]]
    assert window.get_label() == "last 112 rows"
    model = budgetron.make("budgetron")
    decisions = model.prequential(X.astype(np.float32), WORDS)
    wrong = model.classes_[(decisions >= 0).astype(int)] != WORDS
    at, share = window.get_xydata()[10]
    assert share == pytest.approx(100 * wrong[int(at) - 112 : int(at)].mean())


def test_no_plot_can_be_drawn(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    patients: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = complaint(capsys, patients, "--plot", "a.gif")
    assert said == "budgetron: --plot a.gif: the name of a picture must end in .png, .svg or .pdf"
    assert "there is no folder" in complaint(capsys, patients, "--plot", str(tmp_path / "no/a.png"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = complaint(capsys, patients, "--plot", str(tmp_path / "a.png"))
    assert said == "budgetron: --plot needs Matplotlib: pip install 'budgetron[lab]'"


# ---- the status line -----------------------------------------------------------------------------


def test_the_status_line_has_80_columns() -> None:
    text = "1,234,567 rows · 12.34% mistakes · 123,456 rows/s · 1,000 stored · 123.4 kB"
    name = "a_table_with_a_name_that_nobody_would_type.csv.xz"
    line = status_line(name, 42.9, 3 * 3600 + 65, text, 80)
    start = "a_table_with….csv.xz · 42 % · 3:01:05 left"
    assert line == f"{start} · 1,234,567 rows · 12.34% mistakes"
    assert len(line) <= 80
    assert "42 % · 3:01:05 left · 1,234,567 rows" in line
    assert status_line("a.csv", 99.99, 4, "", 80) == "a.csv · 99 % · 0:04 left"
    assert status_line("<stdin>", None, None, text, 60) == (
        "<stdin> · 1,234,567 rows · 12.34% mistakes · 123,456 rows/s"
    )
    assert status_line("a.csv", 1, 2, text, 3) == "a.csv"
    for most in (2, 3, 10, 24):
        assert len(shortened(name, most)) <= most


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_per_cent_is_of_the_bytes_on_disk(patients: str, tmp_path: Path, ending: str) -> None:
    import gzip
    import lzma

    from budgetron.streams import open_stream

    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[ending]
    path = tmp_path / f"rows.csv{ending}"
    path.write_bytes(pack(Path(patients).read_bytes()))
    with open_stream(str(path), label="y") as stream:
        assert stream.amount == path.stat().st_size
        for _ in stream:
            done = stream.amount_done(stream.position, stream.bytes_read)
        assert done == stream.amount
    with open_stream(str(path), label="y", rows=5000) as stream:  # more than there are
        assert stream.amount == 5000
        list(stream)
        assert stream.amount_done(stream.position, stream.bytes_read) == 5000
    with open_stream("synthetic:sea,rows=400") as stream:
        list(stream)
        assert stream.amount_done(stream.position, stream.bytes_read) == stream.amount == 400


def test_findings_are_reported_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{i % 7},{'ab'[i % 2]},{'yes' if i % 3 else 'no'}\n" for i in range(300)]
    path.write_text("n,town,buys\n" + "".join(lines))
    out, err = said(capsys, str(path), "--label", "buys")
    sentence = "label 'buys': 2 distinct words in 300 rows: classification"
    assert err == f"budgetron: {sentence}\n"
    assert "category" in out
    out, err = said(capsys, str(path), "--label", "buys", "--json")
    kinds = f"{path}: columns: 1 number, 1 category (budgetron inspect shows them)"
    assert err.splitlines() == [f"budgetron: {sentence}", f"budgetron: {kinds}"]
    told = complaint(capsys, str(path), "--label", "buys", "--positive", "maybe")
    assert told == "budgetron: --positive maybe: no such class; there are no, yes"
    assert said(capsys, str(path), "--label", "buys", "--positive", "x", code=2)[1].count("\n") == 1
