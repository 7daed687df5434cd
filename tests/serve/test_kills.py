"""Nothing acknowledged is lost: servers killed under load, stopped, on disks that fail.

Every kill is checked from outside: clients know what was acknowledged and what was in flight, and
the log, all of which is kept, shows what was learned, in which order.
"""

from __future__ import annotations

import ctypes
import http.client
import os
import random
import resource
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import budgetron
from budgetron.cli.serve import of_file
from budgetron.client import Client, ServeError
from budgetron.model_file import to_bytes
from budgetron.serve import Settings
from budgetron.serve.log import Learned, learned_in
from budgetron.serve.packed import unpack
from budgetron.serve.remembered import key_of
from budgetron.serve.server import Background
from tests.serve.serving import ask, process, rings, saved, taught

KILLS = int(os.environ.get("BUDGETRON_KILLS", "5"))
CLIENTS = 4
X, Y = rings(4000, seed=5)


class Load:
    """A client that learns rows one request after the other, until its server is killed."""

    def __init__(self, url: str, number: int, round: int) -> None:
        self.acknowledged: dict[str, slice] = {}
        self.in_flight: dict[str, slice] = {}
        self._url, self._random = url, random.Random(100 * round + number)
        self._name = f"{round}-{number}"
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        client = Client(self._url, "rings", tries=1)
        for i in range(100_000):
            start = self._random.randrange(len(Y) - 40)
            rows = slice(start, start + self._random.choice([1, 1, 1, 5, 40]))
            id = f"{self._name}-{i}"
            self.in_flight[id] = rows
            try:
                if self._random.random() < 0.3:
                    client.infer(X[rows], id=id)
                    client.label(id, Y[rows])
                else:
                    client.learn(X[rows], Y[rows], id=id)
            except (ServeError, OSError, http.client.HTTPException, ValueError):
                return  # killed
            self.acknowledged[id] = self.in_flight.pop(id)


def replayed(model: str, records: list[Learned]) -> bytes:
    """The bytes of the model in a file after it has learned records with the library alone."""
    learner = budgetron.load(model)
    for each in records:
        learner.partial_fit(unpack(each.rows), np.array(each.labels))  # type: ignore[union-attr]
    return to_bytes(learner)


