"""Predictions are sent with the row's id, labels come later: each row counts once."""

from __future__ import annotations

import importlib.util
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from budgetron.sources.joining import Joined
from budgetron.sources.protocol import Batch
from tests.support.killed_runs import call, killed, result_of, same
from tests.support.messages import SETTINGS, json_messages, letters, objects
from tests.support.redis_server import Server

ROWS = 3000


def written(path: Path, values: list[bytes]) -> Path:
    path.write_bytes(b"".join(each + b"\n" for each in values))
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("log") / "log", json_messages(ROWS))


@pytest.fixture
def apart(tmp_path: Path) -> tuple[Path, Path]:
    """Rows without labels, and labels with ids, in another order."""
    rows = [{k: v for k, v in row.items() if k != "label"} for row in objects(ROWS)]
    labels = [{"id": row["id"], "label": row["label"]} for row in objects(ROWS)]
    labels = [each for start in range(0, ROWS, 10) for each in reversed(labels[start : start + 10])]
    return (
        written(tmp_path / "rows", [json.dumps(each).encode() for each in rows]),
        written(tmp_path / "labels", [json.dumps(each).encode() for each in labels]),
    )


def run(source: Path | str, *more: str) -> list[str]:
    name = f"tail:{source}" if isinstance(source, Path) else source
    return ["run", name, *SETTINGS, "--idle", "0.3", *more]


