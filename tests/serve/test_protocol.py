"""Requests and answers: the Open Inference Protocol, rows, tables, refusals."""

from __future__ import annotations

import http.client
import json
import socket
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

import budgetron
from budgetron.client import Client, ServeError
from budgetron.errors import BudgetronError
from budgetron.serve import Settings, running
from tests.serve.serving import ARROW, arrow_bytes, ask, rings, taught

TOWNS, AGES = ["Rome", "Oslo"] * 100, [18 + i % 60 for i in range(200)]
BUYS = ["yes" if t == "Rome" and a > 40 else "no" for t, a in zip(TOWNS, AGES, strict=True)]
X, Y = rings(400)


@pytest.fixture(scope="module")
def table_model() -> Any:
    pipeline = make_pipeline(budgetron.TableEncoder(), budgetron.BudgetronClassifier(budget=40))
    return pipeline.fit({"town": TOWNS, "age": AGES}, BUYS)


@pytest.fixture(scope="module")
def url(table_model: Any) -> Iterator[str]:
    """A server that does not learn: tests share it."""
    number = budgetron.BudgetronRegressor(budget=20).partial_fit(X, X[:, 0] * 3)
    models = {"rings": taught(), "shop": table_model, "number": number}
    with running({**models, "new": budgetron.BudgetronClassifier()}, Settings(most_rows=500)) as at:
        yield at


def test_health_and_descriptions(url: str) -> None:
    assert ask(url, "/v2/health/live").json == {"live": True}
    assert ask(url, "/v2/health/ready").json["ready"] is True
    server = ask(url, "/v2").json
    assert (server["name"], server["version"]) == ("budgetron", budgetron.__version__)
    assert ask(url, "/v2/models").json == {"models": ["rings", "shop", "number", "new"]}
    assert ask(url, "/v2/models/rings/ready").json == {"name": "rings", "ready": True}
    assert ask(url, "/v2/models/new/ready").status == 503
    told = ask(url, "/v2/models/rings").json
    assert told["inputs"] == [{"name": "rows", "datatype": "FP64", "shape": [-1, 2]}]
    assert told["outputs"] == [
        {"name": "predict", "datatype": "BYTES", "shape": [-1]},
        {"name": "probabilities", "datatype": "FP64", "shape": [-1, 2]},
    ]
    table = ask(url, "/v2/models/shop").json
    assert table["inputs"] == [
        {"name": "town", "datatype": "BYTES", "shape": [-1]},
        {"name": "age", "datatype": "FP64", "shape": [-1]},
    ]


@pytest.mark.parametrize("nested", [False, True])
def test_a_matrix_as_a_tensor(url: str, nested: bool) -> None:
    data = X[:3].tolist() if nested else X[:3].ravel().tolist()
    tensor = {"name": "input-0", "shape": [3, 2], "datatype": "FP64", "data": data}
    reply = ask(url, "/v2/models/rings/infer", {"id": "42", "inputs": [tensor]})
    told = reply.json
    assert (reply.status, told["model_name"], told["id"]) == (200, "rings", "42")
    model = taught()
    [predict, probabilities] = told["outputs"]
    assert predict == {
        "name": "predict",
        "shape": [3],
        "datatype": "BYTES",
        "data": model.predict(X[:3]).tolist(),
    }
    assert probabilities["shape"] == [3, 2]
    assert probabilities["parameters"] == {"classes": ["far", "near"]}
    assert probabilities["data"] == model.predict_proba(X[:3]).ravel().tolist()


def test_outputs_that_are_asked_for(url: str) -> None:
    tensor = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [0, 0]}
    body = {"inputs": [tensor], "outputs": [{"name": "probabilities"}]}
    outputs = ask(url, "/v2/models/rings/infer", body).json["outputs"]
    assert [each["name"] for each in outputs] == ["probabilities"]
    body["outputs"] = [{"name": "logits"}]
    reply = ask(url, "/v2/models/rings/infer", body)
    assert reply.status == 400
    assert "predict, probabilities" in reply.json["error"]
    regression = ask(url, "/v2/models/number/infer", {"rows": [[1.0, 0.0]]}).json["outputs"]
    assert [each["name"] for each in regression] == ["predict"]
    assert regression[0]["datatype"] == "FP64"


