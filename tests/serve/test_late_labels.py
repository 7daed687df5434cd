"""Labels from a second source: they find rows of a source and of requests, each once."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from budgetron.cli.serve import of_file
from budgetron.client import Client
from budgetron.errors import BudgetronError
from budgetron.model_file import to_bytes
from budgetron.serve import Settings
from budgetron.serve.feeding import Feeding
from budgetron.serve.log import learned_in
from budgetron.serve.packed import pack, unpack
from budgetron.serve.records import RecordFile
from budgetron.serve.remembered import key_of
from budgetron.serve.server import Background
from budgetron.serve.waiting import Waiting
from tests.serve.serving import ask, lines, of_messages, process, rings, until
from tests.support.killed_runs import call
from tests.support.messages import letters, objects
from tests.support.redis_server import Server

KILLS = int(os.environ.get("BUDGETRON_KILLS", "2"))
LEARNED, ROWS = 300, 4000
pytestmark = pytest.mark.xdist_group("redis")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of a table."""
    return of_messages(tmp_path_factory.mktemp("model"), LEARNED)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("redis"))
    yield found
    found.kill()


def halves(count: int) -> tuple[list[bytes], list[bytes]]:
    """Rows without labels, and their labels in another order."""
    found = objects(LEARNED + count)[LEARNED:]
    labels = [{"id": each["id"], "label": each.pop("label")} for each in found]
    chance = random.Random(1)
    for start in range(0, count, 50):
        piece = labels[start : start + 50]
        chance.shuffle(piece)
        labels[start : start + 50] = piece
    return [json.dumps(each).encode() for each in found], [
        json.dumps(each).encode() for each in labels
    ]


def source_of(url: str) -> dict[str, Any]:
    return dict(ask(url, "/v2/models/rows/stats").json["source"])


def learned(url: str) -> int:
    return int(ask(url, "/v2/models/rows/stats").json["rows"]) - LEARNED


def of_the_log(model: str, folder: Path) -> tuple[bytes, list[bytes]]:
    """The bytes of the model after it has learned the log, and the keys of the learned rows."""
    found = of_file(model)
    assert found.layout is not None
    keys = []
    for each in learned_in(folder, "rows"):
        found.learner.partial_fit(unpack(each.rows), each.labels)
        keys.append(each.key)
    return to_bytes(found.learner, {"table": found.layout.to_json()}), keys


@pytest.mark.long
def test_every_row_is_learned_once_through_kills(model: str, redis: Server, tmp_path: Path) -> None:
    rows, labels = halves(ROWS)
    rows.insert(700, b"no row")
    labels.insert(900, b'{"id": "r301"}')
    labels.insert(901, b'{"id": "r305", "label": [1]}')
    labels.insert(2000, b'{"id": "nobody", "label": 1}')
    dead, kept = tmp_path / "dead", tmp_path / "kept"
    seen = tmp_path / "seen"
    seen.write_bytes(lines(rows[:3000]))
    redis.send("late", labels[:2500])
    arguments = [model, "--source", f"tail:{seen}", "--every", "700", "--keep-logs"]
    arguments += ["--labels", f"redis://{redis.address}/late?field=json"]
    arguments += ["--checkpoint", str(kept), "--dead-letters", str(dead)]
    chance = random.Random(5)
    counts = []
    for _ in range(KILLS):
        with process(*arguments) as server:
            counts.append(learned(server.url))
            time.sleep(chance.uniform(0.0, 0.3))
            server.end(signal.SIGKILL)
    assert counts == sorted(counts)
    with process(*arguments) as server:
        with seen.open("ab") as file:
            file.write(lines(rows[3000:]))
        redis.send("late", labels[2500:])
        until(lambda: learned(server.url) == ROWS)
        stats = ask(server.url, "/v2/models/rows/stats").json
        assert stats["waiting"]["rows"] == 0
        assert stats["source"]["early"] == 1  # of nobody
        assert stats["source"]["problem"] is None
        health = ask(server.url, "/v2/health/ready").json
        assert (health["learning"], health["problems"]) == (True, [])
        file = ask(server.url, "/v2/models/rows/file").body
        assert server.end()[0] == 0
    wanted, keys = of_the_log(model, kept)
    assert file == wanted
    assert sorted(keys) == sorted(key_of(f"r{i}") for i in range(LEARNED, LEARNED + ROWS))
    why = {each["message"]: each["error"] for each in letters(dead)}
    assert set(why) == {"no row", *(each.decode() for each in (labels[900], labels[901]))}
    assert why["no row"] == "is not a JSON object"