def test_predictions_are_those_that_are_counted(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    result = result_of(run(log, "--out", str(out), "--id", "id"), capsys)
    lines: list[Any] = letters(out)
    assert [each["id"] for each in lines] == [row["id"] for row in objects(ROWS)]
    assert [each["label"] for each in lines] == [row["label"] for row in objects(ROWS)]
    assert sum(each["prediction"] != each["label"] for each in lines) == result["mistakes"]
    assert "id" not in str(result["missing_by_column"])


def test_without_a_column_the_id_is_the_place(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    result_of(run(log, "--out", str(out)), capsys)
    assert [each["id"] for each in letters(out)] == [str(i + 1) for i in range(ROWS)]


def test_a_killed_run_answers_every_row_once(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outs = [tmp_path / name for name in ("a", "b")]
    kept = tmp_path / "kept.btn"
    arguments = run(log, "--out", str(outs[0]), "--checkpoint", str(kept), "--every", "150")
    killed(arguments, kept, 2)
    result_of(arguments, capsys)
    result_of(run(log, "--out", str(outs[1])), capsys)
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_labels_that_come_later(
    apart: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, labels = apart
    out, dead = tmp_path / "out", tmp_path / "dead"
    with labels.open("ab") as file:
        file.write(b'{"id": "nobody", "label": 1}\n{"label": 0}\nno json\n')
    arguments = run(rows, "--labels", f"tail:{labels}", "--id", "id", "--out", str(out))
    result = result_of([*arguments, "--dead-letters", str(dead)], capsys)
    counts = result["labels"]
    assert (result["rows"], counts["joined"]) == (ROWS, ROWS)
    assert (counts["rows_left"], counts["waiting"]) == (0, 1)  # the label of nobody
    assert result["bad_lines"] == len(letters(dead)) == 2
    lines: list[Any] = letters(out)
    assert sorted(each["id"] for each in lines) == sorted(row["id"] for row in objects(ROWS))
    truth = {row["id"]: row["label"] for row in objects(ROWS)}
    answered = [each for each in lines if each["prediction"] is not None]
    assert len(answered) == counts["answered"] > 500
    wrong = sum(each["prediction"] != truth[each["id"]] for each in answered)
    assert wrong == counts["wrong"] < len(answered) / 2


def test_a_killed_run_with_late_labels_ends_as_one_that_was_not(
    apart: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, labels = apart
    kept, models = tmp_path / "kept.btn", [tmp_path / name for name in ("a.btn", "b.btn")]
    outs = [tmp_path / name for name in ("a", "b")]
    resumable, whole = (
        [
            *run(rows, "--labels", f"tail:{labels}", "--id", "id", "--out", str(out)),
            *("--save", str(model)),
        ]
        for out, model in zip(outs, models, strict=True)
    )
    resumable += ["--checkpoint", str(kept), "--every", "150"]
    assert killed(resumable, kept, 2)
    results = [result_of(each, capsys) for each in (resumable, whole)]
    assert same(*results)
    assert results[0]["labels"] == results[1]["labels"]
    assert (results[0]["rows"], results[0]["labels"]["joined"]) == (ROWS, ROWS)
    assert models[0].read_bytes() == models[1].read_bytes()
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_what_is_learned_depends_on_the_messages_alone() -> None:
    """For any cuts of the sources: 500 rows, 500 labels, and so on."""
    count = 1300
    order = [*range(0, count, 2), *range(1, count, 2)]
    found = []
    for pieces in ((100, 7), (3, 1000)):
        rows, labels, both = joined()
        rows.values, labels.values = [row(i) for i in range(count)], [label(i) for i in order]
        rows.piece, labels.piece = pieces
        answered: list[list[str]] = []

        def answer(ids: list[str], values: list[bytes], seen: Any = answered) -> list[Any]:
            seen.append(ids)
            return [None] * len(ids)

        both.answer = answer
        learned: list[str] = []
        while batch := ids(both):
            learned += batch
        assert len(learned) == count
        found.append((learned, answered))
    assert found[0] == found[1]
    assert [len(each) for each in found[0][1]] == [500, 500, 300]


class Given:
    """A source with messages from the test."""

    name, unit, lag, at_end = "given", "messages", 0, True

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.piece = 10**9

    def read(self, most: int, seconds: float) -> Batch:
        most = min(most, self.piece)
        found, self.values = self.values[:most], self.values[most:]
        return Batch(found, {}, str)

    def seek(self, mark: dict[str, Any]) -> None: ...
    def close(self) -> None: ...


def row(id: int, size: int = 0) -> bytes:
    return json.dumps({"id": id, "x": "." * size}).encode()


def label(id: int) -> bytes:
    return json.dumps({"id": id, "label": id % 2}).encode()


def joined(most_bytes: int = 10**6, seconds: float = 60.0) -> tuple[Given, Given, Joined]:
    rows, labels = Given(), Given()
    return rows, labels, Joined(rows, labels, "id", "label", most_bytes, seconds)


def ids(source: Joined) -> list[str]:
    batch = source.read(100, 0.0)
    assert batch is not None
    return [batch.where(i) for i in range(len(batch.values))]


def test_either_half_may_come_first() -> None:
    rows, labels, both = joined()
    rows.values, labels.values = [row(1), row(2)], [label(2), label(3)]
    assert ids(both) == ["2"]
    rows.values, labels.values = [row(3)], [label(1)]
    assert ids(both) == ["3", "1"]
    assert both.counts["joined"] == 3
    assert both._held.bytes == 0


def test_what_is_too_much_leaves_oldest_first() -> None:
    rows, labels, both = joined(most_bytes=3000)
    rows.values = [row(i, 990) for i in range(5)]
    assert ids(both) == []
    assert both._held.bytes <= 3000
    assert both.counts["rows_left"] == 3
    labels.values = [label(i) for i in range(5)]
    assert ids(both) == ["3", "4"]
    assert both._held.bytes < 100  # three labels whose rows have left


def test_what_is_too_old_leaves() -> None:
    rows, labels, both = joined(seconds=0.05)
    rows.values, labels.values = [row(1)], [label(2)]
    assert ids(both) == []
    time.sleep(0.1)
    assert ids(both) == []
    assert (both.counts["rows_left"], both.counts["labels_left"]) == (1, 1)
    assert both._held.bytes == 0


def test_the_place_has_all_that_waits() -> None:
    rows, labels, both = joined()
    rows.values, labels.values = [row(1), row(2)], [label(3), label(2)]
    both.answer = lambda names, values: [1] * len(values)
    batch = both.read(100, 0.0)
    assert batch is not None
    _, labels, later = joined()
    later.seek(json.loads(json.dumps(batch.mark)))
    assert later._held.bytes == both._held.bytes
    labels.values = [label(1)]
    assert ids(later) == ["1"]
    assert later.counts == {**both.counts, "joined": 2, "answered": 2, "wrong": 1}


def test_the_same_id_again_takes_the_place_of_the_first() -> None:
    rows, labels, both = joined()
    rows.values = [row(1), row(1), row(2)]
    ids(both)
    rows.values = [row(2)]
    ids(both)
    labels.values = [label(1), label(2)]
    assert ids(both) == ["1", "2"]
    assert both.counts["rows_left"] == 2


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--labels", "tail:x"], "--labels needs --id"),
        (["--labels", "x.csv", "--id", "id"], "is not a source of messages"),
        (["--wait", "3"], "--wait is for labels that come later"),
        (["--labels", "tail:x", "--id", "id", "--wait-bytes", "much"], "--wait-bytes"),
        (["--labels", "tail:x", "--id", "id", "--format", "csv"], "need JSON rows"),
        (["--out", "nowhere/out"], "--out nowhere/out"),
    ],
)
def test_what_makes_no_sense_is_refused(
    log: Path, capsys: pytest.CaptureFixture[str], more: list[str], says: str
) -> None:
    assert call(run(log, *more)) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert says in line


@pytest.mark.skipif(
    importlib.util.find_spec("confluent_kafka") is None, reason="takes confluent-kafka"
)
def test_to_kafka(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from budgetron.sources.kafka import KafkaTopic
    from budgetron.sources.protocol import Address
    from tests.support.kafka_cluster import Cluster

    cluster = Cluster()
    name = f"kafka://{cluster.address}/answers"
    result_of(run(log, "--out", name, "--id", "id"), capsys)
    source = KafkaTopic(Address.of(name))
    found: list[bytes] = []
    while len(found) < ROWS:
        batch = source.read(ROWS, 5.0)
        assert batch is not None
        assert batch.values
        found += batch.values
    source.close()
    assert {json.loads(each)["id"] for each in found} == {row["id"] for row in objects(ROWS)}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = Server(tmp_path)
    yield found
    found.kill()


def test_to_redis_which_is_killed_meanwhile(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = written(tmp_path / "log", json_messages(1000))
    arguments = run(log, "--out", f"redis://{server.address}/answers", "--id", "id")
    arguments[arguments.index("--idle") + 1] = "3"

    def kill() -> None:
        while not server.client().exists("answers"):
            time.sleep(0.02)
        server.kill()
        with log.open("ab") as file:
            file.write(b"".join(each + b"\n" for each in json_messages(1500)[1000:]))
        time.sleep(0.5)
        server.start()

    killer = threading.Thread(target=kill)
    killer.start()
    assert call(arguments) == 0
    killer.join()
    said = capsys.readouterr().err.splitlines()
    assert (
        sum("not reachable" in each for each in said)
        == sum("back after" in each for each in said)
        == 1
    )
    entries = server.client().xrange("answers")
    found = [fields[b"id"].decode() for _, fields in entries]
    assert found == [row["id"] for row in objects(1500)]