def test_columns_as_tensors_as_objects_and_as_arrow_are_the_same(
    url: str, table_model: Any
) -> None:
    table = {"town": TOWNS[:20], "age": [float(a) for a in AGES[:20]]}
    wanted = table_model.predict(table).tolist()
    rows = [{"town": t, "age": a} for t, a in zip(table["town"], table["age"], strict=True)]
    for few in (rows[:5], rows):  # cell by cell, and as columns
        found = ask(url, "/v2/models/shop/infer", {"rows": few}).json["outputs"]
        assert found[0]["data"] == wanted[: len(few)]
        chances = table_model.predict_proba({k: v[: len(few)] for k, v in table.items()})
        assert found[1]["data"] == chances.ravel().tolist()
    inputs = [
        {"name": "town", "shape": [20], "datatype": "BYTES", "data": table["town"]},
        {"name": "age", "shape": [20, 1], "datatype": "FP64", "data": table["age"]},
    ]
    found = ask(url, "/v2/models/shop/infer", {"inputs": inputs}).json["outputs"]
    assert found[0]["data"] == wanted
    answer = Client(url, "shop").infer_table(pa.table(table))
    assert answer.column("predict").to_pylist() == wanted
    chances = table_model.predict_proba(table)
    assert answer.column("probability of yes").to_pylist() == chances[:, 1].tolist()


def test_a_column_that_is_left_out_or_null_is_missing(url: str, table_model: Any) -> None:
    for row in ({"town": "Rome"}, {"town": "Rome", "age": None}):
        found = ask(url, "/v2/models/shop/infer", {"rows": [row]}).json["outputs"]
        wanted = table_model.predict_proba({"town": ["Rome"], "age": [None]})
        assert found[1]["data"] == wanted.ravel().tolist()


def test_explanations(url: str, table_model: Any) -> None:
    row = {"town": "Rome", "age": 70}
    [reason] = ask(url, "/v2/models/shop/explain", {"rows": [row], "examples": 2}).json["reasons"]
    [wanted] = budgetron.explain(table_model, row, examples=2).to_dicts()
    assert reason == json.loads(json.dumps(wanted))
    many = {"rows": [row] * 101}
    assert ask(url, "/v2/models/shop/explain", many).status == 413


def test_stats_and_metrics(url: str) -> None:
    stats = ask(url, "/v2/models/rings/stats?history=1").json
    model = taught()
    assert (stats["rows"], stats["mistakes"]) == (300, model.n_mistakes_)
    assert stats["stored"] == model.n_support_
    assert stats["memory_bytes"] >= model.memory_bytes_  # and the log of events
    assert stats["history"]["base"] == 300
    reply = ask(url, "/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    lines = reply.body.decode().splitlines()
    assert 'budgetron_rows_learned_total{model="rings"} 300.0' in lines
    assert any(line.startswith("budgetron_http_request_seconds_bucket") for line in lines)


def test_the_file_is_read_by_predict(url: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.btn"
    Client(url, "shop").file(path)
    from budgetron.model_file import read

    learner, document = read(path)
    assert learner.n_seen_ == ask(url, "/v2/models/shop/stats").json["rows"]
    assert [each["name"] for each in document["extra"]["table"]["encoding"]["columns"]] == [
        "town",
        "age",
    ]


BAD = {
    "no JSON": b"{",
    "neither rows nor inputs": {},
    "both": {"rows": [[0, 0]], "inputs": []},
    "no rows": {"rows": []},
    "another width": {"rows": [[1, 2, 3]]},
    "rows of two widths": {"rows": [[1, 2], [1]]},
    "words for numbers": {"rows": [["a", "b"]]},
    "objects and arrays": {"rows": [[0, 0], {"x0": 1, "x1": 1}]},
    "no such column": {"rows": [{"x0": 1, "x7": 1}]},
    "an infinity": b'{"rows": [[1e999, 0]]}',
    "a shape of others": {
        "inputs": [{"name": "x", "shape": [2, 2], "datatype": "FP64", "data": [1, 2]}]
    },
    "a shape without features": {
        "inputs": [{"name": "x", "shape": [400, 0], "datatype": "FP64", "data": []}]
    },
    "a shape of many large sizes": {
        "inputs": [{"name": "x", "shape": [1] + [10**15] * 40_000, "datatype": "FP64", "data": []}]
    },
    "a shape of two large sizes": {
        "inputs": [{"name": "x", "shape": [1, 2**62], "datatype": "FP64", "data": []}]
    },
    "a whole number too large in a tensor": {
        "inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [10**400, 0]}]
    },
    "no datatype": {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "F64", "data": [1, 2]}]},
    "texts in FP64": {
        "inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": ["1", "2"]}]
    },
    "an id that is no text": {"rows": [[0, 0]], "id": 7},
    "an empty id": {"rows": [[0, 0]], "id": ""},
}


EMPTY = {"name": "x", "shape": [10**12, 0], "datatype": "FP64", "data": []}