def test_what_was_acknowledged_survives_kills_under_load(tmp_path: Path) -> None:
    model, folder = saved(taught(), tmp_path), tmp_path / "kept"
    start = ["--learn", "--checkpoint", str(folder), "--keep-logs", "--every", "400"]
    acknowledged: dict[bytes, slice] = {}
    busy = 0
    unsure: dict[str, slice] = {}
    chance = random.Random(7)
    for round in range(KILLS + 1):
        with process(model, *start) as server:
            url = server.url
            logged = {each.key for each in learned_in(folder, "rings")}
            client = Client(url, "rings")
            for id, rows in unsure.items():  # retries of what was in flight
                told = client.learn(X[rows], Y[rows], id=id)
                assert told.again == (key_of(id) in logged), id
                acknowledged[key_of(id)] = rows
            if round == KILLS:
                file = ask(url, "/v2/models/rings/file").body
                rows_learned = client.stats()["rows"]
                break
            loads = [Load(url, number, round) for number in range(CLIENTS)]
            time.sleep(chance.uniform(0.15, 0.6))
            server.end(signal.SIGKILL)
            for each in loads:
                each.thread.join()
            unsure = {id: rows for each in loads for id, rows in each.in_flight.items()}
            busy += bool(unsure)
            for each in loads:
                acknowledged |= {key_of(id): rows for id, rows in each.acknowledged.items()}
        records = learned_in(folder, "rings")
        keys = [each.key for each in records]
        assert len(set(keys)) == len(keys)
        assert acknowledged.keys() <= set(keys)
        assert set(keys) - acknowledged.keys() <= {key_of(id) for id in unsure}
        for each in records:
            rows = acknowledged.get(each.key)
            if rows is not None:
                assert np.array_equal(unpack(each.rows), X[rows])
                assert each.labels == Y[rows]
    assert busy >= max(1, KILLS * 2 // 3), "most kills are to come while rows are in flight"
    records = learned_in(folder, "rings")
    assert {each.key for each in records} == acknowledged.keys()
    assert rows_learned == 300 + sum(len(each.labels) for each in records)
    assert file == replayed(model, records)


def test_sigterm_answers_what_it_has_and_saves(tmp_path: Path) -> None:
    model, folder = saved(taught(), tmp_path), tmp_path / "kept"
    with process(model, "--learn", "--checkpoint", str(folder)) as server:
        load = Load(server.url, 0, 0)
        Client(server.url, "rings").infer(X[:1], id="waits")
        while len(load.acknowledged) < 20:
            time.sleep(0.01)
        code, told = server.end(signal.SIGTERM)
        load.thread.join()
    assert code == 0
    assert told[-1]["message"] == "stopped"
    rows = sum(each.stop - each.start for each in load.acknowledged.values())
    in_flight = sum(each.stop - each.start for each in load.in_flight.values())
    learned = budgetron.load(folder / "rings.btn").n_seen_ - 300  # type: ignore[union-attr]
    assert rows <= learned <= rows + in_flight
    assert learned_in(folder, "rings") == []  # all is in the checkpoint


def test_a_full_disk_stops_learning_and_nothing_else(tmp_path: Path) -> None:
    """Limit the file size of this process: then writing fails as on a full disk."""
    model, folder = saved(taught(), tmp_path), tmp_path / "kept"
    most = Path(model).stat().st_size + 40_000

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    learned = 0
    with process(model, "--learn", "--checkpoint", str(folder), before=limited) as server:
        client = Client(server.url, "rings", tries=1)

        def learn_on() -> None:
            nonlocal learned
            for i in range(500):
                client.learn(X[40 * i % 3000 :][:40], Y[40 * i % 3000 :][:40], id=str(i))
                learned += 40

        with pytest.raises(ServeError, match="can be learned now: file too large") as raised:
            learn_on()
        assert raised.value.status == 503
        assert learned >= 400
        assert client.infer(X[:1]).labels
        ready = ask(server.url, "/v2/health/ready")
        assert ready.status == 200
        assert ready.json["learning"] is False
        [problem] = [each for each in ready.json["problems"] if "learn" in each["problem"]]
        assert problem == {
            "model": "rings",
            "problem": "refuses to learn",
            "why": "file too large",
        }
        time.sleep(1.7)  # it tries again by itself, and finds no room
        metrics = ask(server.url, "/metrics").body.decode()
        assert 'budgetron_log_failing{model="rings"} 1.0' in metrics
        assert client.stats()["rows"] == 300 + learned
        again = resource.RLIM_INFINITY
        resource.prlimit(server.popen.pid, resource.RLIMIT_FSIZE, (again, again))
        told = client.learn(X[:40], Y[:40], id=str(learned // 40))
        assert (told.learned, told.again) == (40, False)
        assert ask(server.url, "/v2/health/ready").json["learning"] is True
        server.end(signal.SIGKILL)
    with Background([of_file(model)], Settings(learn=True, folder=folder)) as url:
        assert Client(url, "rings").stats()["rows"] == 340 + learned


def no_master_key() -> None:
    """Let file permissions apply to root too (PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


def test_a_read_only_folder_stops_learning_and_nothing_else(tmp_path: Path) -> None:
    model, folder = saved(taught(), tmp_path), tmp_path / "kept"
    start = [model, "--learn", "--checkpoint", str(folder)]
    (tmp_path / "first").mkdir()
    with Background([of_file(model)], Settings(learn=True, folder=tmp_path / "first")) as url:
        Client(url, "rings").learn(X[:50], Y[:50])
        shutil.copytree(tmp_path / "first", folder)  # as it would be after a kill
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with process(*start, before=no_master_key) as server:
            client = Client(server.url, "rings", tries=1)
            assert client.stats()["rows"] == 350  # the log was replayed
            assert client.infer(X[:1]).labels
            with pytest.raises(ServeError, match="nothing can be learned now: permission denied"):
                client.learn(X[:1], Y[:1])
            assert client.stats()["rows"] == 350
            assert ask(server.url, "/v2/health/ready").json["learning"] is False
            code, _ = server.end()
            assert code == 0
    finally:
        folder.chmod(0o755)
