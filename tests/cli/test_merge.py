"""`budgetron merge`, deltas as files, and `run --workers`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetron
from budgetron.cli._command import execute
from budgetron.model_file import ModelFileError, load, save
from tests.support.native import same_state


def rows(seed: int = 0, count: int = 900) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3))
    return X, (X[:, 0] > X[:, 1] ** 2).astype(int)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """base.btn, and two workers: north.delta and south.btn."""
    monkeypatch.chdir(tmp_path)
    X, y = rows()
    base = budgetron.make("budgetron", budget=15).partial_fit(X[:300], y[:300]).base()
    save(base, "base.btn")
    north = base.snapshot().partial_fit(X[300:600], y[300:600])
    save(north.delta(base, "north"), "north.delta")
    save(base.snapshot().partial_fit(X[600:], y[600:]), "south.btn")
    return tmp_path


def test_deltas_and_workers_are_merged_with_their_base(files: Path, capsys: Any) -> None:
    command = ["merge", "north.delta", "south.btn", "--base", "base.btn", "--out", "all.btn"]
    assert execute(command) == 0
    assert "all.btn: 900 rows learned, 15 examples stored" in capsys.readouterr().out
    base, south = load("base.btn"), load("south.btn")
    merged = budgetron.merge(base, [load("north.delta"), south.delta(base, "south.btn")])
    X, _ = rows(1)
    decided = load("all.btn").decision_function(X)
    np.testing.assert_array_equal(decided, merged.decision_function(X))


def test_a_delta_says_what_it_is(files: Path, capsys: Any) -> None:
    assert execute(["info", "north.delta"]) == 0
    told = capsys.readouterr().out
    assert "north" in told
    assert "300 since the base" in told
    assert execute(["info", "south.btn"]) == 0
    digest = load("north.delta").base
    assert digest[:16] in told
    assert digest[:16] in capsys.readouterr().out
    assert execute(["info", "north.delta", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["delta"]["base"] == digest


def test_deltas_are_whole_or_refused(files: Path) -> None:
    data = bytearray(Path("north.delta").read_bytes())
    again = load("north.delta")
    save(again, "copy.delta")
    assert Path("copy.delta").read_bytes() == bytes(data)
    for at in (len(data) - 3, len(data) // 2):
        damaged = data.copy()
        damaged[at] ^= 1
        Path("damaged.delta").write_bytes(damaged)
        with pytest.raises(ModelFileError):
            load("damaged.delta")
    arrays = {**again.arrays, "mean/suspicion": np.array([np.nan])}
    save(replace(again, arrays=arrays), "forged.delta")
    with pytest.raises(ModelFileError, match="not finite"):
        load("forged.delta")
    Path("short.delta").write_bytes(data[:-8])
    with pytest.raises(ModelFileError):
        load("short.delta")


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("merge north.delta --base south.btn --out x.btn", "it is a worker; pass its base"),
        ("merge north.delta south.btn --out x.btn", "pass its base with --base"),
        ("merge south.btn --out x.btn", "only one model"),
        ("merge south.btn none.btn --out x.btn", "none.btn: no such file"),
        (
            "merge south.btn north.delta --base base.btn --budget 9 --out x.btn",
            "models without a base",
        ),
        ("merge base.btn south.btn --out base.btn", "would be overwritten"),
        ("merge north.delta --base base.btn --out base.btn", "would be overwritten"),
        ("predict north.delta synthetic:sea,rows=3", "the delta of a worker, not a model"),
        ("run synthetic:sea,rows=300 -a avm --workers 2", "AVMClassifier cannot be merged"),
        ("run synthetic:sea,rows=300 --merge-every 5000", "is for --workers"),
    ],
)
def test_mistakes_are_one_line(files: Path, command: str, what: str, capsys: Any) -> None:
    assert execute(command.split()) == 2
    told = capsys.readouterr().err.strip()
    assert what in told
    assert "\n" not in told
    assert not Path("x.btn").exists()


def test_models_that_never_met_are_merged(files: Path, capsys: Any) -> None:
    for name, seed in (("a", 3), ("b", 4)):
        save(budgetron.make("budgetron", budget=15).partial_fit(*rows(seed)), f"{name}.btn")
    assert execute(["merge", "a.btn", "b.btn", "--budget", "20", "--out", "c.btn", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["n_support"]) == (1800, 20)
    assert load("c.btn").budget == 20


def test_workers_learn_a_file_and_can_be_repeated(files: Path, capsys: Any) -> None:
    source = "synthetic:checkerboard,rows=14000,seed=2"
    found = []
    for more in (["--workers", "2", "--merge-every", "2500"],) * 2 + ([],):
        assert execute(["run", source, "--budget", "30", "--json", *more, "--save", "m.btn"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    one, two, alone = found
    assert one["rows"] == alone["rows"] == 14000
    assert one["mistakes"] == two["mistakes"] != alone["mistakes"]
    assert one["mistakes"] < 1.06 * alone["mistakes"]
    assert load("m.btn").n_seen_ == 14000


def test_a_run_with_workers_goes_on_from_its_checkpoint(files: Path, capsys: Any) -> None:
    X, y = rows(7, 12_288)
    lines = [
        f"{label},{','.join(map(repr, row))}\n" for row, label in zip(X.tolist(), y, strict=True)
    ]
    how = [
        "--label",
        "0",
        "--no-header",
        "--budget",
        "20",
        "--workers",
        "2",
        "--merge-every",
        "2000",
    ]
    how += ["--every", "4096", "--json", "--checkpoint"]
    Path("whole.csv").write_text("".join(lines))
    assert execute(["run", "whole.csv", *how, "whole.btn"]) == 0
    Path("grown.csv").write_text("".join(lines[:8192]))
    assert execute(["run", "grown.csv", *how, "grown.btn"]) == 0
    with open("grown.csv", "a") as file:
        file.writelines(lines[8192:])
    assert execute(["run", "grown.csv", *how, "grown.btn"]) == 0
    capsys.readouterr()
    same_state(load("whole.btn"), load("grown.btn"))
