"""A server that learns messages of a source while it answers: each once, whatever is killed."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import resource
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import budgetron
from budgetron.cli.serve import of_file
from budgetron.client import Client
from budgetron.errors import BudgetronError
from budgetron.model_file import to_bytes
from budgetron.serve import Settings, running
from budgetron.serve.definition import Definition
from budgetron.serve.feeding import Feeding
from budgetron.serve.server import Background
from budgetron.streams import SourceOptions, open_stream
from tests.serve.serving import ask, lines, of_messages, process, rings, taught, until
from tests.support.killed_runs import call
from tests.support.messages import json_messages, letters, objects

KILLS = int(os.environ.get("BUDGETRON_KILLS", "2"))
LEARNED, ROWS = 300, 12_000
BAD = (5, 700, 701, 5000)  # places of messages that are no rows


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of a table."""
    return of_messages(tmp_path_factory.mktemp("model"), LEARNED)


def learned(model: str, log: Path) -> bytes:
    """The bytes of the model after it has learned a file of messages with the library alone."""
    found = of_file(model)
    assert found.layout is not None
    options = {"layout": found.layout, "label": "label", "format": "jsonl", "skip_bad": True}
    with open_stream(str(log), None, **options) as stream:
        for X, y in stream:
            found.learner.partial_fit(X, y)
    return to_bytes(found.learner, {"table": found.layout.to_json()})


def source_of(url: str, model: str = "rows") -> dict[str, Any]:
    return dict(ask(url, f"/v2/models/{model}/stats").json["source"])


@pytest.mark.long
def test_every_message_is_learned_once_through_kills(rows: str, tmp_path: Path) -> None:
    messages = json_messages(LEARNED + ROWS)[LEARNED:]
    for at in BAD:
        messages.insert(at, b"no row")
    log, dead = tmp_path / "log", tmp_path / "dead"
    log.write_bytes(lines(messages[:9000]))
    arguments = [rows, "--source", f"tail:{log}", "--checkpoint", str(tmp_path / "kept")]
    arguments += ["--every", "700", "--dead-letters", str(dead)]
    chance = random.Random(3)
    seen = []
    for _ in range(KILLS):
        with process(*arguments) as server:
            time.sleep(chance.uniform(0.02, 0.3))
            seen.append(Client(server.url, "rows").stats()["rows"])
            server.end(signal.SIGKILL)
    assert seen == sorted(seen)
    with process(*arguments) as server:
        until(lambda: source_of(server.url)["lag"] == 0)
        with log.open("ab") as file:  # it goes on as rows come
            file.write(lines(messages[9000:]))
        until(lambda: source_of(server.url)["rows"] == ROWS)
        found = source_of(server.url)
        assert (found["bad"], found["lag"], found["problem"]) == (len(BAD), 0, None)
        stats = ask(server.url, "/v2/models/rows/stats").json
        assert stats["rows"] == LEARNED + ROWS
        health = ask(server.url, "/v2/health/ready").json
        assert (health["learning"], health["problems"]) == (True, [])
        metrics = ask(server.url, "/metrics").body.decode()
        assert f'budgetron_source_rows_total{{model="rows"}} {float(ROWS)}' in metrics
        assert 'budgetron_source_lag{model="rows"} 0.0' in metrics
        assert ask(server.url, "/v2/models/rows/learn", {"id": "a", "label": 1}).status == 403
        file = ask(server.url, "/v2/models/rows/file").body
        code, told = server.end()
    assert code == 0
    assert not [each for each in told if each["level"] == "error"]
    assert file == learned(rows, log)
    assert len(letters(dead)) == len(BAD)