def test_labels_find_rows_that_were_asked_over_http(model: str, tmp_path: Path) -> None:
    late = tmp_path / "late"
    late.write_bytes(b"")
    arguments = [model, "--learn", "--labels", f"tail:{late}", "--label", "truth", "--id", "visit"]
    with process(*arguments, "--checkpoint", str(tmp_path / "kept")) as server:
        client = Client(server.url, "rows")
        row = {f"x{j}": 0.5 for j in range(4)}
        for i in range(5):
            assert client.infer([row], id=f"a{i}").kept
        found = [{"visit": f"a{i}", "truth": 1} for i in (3, 1, 3, 9)]
        late.write_bytes(lines([json.dumps(each).encode() for each in found]))
        until(lambda: learned(server.url) == 2)
        assert client.label("a1", "1").again
        until(lambda: source_of(server.url)["early"] == 1)
        assert client.infer([row], id="a9").kept  # after its label
        until(lambda: learned(server.url) == 3)
        assert source_of(server.url)["rows"] == 3
        assert server.end()[0] == 0


def test_labels_of_a_source_that_ended_find_rows_that_are_asked_later(
    model: str, tmp_path: Path
) -> None:
    late = tmp_path / "late"
    found = [{"id": f"a{i}", "label": 1} for i in range(4)]
    late.write_bytes(lines([json.dumps(each).encode() for each in found]))
    arguments = [model, "--learn", "--labels", "stdin:"]

    def read_labels() -> None:
        os.dup2(os.open(late, os.O_RDONLY), 0)

    with process(*arguments, before=read_labels) as server:
        client = Client(server.url, "rows")
        until(lambda: source_of(server.url)["early"] == 4)
        row = {f"x{j}": 0.5 for j in range(4)}
        for i in range(4):
            assert client.infer([row], id=f"a{i}").kept
            until(lambda i=i: learned(server.url) == i + 1)  # type: ignore[misc]
        until(lambda: source_of(server.url)["ended"])
        assert server.end()[0] == 0


@pytest.mark.long
def test_a_label_before_its_row_outlives_a_kill(model: str, tmp_path: Path) -> None:
    rows, labels = halves(30)
    seen, late = tmp_path / "seen", tmp_path / "late"
    seen.write_bytes(lines(rows[:10]))
    late.write_bytes(lines([*labels[20:], *labels[:20]]))
    arguments = [model, "--source", f"tail:{seen}", "--labels", f"tail:{late}"]
    arguments += ["--checkpoint", str(tmp_path / "kept")]
    with process(*arguments) as server:
        until(lambda: learned(server.url) == 10)
        server.end(signal.SIGKILL)
    with process(*arguments) as server:
        assert source_of(server.url)["early"] == 20
        with seen.open("ab") as file:
            file.write(lines(rows[10:]))
        until(lambda: learned(server.url) == 30)
        assert server.end()[0] == 0


def test_an_early_label_leaves_when_the_log_has_its_row(model: str, tmp_path: Path) -> None:
    rows, labels = halves(1)
    seen, late, kept = tmp_path / "seen", tmp_path / "late", tmp_path / "kept"
    seen.write_bytes(b"")
    late.write_bytes(lines(labels))
    kept.mkdir()
    fed = {"rows": Feeding(f"tail:{seen}", labels=f"tail:{late}")}
    with Background([of_file(model)], Settings(folder=kept), fed) as url:
        until(lambda: source_of(url)["early"] == 1)
    before = (kept / "rows.waiting").read_bytes()
    seen.write_bytes(lines(rows))
    with Background([of_file(model)], Settings(folder=kept), fed) as url:
        until(lambda: learned(url) == 1)
    (kept / "rows.waiting").write_bytes(before)  # a kill after the log's write, before this file's
    for _ in range(2):
        with Background([of_file(model)], Settings(folder=kept), fed) as url:
            until(lambda: source_of(url)["lag"] == 0)
            assert (source_of(url)["early"], learned(url)) == (0, 1)
    assert Waiting(kept / "rows.waiting", 40_000, 60.0, labels=True).keys_of_labels() == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--labels", "x.csv", "--learn"], "is not a source of messages"),
        (["--labels", "tail:x"], "add --learn"),
        (["--source", "tail:x", "--id", "id"], "pass their source (--labels)"),
        (["--source", "tail:x", "--labels", "tail:x"], "is the source of the rows"),
        (["--source", "tail:x", "--labels", "tail:y", "--format", "csv"], "need JSON rows"),
    ],
)
def test_what_makes_no_sense_is_refused(
    model: str, capsys: pytest.CaptureFixture[str], more: list[str], says: str
) -> None:
    assert call(["serve", model, *more]) == 2
    assert says in capsys.readouterr().err