@pytest.mark.parametrize("what", BAD)
def test_mistakes_are_one_line(url: str, what: str) -> None:
    reply = ask(url, "/v2/models/rings/infer", BAD[what])
    assert reply.status == 400
    assert set(reply.json) == {"error"}
    assert "\n" not in reply.json["error"]
    assert "Traceback" not in reply.json["error"]


@pytest.mark.parametrize("model", ["rings", "shop"])
def test_a_long_name_is_not_sent_back_whole(url: str, model: str) -> None:
    body = {"rows": [{"x" * 100_000: 1}]}
    assert len(ask(url, f"/v2/models/{model}/infer", body).body) < 500


@pytest.mark.parametrize(
    ("path", "how", "status"),
    [
        ("/v2/models/rings/infer", {"body": {"inputs": [EMPTY]}}, 413),
        ("/v2/models/none/infer", {"body": {"rows": [[0, 0]]}}, 404),
        ("/v2/models/..%2f..%2fetc%2fpasswd/file", {}, 404),
        ("/v2/models/rings/infer", {}, 405),
        ("/v2/models/rings/infer", {"body": b"x", "headers": {"Content-Type": "text/plain"}}, 415),
        ("/v2/models/rings/infer", {"body": b"x", "headers": ARROW}, 400),
        ("/v2/models/rings/infer", {"body": b"x", "headers": {"Content-Encoding": "gzip"}}, 415),
        ("/v2/models/rings/infer", {"body": {"rows": [[0, 0]] * 501}}, 413),
        ("/v2/models/new/infer", {"body": {"rows": [[0, 0]]}}, 409),
        ("/v2/models/rings/learn", {"body": {"rows": [[0, 0]], "labels": ["far"]}}, 403),
        ("/v2/models/rings/versions/1/infer", {"body": {"rows": [[0, 0]]}}, 404),
    ],
)
def test_statuses(url: str, path: str, how: dict[str, Any], status: int) -> None:
    reply = ask(url, path, **how)
    assert reply.status == status
    assert set(reply.json) == {"error"}


def test_a_body_that_is_too_long() -> None:
    with running({"rings": taught()}, Settings(most_body=1000)) as at:
        long = {"rows": [[0.123456, 0.123456]] * 200}
        assert ask(at, "/v2/models/rings/infer", long).status == 413
        parts = [b"[" * 400] * 4  # without a length
        reply = ask(at, "/v2/models/rings/infer", body=b"".join(parts))
        assert reply.status == 413
        assert ask(at, "/v2/models/rings/infer", {"rows": [[0, 0]]}).status == 200


def test_a_body_that_takes_too_long() -> None:
    with running({"rings": taught(50)}, Settings(body_seconds=0.2)) as at:
        port = int(at.rpartition(":")[2])
        for body in (b"", b'{"rows"'):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
                head = f"POST /v2/models/rings/infer HTTP/1.1\r\nHost: localhost:{port}\r\n"
                head += "Content-Type: application/json\r\nContent-Length: 50\r\n\r\n"
                slow.sendall(head.encode() + body)
                assert b" 408 " in slow.recv(4096).partition(b"\r\n")[0]


def test_a_head_that_takes_too_long() -> None:
    with running({"rings": taught(50)}, Settings(body_seconds=0.2)) as at:
        port = int(at.rpartition(":")[2])
        whole = f"GET /v2/health/live HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode()
        for before, sent in ((b"", b""), (b"", whole[:30]), (whole, whole[:30])):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
                slow.sendall(before)
                assert not before or b"200 OK" in slow.recv(4096)
                slow.sendall(sent)
                while slow.recv(4096):  # until the server ends it
                    pass
        assert ask(at, "/v2/health/live").status == 200


