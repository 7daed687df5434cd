"""`budgetron serve`: one-line errors, a new model, and the files for running it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import budgetron
from budgetron.cli import main
from budgetron.client import Client
from tests.serve.serving import ask, process, rings, saved, taught
from tests.support.repository import ROOT

X, Y = rings(400)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(taught(), tmp_path_factory.mktemp("models"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


def test_mistakes_are_one_line(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "a b.btn"
    other.write_bytes(Path(model).read_bytes())
    twin = tmp_path / "rings.btn"
    twin.write_bytes(Path(model).read_bytes())
    (tmp_path / "file").write_text("")
    for arguments, words in (
        ([], "name a model file"),
        (["none.btn"], "no such file"),
        ([str(ROOT / "README.md")], "not a model file"),
        ([str(other)], "cannot name a model"),
        ([model, str(twin)], "two models are called 'rings'"),
        ([model, "--durable", "maybe"], "is on or off"),
        ([model, "--checkpoint", str(tmp_path)], "add --learn"),
        ([model, "--learn", "--checkpoint", str(tmp_path / "file" / "x")], "not a directory"),
        ([model, "--learn", "--host", "0.0.0.0", "--port", "0"], "needs a secret token"),
        ([model, "--token", " "], "the token is empty"),
        ([model, "--max-body", "much"], "--max-body"),
        (["--new", "x"], "add --learn"),
        (["--new", "x", "--learn", "--budget", "1MB"], "--classes"),
        (["--new", "x", "--learn", "-a", "budgetrn"], "unknown algorithm"),
        (["--new", "x", "--learn", "--set", "gama=1"], "no parameter 'gama'"),
        (["--new", "x", "--learn", "--budget", "-3"], "budget"),
    ):
        assert words in refused(capsys, *arguments).lower(), arguments
    assert not (tmp_path / "rings.0000000000000000.log").exists()


def test_a_port_that_is_taken(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = refused(capsys, model, "--port", port)
    assert f"port {port}" in said
    assert "choose another --port" in said


def test_a_new_model_is_served_and_goes_on(tmp_path: Path) -> None:
    new = ["--new", "rings", "-a", "budgetron", "--budget", "100KB", "--classes", "far,near"]
    start = [*new, "--learn", "--checkpoint", str(tmp_path), "--access-log"]
    with process(*start) as server:
        Client(server.url, "rings").learn(X, Y)
        code, told = server.end()
    assert code == 0
    ready = told[0]
    assert (ready["level"], ready["message"], ready["url"]) == ("info", "ready", server.url)
    assert {each["message"] for each in told} == {"ready", "request", "stopped"}
    [learn] = [each for each in told if each.get("verb") == "learn"]
    assert learn["code"] == 200
    assert learn["path"] == "/v2/models/rings/learn"
    wanted = budgetron.make("budgetron", budget="100KB").partial_fit(X, Y, ["far", "near"])
    kept = budgetron.load(tmp_path / "rings.btn")
    assert kept.n_seen_ == 400  # type: ignore[union-attr]
    assert kept.predict(X).tolist() == wanted.predict(X).tolist()


def test_without_the_extra_it_says_what_to_install(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "budgetron.serve.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'budgetron[serve]'" in refused(capsys, model)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_the_unit_is_sound(tmp_path: Path) -> None:
    unit = (ROOT / "deploy" / "budgetron.service").read_text(encoding="utf-8")
    command = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    program = command.removeprefix("ExecStart=").split()[0]
    path = tmp_path / "budgetron.service"
    path.write_text(unit.replace(program, "/bin/true"), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_is_marked_as_untested() -> None:
    first = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").splitlines()[0]
    assert "UNTESTED" in first


def test_every_line_of_the_log_is_json(model: str) -> None:
    with process(model) as server:
        port = int(server.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sender:
            sender.sendall(b"no request\r\n\r\n")
            assert b" 400 " in sender.recv(4096).partition(b"\r\n")[0]
        row = {"rows": [{"x0": 1e308, "x1": 0}]}
        assert ask(server.url, "/v2/models/rings/infer", row).status in (200, 400)
        server.popen.terminate()
        _, told = server.popen.communicate(timeout=60)
    lines = [json.loads(line) for line in told.splitlines()]
    assert "Invalid HTTP request received." in [each["message"] for each in lines]
