"""The system clock may jump: what is learned and stored does not depend on it."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest

from budgetron.client import Client
from budgetron.model_file import to_bytes
from budgetron.serve import Settings, running
from tests.serve.serving import ask, rings, taught
from tests.sources.test_out import ids, joined, label, row

X, Y = rings(400, seed=8)
YEARS = 3e8  # ten, in seconds


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> None:
    """A calendar that is ten years ahead, ten years behind, right, and so on."""
    real, jumps = time.time, itertools.cycle([YEARS, -YEARS, 0.0])
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))


def learn_all(url: str, start: int, end: int) -> list[Any]:
    client = Client(url, "rings")
    told = []
    for i in range(start, end):
        if i % 2:
            assert client.infer(X[i : i + 1], id=f"r{i}").kept
            told.append(client.label(f"r{i}", Y[i]))
        else:
            told.append(client.learn(X[i : i + 1], Y[i : i + 1], id=f"r{i}"))
    return told


@pytest.mark.usefixtures("jumping")
def test_a_calendar_that_jumps_changes_nothing_of_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Settings(learn=True, folder=tmp_path, every_rows=30, every_seconds=0.2, access_log=True)
    kept = Settings(**{**vars(kept), "learn_seconds": 20.0, "body_seconds": 20.0})
    model, same = taught(), taught()
    with running({"rings": model}, kept) as url:
        assert all(each.learned == 1 for each in learn_all(url, 0, 100))
        time.sleep(1.2)  # one beat: waiting rows are written, mistakes are read
        assert all(each.learned == 1 for each in learn_all(url, 100, 110))
        stats = ask(url, "/v2/models/rings/stats?history=1").json
        assert (stats["rows"], stats["rows_here"]) == (410, 110)
        assert stats["learned_per_second"] >= 0
        assert 0 < stats["latency_p50"] <= stats["latency_p99"] < 20
        assert stats["waiting"] == {
            "rows": 0, "matched": 55, "unmatched": 0, "expired": 0, "lost": 0
        }  # fmt: skip
        metrics = ask(url, "/metrics").body.decode()
        checkpoints = metrics.partition('budgetron_checkpoints_total{model="rings"} ')[2]
        assert float(checkpoints.split()[0]) >= 4
        assert ask(url, "/v2/health/ready").json["problems"] == []
        Client(url, "rings").infer(X[200:201], id="waits")
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {each["level"] for each in told} == {"info"}
    with running({"rings": taught()}, kept) as url:
        again = learn_all_labels(url)
        assert all(each.again for each in again)  # no id has expired
        assert ask(url, "/v2/models/rings/stats").json["rows"] == 410
    same.partial_fit(X[:110], Y[:110])
    assert to_bytes(model) == to_bytes(same)


def learn_all_labels(url: str) -> list[Any]:
    client = Client(url, "rings")
    return [client.learn(X[i : i + 1], Y[i : i + 1], id=f"r{i}") for i in range(110)]


@pytest.mark.usefixtures("jumping")
def test_a_calendar_that_jumps_lets_no_row_of_a_source_go() -> None:
    rows, labels, both = joined(seconds=60.0)
    rows.values = [row(i) for i in range(5)]
    assert ids(both) == []
    for i in range(5):
        labels.values = [label(i)]
        assert ids(both) == [str(i)]
    assert both.counts["rows_left"] == 0