def test_requests_and_a_source_teach_one_model(rows: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(lines(json_messages(2000)))
    found = of_file(rows)
    made = budgetron.load(rows)
    with running({"rows": made}, Settings(learn=True), {"rows": f"tail:{log}"}) as url:
        client = Client(url, "rows")
        row = {f"x{j}": 0.5 for j in range(4)}
        for i in range(20):
            client.infer([row], id=f"a{i}")
            assert client.label(f"a{i}", "1").learned == 1
        until(lambda: source_of(url)["rows"] == 2000)
        assert client.stats()["rows"] == LEARNED + 2020
    assert found.learner.n_seen_ == LEARNED


def test_a_model_of_numbers_reads_messages_by_its_features(tmp_path: Path) -> None:
    log = tmp_path / "log"
    X, y = rings(50, seed=9)
    messages = [
        json.dumps({"x0": a, "x1": b, "label": label, "more": 1}).encode()
        for (a, b), label in zip(X.tolist(), y, strict=True)
    ]
    log.write_bytes(lines(messages))
    model, same = taught(), taught()
    with running({"rings": model}, Settings(), {"rings": f"tail:{log}"}) as url:
        until(lambda: source_of(url, "rings")["rows"] == 50)
    same.partial_fit(X, y)
    assert to_bytes(model) == to_bytes(same)


def new(budget: Any, classes: Any = None) -> Definition:
    return Definition("rows", budgetron.BudgetronClassifier(budget=budget), classes=classes)


def test_a_new_model_begins_with_the_source(tmp_path: Path) -> None:
    log, kept = tmp_path / "log", Settings(learn=True, folder=tmp_path)
    fed = {"rows": Feeding(f"tail:{log}", SourceOptions(label="label"))}
    with Background([new(30)], kept, fed) as url:
        refused = ask(url, "/v2/models/rows/learn", {"rows": [[1.0]], "labels": ["a"]})
        assert (refused.status, refused.headers["retry-after"]) == (409, "5")
        log.write_bytes(lines(json_messages(1500)))  # it may come later
        until(lambda: source_of(url)["rows"] == 1500)
    with Background([new(30)], kept, fed) as url:
        assert Client(url, "rows").stats()["rows"] == 1500
        with log.open("ab") as file:
            file.write(lines(json_messages(1600)[1500:]))
        until(lambda: source_of(url)["rows"] == 1600)
        answer = Client(url, "rows").infer([{f"x{j}": 0.5 for j in range(4)}])
        assert len(answer.labels) == 1


def test_labels_that_a_closed_model_does_not_know_are_bad_messages(tmp_path: Path) -> None:
    log, dead = tmp_path / "log", tmp_path / "dead"
    found = objects(1200)
    for at in (3, 900, 901):
        found[at]["label"] = 7
    log.write_bytes(lines([json.dumps(each).encode() for each in found]))
    labels = sorted({float(row["label"]) for row in objects(50)})
    feeding = Feeding(f"tail:{log}", SourceOptions(label="label"), str(dead))
    with Background([new("50KB", labels)], Settings(), {"rows": feeding}) as url:
        until(lambda: source_of(url)["rows"] == 1197)
        assert source_of(url)["bad"] == 3
    assert [each["where"] for each in letters(dead)] == ["4", "901", "902"]


def test_another_source_in_the_same_folder_is_refused(rows: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(lines(json_messages(50)))
    fed = [{"rows": Feeding(f"tail:{tmp_path / name}")} for name in ("one", "two")]
    with Background([of_file(rows)], Settings(folder=tmp_path), fed[0]) as url:
        until(lambda: source_of(url)["rows"] == 50)
    with pytest.raises(BudgetronError, match="pass that source, or another folder"):
        Background([of_file(rows)], Settings(folder=tmp_path), fed[1])


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--source", "rows.csv"], "is not a source of messages"),
        (["--label", "y"], "--label is for messages"),
        (["--source", "tail:a", "--source", "tail:b"], "a model can learn only one source"),
        (["--new", "b", "--source", "tail:a"], "name the model that learns it: MODEL=tail:a"),
        (["--source", "tail:a", "--label", "none"], "learning needs labels"),
    ],
)
def test_what_makes_no_sense_is_refused(
    rows: str, capsys: pytest.CaptureFixture[str], more: list[str], says: str
) -> None:
    assert call(["serve", rows, *more, "--port", "0"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert says in line


def small_files() -> None:
    """In the server: a file has at most 30 kB, as if the disk were full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))


@pytest.mark.long
def test_a_full_disk_stops_the_source_and_not_the_answers(rows: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(lines(json_messages(4000)))
    kept = ["--checkpoint", str(tmp_path / "kept"), "--keep-logs", "--every", "1000000"]
    arguments = [rows, "--source", f"tail:{log}", *kept]
    with process(*arguments, before=small_files) as server:
        until(lambda: not ask(server.url, "/v2/health/ready").json["learning"])
        before = Client(server.url, "rows").stats()["rows"]
        assert LEARNED < before < LEARNED + 4000
        assert Client(server.url, "rows").infer([{f"x{j}": 0.5 for j in range(4)}]).labels
        time.sleep(0.3)
        assert Client(server.url, "rows").stats()["rows"] == before
        server.end(signal.SIGKILL)
    with process(*arguments) as server:
        until(lambda: source_of(server.url)["rows"] == 4000)
        assert ask(server.url, "/v2/models/rows/file").body == learned(rows, log)


@pytest.mark.skipif(
    importlib.util.find_spec("confluent_kafka") is None, reason="takes confluent-kafka"
)
@pytest.mark.xdist_group("kafka")
@pytest.mark.long
def test_kafka_through_kills(rows: str, tmp_path: Path) -> None:
    from tests.support.kafka_cluster import Cluster

    messages = json_messages(4000)
    cluster = Cluster()
    cluster.send("rows", ((0, each) for each in messages))
    log = tmp_path / "log"
    log.write_bytes(lines(messages))
    arguments = [rows, "--source", f"kafka://{cluster.address}/rows"]
    arguments += ["--checkpoint", str(tmp_path / "kept")]
    for pause in (0.1, 0.4):
        with process(*arguments) as server:
            time.sleep(pause)
            server.end(signal.SIGKILL)
    with process(*arguments) as server:
        until(lambda: source_of(server.url)["rows"] == 4000)
        assert ask(server.url, "/v2/models/rows/file").body == learned(rows, log)