def test_a_folder_is_of_one_pair_of_sources(model: str, tmp_path: Path) -> None:
    rows, labels = halves(5)
    for name, messages in (("seen", rows), ("late", labels)):
        (tmp_path / name).write_bytes(lines(messages))
    seen, late = f"tail:{tmp_path / 'seen'}", f"tail:{tmp_path / 'late'}"
    kept = Settings(folder=tmp_path)
    with Background([of_file(model)], kept, {"rows": Feeding(seen, labels=late)}) as url:
        until(lambda: learned(url) == 5)
    for other in (
        Feeding(seen),
        Feeding(late, labels=seen),
        Feeding(f"{seen}2", labels=late),
    ):
        with pytest.raises(BudgetronError, match="pass that source, or another folder"):
            Background([of_file(model)], kept, {"rows": other})


def test_a_full_disk_keeps_messages_in_their_sources(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, labels = halves(1200)
    for name, messages in (("seen", rows), ("late", labels[600:] + labels[:600])):
        (tmp_path / name).write_bytes(lines(messages))
    fed = Feeding(f"tail:{tmp_path / 'seen'}", labels=f"tail:{tmp_path / 'late'}")
    add, calls = RecordFile.add, [0]

    def full(self: RecordFile, payloads: Any) -> None:
        calls[0] += 1
        if 2 < calls[0] < 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        add(self, payloads)

    monkeypatch.setattr(RecordFile, "add", full)
    kept = Settings(folder=tmp_path / "kept", keep_logs=True)
    (tmp_path / "kept").mkdir()
    with Background([of_file(model)], kept, {"rows": fed}) as url:
        until(lambda: learned(url) == 1200)
        assert source_of(url)["early"] == 0
        file = ask(url, "/v2/models/rows/file").body
    assert calls[0] > 6
    wanted, keys = of_the_log(model, tmp_path / "kept")
    assert file == wanted
    assert len(keys) == len({*keys}) == 1200


def test_labels_have_a_quarter_of_the_room_and_places_are_written(tmp_path: Path) -> None:
    path = tmp_path / "waiting"
    X, _ = rings(1)
    waiting = Waiting(path, 40_000, 60.0, labels=True)
    for i in range(200):
        waiting.keep_label(f"early{i}".encode(), "yes")
    assert waiting.size <= 10_000
    assert 0 < waiting.labels < 200
    assert waiting.unmatched == 200 - waiting.labels
    waiting.keep_all([(b"early199", pack(X)), (b"other", pack(X))], {"mark": {"at": 1}})
    assert waiting.whole() == [(b"early199", "yes")]
    waiting.write()
    waiting.keep_all([(b"lost", pack(X))], {"mark": {"at": 2}})  # as by a kill
    again = Waiting(path, 40_000, 60.0, labels=True)
    assert again.place == {"mark": {"at": 1}}
    assert again.lost == 0  # the source has it
    assert again.whole() == [(b"early199", "yes")]
    assert again.labels == waiting.labels
    again._file.size += 10**9  # type: ignore[union-attr]
    again.keep_all([(b"third", pack(X))], {"mark": {"at": 3}})
    again.write()  # and is written anew
    last = Waiting(path, 40_000, 60.0, labels=True)
    assert last.place == {"mark": {"at": 3}}
    assert last.whole() == [(b"early199", "yes")]
    assert {*last.keys_waiting()} == {b"early199", b"other", b"third"}
    last.learned(b"early199")
    last.close()
    assert Waiting(path, 40_000, 60.0, labels=True).whole() == []