def events(url: str, count: int) -> list[Any]:
    """The first states that a page receives."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    connection.request("GET", "/events")
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")
    found: list[Any] = []
    while len(found) < count:
        line = answer.readline()
        if line.startswith(b"data: "):
            found.append(json.loads(line[6:]))
    connection.close()
    return found


def test_the_page_is_updated_every_second() -> None:
    with running({"rings": taught(50)}, Settings(viewers=1)) as at:
        first, second = events(at, 2)
        assert [each["name"] for each in first["models"]] == ["rings"]
        assert first["models"][0]["history"]["points"] == []
        assert len(second["models"][0]["seconds"]) > len(first["models"][0]["seconds"])
        parts = urllib.parse.urlsplit(at)
        open_page = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
        open_page.request("GET", "/events")
        open_page.getresponse().readline()
        refused = ask(at, "/events")
        assert refused.status == 503
        assert "too many pages" in refused.json["error"]
        open_page.close()


def test_without_pyarrow_arrow_is_415(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = arrow_bytes(pa.table({"x0": [0.0], "x1": [0.0]}))
    assert ask(url, "/v2/models/rings/infer", body, headers=ARROW).status == 200
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    reply = ask(url, "/v2/models/rings/infer", body, headers=ARROW)
    assert reply.status == 415
    assert "budgetron[lab]" in reply.json["error"]


def compressed(table: Any, how: str | None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=how)
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def test_a_small_arrow_body_does_not_become_a_large_table(url: str) -> None:
    def asked(town: Any, how: str | None = None) -> Any:
        table = pa.table({"town": town, "age": [30] * len(town)})
        return ask(url, "/v2/models/shop/infer", compressed(table, how), headers=ARROW)

    texts = pa.array(["Rome", "Oslo"] * 20)
    for how in ("zstd", "lz4"):
        for column in (texts, texts.dictionary_encode()):
            reply = asked(column, how)
            assert (reply.status, "without compression" in reply.json["error"]) == (415, True)
    long = "x" * 2**20
    keyed = pa.DictionaryArray.from_arrays(pa.array([0] * 65, pa.int32()), [long])
    views = np.array([[2**20, 0x78787878, 0, 0]] * 65, np.int32)  # one text, in 65 rows
    buffers = [None, pa.py_buffer(views.tobytes()), pa.py_buffer(long.encode())]
    for column in (keyed, pa.Array.from_buffers(pa.string_view(), 65, buffers)):
        reply = asked(column)
        assert (reply.status, "'town'" in reply.json["error"]) == (413, True)
        assert asked(column[:3]).status == 200
    for column in (texts, texts.cast(pa.string_view()), texts.dictionary_encode()):
        assert asked(column).status == 200
    ends = pa.array([40], pa.int32())
    for column in ([["Rome"]] * 40, pa.RunEndEncodedArray.from_arrays(ends, ["Rome"])):
        reply = asked(column)
        assert (reply.status, "'town'" in reply.json["error"]) == (400, True)


def test_names_that_are_refused() -> None:
    for name in ("", "a/b", "..", "-x", "a" * 65):
        with (
            pytest.raises(BudgetronError, match="cannot name a model"),
            running({name: taught(20)}),
        ):
            pass
    with pytest.raises(BudgetronError, match="not an estimator"), running({"x": object()}):
        pass


def test_the_client_says_what_the_server_says(url: str) -> None:
    with pytest.raises(ServeError, match="takes 2") as raised:
        Client(url, "rings").infer([[1.0]])
    assert raised.value.status == 400
    with pytest.raises(ServeError, match="does not answer") as raised:
        Client("http://127.0.0.1:9", "rings", tries=2, wait=0.0).stats()
    assert raised.value.status == 0
    with pytest.raises(ServeError, match="not an address"):
        Client("127.0.0.1", "rings")
    answer = Client(url, "rings").infer(np.zeros((2, 2)))
    assert answer.labels == taught().predict(np.zeros((2, 2))).tolist()
    assert len(answer.probabilities) == 2
    assert answer.classes == ["far", "near"]


def test_a_cell_is_read_alike_alone_and_among_others(url: str) -> None:
    cells: list[Any] = [True, 30, 30.5, "31", None, "old", 10**30]
    rows = [{"town": "Rome", "age": each} for each in cells]
    alone = [ask(url, "/v2/models/shop/infer", {"rows": [row]}).json for row in rows]
    together = ask(url, "/v2/models/shop/infer", {"rows": rows * 3}).json
    wanted = [number for each in alone for number in each["outputs"][1]["data"]]
    assert together["outputs"][1]["data"][: len(wanted)] == pytest.approx(wanted, abs=1e-12)


def test_gaps_and_decimal_numbers_of_arrow(url: str) -> None:
    decimals = pa.array([0.25, -1.5]).cast(pa.decimal128(10, 2))
    for column, same in ((pa.nulls(2), [None, None]), (decimals, [0.25, -1.5])):
        table = arrow_bytes(pa.table({"x0": column, "x1": [0.1, 0.2]}))
        answer = ask(url, "/v2/models/rings/infer", table, headers=ARROW)
        assert answer.status == 200, answer.body
        found = pa.ipc.open_stream(answer.body).read_all().column("predict").to_pylist()
        rows = {"rows": [[same[0], 0.1], [same[1], 0.2]]}
        told = ask(url, "/v2/models/rings/infer", rows).json["outputs"][0]["data"]
        assert found == told
