"""Learning: rows, labels that come later, retries, new models."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import budgetron
from budgetron.client import Client, ServeError
from budgetron.model_file import to_bytes
from budgetron.serve import Settings, running
from budgetron.serve.definition import Definition
from budgetron.serve.server import Background
from tests.serve.serving import ask, rings, taught

X, Y = rings(900, seed=3)


def bits(model: Any) -> bytes:
    return to_bytes(model)


def test_learning_leaves_the_bits_of_the_library(tmp_path: Path) -> None:
    model = taught()
    with running({"rings": model}, Settings(learn=True, folder=tmp_path)) as url:
        client = Client(url, "rings")
        client.learn(X[:1], Y[:1])
        client.learn(X[1:300], Y[1:300])
        client.learn_table(
            pa.table({"x0": X[300:500, 0], "x1": X[300:500, 1], "label": Y[300:500]})
        )
        told = client.learn(X[500:], Y[500:])
    assert (told.learned, told.rows, told.again) == (400, 1200, False)
    wanted = taught().partial_fit(X, Y)
    assert bits(model) == bits(wanted)
    assert bits(budgetron.load(tmp_path / "rings.btn")) == bits(wanted)


@pytest.mark.parametrize("folder", [False, True])
def test_a_label_that_comes_later(tmp_path: Path, folder: bool) -> None:
    model = taught()
    settings = Settings(learn=True, folder=tmp_path if folder else None)
    with running({"rings": model}, settings) as url:
        client = Client(url, "rings")
        before = model.n_seen_
        assert client.infer(X[:1], id="a").kept
        assert client.infer(X[1:4], id="b").kept
        assert model.n_seen_ == before
        assert client.label("a", Y[0]) == (1, False, before + 1, "a")
        assert client.label("a", Y[0]) == (0, True, before + 1, "a")
        assert not client.infer(X[:1], id="a").kept  # it has been learned
        with pytest.raises(ServeError, match="3 rows wait"):
            client.label("b", "near")
        assert client.label("b", Y[1:4]).learned == 3
        with pytest.raises(ServeError, match="no row waits") as raised:
            client.label("c", "near")
        assert raised.value.status == 404
        waiting = client.stats()["waiting"]
    assert waiting == {"rows": 0, "matched": 2, "unmatched": 1, "expired": 0, "lost": 0}
    assert bits(model) == bits(taught().partial_fit(X[:4], Y[:4]))


def test_labels_of_several_ids_at_once() -> None:
    with running({"rings": taught()}) as url:
        client = Client(url, "rings")
        for i in range(3):
            client.infer(X[i : i + 1], id=f"id {i}")
        client.label("id 1", Y[1])
        body = {"ids": ["id 0", "id 1", "id 2", "id 3"], "labels": Y[:4]}
        told = ask(url, "/v2/models/rings/learn", body).json
    statuses = [each["status"] for each in told["results"]]
    assert statuses == ["learned", "already learned", "learned", "refused"]
    assert told["learned"] == 2


def test_labels_are_joined_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(learn=True, folder=tmp_path)
    with running({"rings": taught()}, settings) as url:
        Client(url, "rings").infer(X[:1], id="late")
        Client(url, "rings").infer(X[1:2], id="learned")
        Client(url, "rings").label("learned", Y[1])
    with running({"rings": taught()}, settings) as url:
        client = Client(url, "rings")
        assert client.stats()["waiting"]["rows"] == 1
        assert client.label("learned", Y[1]).again
        assert client.label("late", Y[0]) == (1, False, 302, "late")


def test_retries_are_known_after_a_restart_and_by_all_threads(tmp_path: Path) -> None:
    settings = Settings(learn=True, folder=tmp_path)
    found: list[Any] = []
    for _ in range(2):
        with running({"rings": taught()}, settings) as url:
            client = Client(url, "rings")
            send = lambda: found.append(client.learn(X[:2], Y[:2], id="once"))  # noqa: B023, E731
            threads = [threading.Thread(target=send) for _ in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            assert client.stats()["rows"] == 302
    assert sorted(each.learned for each in found) == [0] * 7 + [2]


BAD = {
    "no labels": {"rows": [[0, 0]]},
    "too few labels": {"rows": [[0, 0], [1, 1]], "labels": ["far"]},
    "no row": {"labels": ["far"]},
    "a label that is no label": {"rows": [[0, 0]], "labels": [{"a": 1}]},
    "labels of two kinds": {"rows": [[0, 0], [1, 1]], "labels": ["far", 1]},
    "a number among words": {"rows": [[0, 0]], "labels": [1.5]},
    "label and labels": {"rows": [[0, 0]], "labels": ["far"], "label": "far"},
    "an infinity": b'{"rows": [[0, 1e999]], "labels": ["far"]}',
    "a second row of another width": {"rows": [[0, 0], [1]], "labels": ["far", "far"]},
    "ids and rows": {"ids": ["a"], "rows": [[0, 0]], "labels": ["far"]},
    "an id twice": {"ids": ["a", "a"], "labels": ["far", "far"]},
    "a zero byte in a label": {"rows": [[0, 0]], "labels": ["far\0"]},
    "a long label": {"rows": [[0, 0]], "labels": ["x" * 1001]},
    "a number too large for a column": {"rows": [{"x0": 10**400, "x1": 0}], "labels": ["far"]},
}


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("kind", ["table", "number", "words"])
def test_numbers_too_large_for_a_label_or_a_cell(kind: str, digits: int) -> None:
    large = b"1" + b"0" * digits
    rows: Any = [{"x0": i, "x1": i % 2} for i in range(40)]
    model: Any = budgetron.BudgetronClassifier(budget=20)
    if kind == "number":
        model = budgetron.BudgetronRegressor(budget=20)
    with running({"new": model}) as url:
        labels = [i % 5 if kind == "number" else "ab"[i % 2] for i in range(40)]
        if kind == "words":
            rows = [[*each.values()] for each in rows]
        Client(url, "new").learn(rows, labels)
        row = b"[1, 1]" if kind == "words" else b'{"x0": 1, "x1": 1}'
        wide = b"[%s, 1]" % large if kind == "words" else b'{"x0": %s, "x1": 1}' % large
        for body in (b'{"rows": [%s], "labels": [%s]}' % (row, large), b'{"rows": [%s]}' % wide):
            verb = "learn" if b"labels" in body else "infer"
            reply = ask(url, f"/v2/models/new/{verb}", body)
            assert reply.status in ((400,) if verb == "learn" else (200, 400)), reply.body
        assert ask(url, "/v2/models/new/stats").json["rows"] == 40


def test_labels_in_arrow_that_are_no_number_are_refused() -> None:
    rows = [{"x0": i, "x1": i % 2} for i in range(40)]
    with running({"new": budgetron.BudgetronClassifier(budget=20)}) as url:
        Client(url, "new").learn(rows, ["ab"[i % 2] for i in range(40)])
        for wrong in (float("nan"), float("inf"), None):
            table = pa.table({"x0": [1.0], "x1": [0.0], "label": pa.array([wrong], pa.float64())})
            with pytest.raises(ServeError, match="label"):
                Client(url, "new").learn_table(table)


def test_what_is_refused_leaves_model_and_log_as_they_were(tmp_path: Path) -> None:
    model = taught()
    before = bits(model)
    with running({"rings": model}, Settings(learn=True, folder=tmp_path)) as url:
        for what, body in BAD.items():
            reply = ask(url, "/v2/models/rings/learn", body)
            assert reply.status == 400, what
            assert set(reply.json) == {"error"}, what
        assert bits(model) == before
        assert ask(url, "/v2/models/rings/stats").json["rows_here"] == 0


def test_a_record_that_the_model_refuses_changes_nothing_at_a_replay_either(tmp_path: Path) -> None:
    """A label outside the closed classes is detected when it is learned: after the log."""
    from budgetron.serve.log import Log

    wanted = budgetron.BudgetronClassifier(budget=30).partial_fit(X[:50], Y[:50], ["far", "near"])
    model = wanted.snapshot()
    with running({"rings": model}, Settings(learn=True, folder=tmp_path)) as url:
        client = Client(url, "rings")
        with pytest.raises(ServeError, match="not among the classes"):
            client.learn(X[50:53], ["far", "off", "near"], id="x")
        assert bits(model) == bits(wanted)
        assert client.learn(X[50:53], Y[50:53], id="x").learned == 3  # the id was not learned
        (tmp_path / "copy").mkdir()
        for path in tmp_path.glob("rings.*"):
            (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    assert len(list(Log(tmp_path / "copy", "rings", durable=False, keep=True).replay(0))) == 2
    again = wanted.snapshot()
    with running({"rings": again}, Settings(learn=True, folder=tmp_path / "copy")) as url:
        client = Client(url, "rings")
        assert client.stats()["rows"] == 53
        assert client.learn(X[50:53], Y[50:53], id="x").again


def test_a_refused_first_request_does_not_say_what_the_columns_are(tmp_path: Path) -> None:
    model = budgetron.BudgetronClassifier(budget=20)
    new = Definition("new", model, classes=["a", "b"])
    with Background([new], Settings(learn=True, folder=tmp_path)) as url:
        client = Client(url, "new")
        with pytest.raises(ServeError, match="not among the classes"):
            client.learn([{"x": 1, "y": 2}, {"x": 2, "y": 1}], ["a", "c"])
        assert client.learn([{"z": 1}, {"z": 2}], ["a", "b"]).learned == 2
        assert client.stats()["rows"] == 2


def test_what_is_too_large_to_wait_is_not_said_to_be_kept() -> None:
    with running({"rings": taught()}, Settings(learn=True, waiting_bytes=1000)) as url:
        client = Client(url, "rings")
        assert client.infer(X[:1], id="small").kept
        assert not client.infer(X[:300], id="large").kept


def test_ids_come_within_the_limit_and_with_labels_alone() -> None:
    with running({"rings": taught()}, Settings(learn=True, most_rows=3)) as url:
        body: Any = {"ids": ["a", "b", "c", "d"], "labels": Y[:4]}
        assert ask(url, "/v2/models/rings/learn", body).status == 413
        tensor = {"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [0, 0]}
        body = {"ids": ["a"], "labels": Y[:1], "inputs": [tensor]}
        assert ask(url, "/v2/models/rings/learn", body).status == 400


def test_a_new_class_joins() -> None:
    model = taught()
    with running({"rings": model}) as url:
        client = Client(url, "rings")
        client.learn([[9.0, 9.0]] * 3, ["away"] * 3)
        assert client.infer([[0.0, 0.0]]).classes == ["away", "far", "near"]
    wanted = taught().partial_fit(np.full((3, 2), 9.0), ["away"] * 3)
    assert bits(model) == bits(wanted)


def test_a_new_model_of_numbers_with_a_budget_in_bytes(tmp_path: Path) -> None:
    from budgetron.serve.definition import Definition
    from budgetron.serve.server import Background

    settings = Settings(learn=True, folder=tmp_path)
    for rows in (0, 300):
        new = budgetron.BudgetronClassifier(budget="100KB")
        with Background([Definition("new", new, None, ["far", "near"])], settings) as url:
            client = Client(url, "new")
            assert client.stats()["rows"] == rows
            client.learn(X[rows : rows + 300], Y[rows : rows + 300])
            assert client.stats()["memory_bytes"] <= 100_000
    wanted = budgetron.BudgetronClassifier(budget="100KB")
    wanted.partial_fit(X[:600], Y[:600], classes=["far", "near"])
    assert bits(budgetron.load(tmp_path / "new.btn")) == bits(wanted)


def test_a_new_model_of_a_table_reads_it_alike_after_a_restart(tmp_path: Path) -> None:
    towns = [["Rome", "Oslo", "Bern"][i % 3] for i in range(60)]
    rows = [{"town": t, "size": i % 7, "note": None} for i, t in enumerate(towns)]
    labels = [t == "Rome" for t in towns]
    settings = Settings(learn=True, folder=tmp_path)
    with running({"new": budgetron.BudgetronClassifier(budget=20)}, settings) as url:
        client = Client(url, "new")
        with pytest.raises(ServeError, match="learned nothing"):
            client.infer(rows[:1])
        client.learn(rows, labels)
        before = client.infer(rows[:9])
        assert before.labels == labels[:9]
    with running({"new": budgetron.BudgetronClassifier(budget=20)}, settings) as url:
        client = Client(url, "new")
        assert client.infer(rows[:9]) == before
        with pytest.raises(ServeError, match="did you mean 'town'"):
            client.infer([{"twon": "Rome"}])
        inputs = ask(url, "/v2/models/new").json["inputs"]
        assert [each["name"] for each in inputs] == ["town", "size", "note"]


def test_regression_is_served() -> None:
    model = budgetron.BudgetronRegressor(budget=20).partial_fit(X[:300], X[:300, 0])
    wanted = model.snapshot().partial_fit(X[300:], X[300:, 0])
    with running({"number": model}) as url:
        client = Client(url, "number")
        client.learn(X[300:600], X[300:600, 0].tolist())
        client.learn(X[600:601], [float(X[600, 0])])
        client.learn(X[601:], X[601:, 0].tolist())
        assert client.infer(X[:2]).labels == wanted.predict(X[:2]).tolist()
        assert client.infer(X[:1]).labels == wanted.predict(X[:1]).tolist()
        with pytest.raises(ServeError, match="not a number"):
            client.learn(X[:1], ["near"])
        stats = client.stats()
        assert stats["loss_here"] < stats["majority_here"]
    assert bits(model) == bits(wanted)


def test_errors_against_the_guesses_are_counted_row_by_row() -> None:
    model = taught()
    decisions = taught().prequential(X, Y)
    wrong = int((model.classes_[(decisions >= 0).astype(int)] != np.array(Y)).sum())
    with running({"rings": model}) as url:
        client = Client(url, "rings")
        client.learn(X[:1], Y[:1])
        client.learn(X[1:], Y[1:])
        stats = ask(url, "/v2/models/rings/stats?history=1").json
    assert stats["loss_here"] == wrong
    assert stats["last_label_here"] == 1 + sum(a != b for a, b in itertools.pairwise(Y))
    counts: dict[str, int] = {}
    guesses = 0
    commonest = None
    for label in Y:
        guesses += label != commonest
        counts[label] = counts.get(label, 0) + 1
        if commonest is None or counts[label] > counts[commonest]:
            commonest = label
    assert stats["majority_here"] == guesses
    assert [each[:2] for each in stats["mix"]] == sorted(
        ([k, v] for k, v in counts.items()), key=lambda each: -each[1]
    )
    history = stats["history"]["points"]
    assert [point[0] for point in history] == [*range(16, 900, 16), 900]
    assert history[-1][2] == wrong
    shares = [each[0] for each in stats["calibration"]]
    assert sum(shares) == pytest.approx(1)


def test_a_full_queue_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with running({"rings": taught()}, Settings(learn=True, most_queued=10)) as url:
        reply = ask(url, "/v2/models/rings/learn", {"rows": X[:11].tolist(), "labels": Y[:11]})
        assert reply.status == 503
        assert reply.headers["retry-after"] == "1"
        assert Client(url, "rings").learn(X[:10], Y[:10]).learned == 10
