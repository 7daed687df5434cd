"""A killed run over messages resumes, and ends as if it had not been killed, to the bit."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from budgetron.cli import main
from tests.support.killed_runs import call, killed, result_of, same, started
from tests.support.messages import SETTINGS, json_messages, letters

KILLS = int(os.environ.get("BUDGETRON_KILLS", "2"))  # `make kills`: 20
ROWS, EVERY = 6_000 * KILLS, 300  # enough for the last kill to be in the middle
BAD = range(50, ROWS, 997)  # places of messages that are no rows


@pytest.fixture(scope="module")
def messages() -> list[bytes]:
    found = json_messages(ROWS)
    for at in BAD:
        found.insert(at, b"no row")
    return found


def check(source: str, tmp_path: Path, capsys: Any, *more: str) -> None:
    """Kill a run over the source, then let it end; compare with one that was never killed."""
    kept, models = tmp_path / "kept.btn", [tmp_path / name for name in ("a.btn", "b.btn")]
    dead = [tmp_path / name for name in ("a.dead", "b.dead")]
    common = ["run", source, "--rows", str(ROWS), *SETTINGS, *more]
    resumable = [
        *common,
        "--checkpoint",
        str(kept),
        "--every",
        str(EVERY),
        "--save",
        str(models[0]),
    ]
    resumable += ["--dead-letters", str(dead[0])]
    in_the_middle = killed(resumable, kept, KILLS)
    assert 2 * in_the_middle >= KILLS
    resumed = result_of(resumable, capsys)
    assert 0 < resumed["resumed_from"] < ROWS
    whole = result_of([*common, "--save", str(models[1]), "--dead-letters", str(dead[1])], capsys)
    assert same(resumed, whole)
    assert (whole["rows"], whole["bad_lines"]) == (ROWS, len(BAD))
    assert models[0].read_bytes() == models[1].read_bytes()
    assert letters(dead[0]) == letters(dead[1])
    assert len(letters(dead[1])) == len(BAD)


def test_a_growing_file(
    messages: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(each + b"\n" for each in messages))
    check(f"tail:{log}", tmp_path, capsys)


@pytest.fixture
def server(messages: list[bytes]) -> Iterator[int]:
    """A server that sends all messages to every client."""
    text = b"".join(each + b"\n" for each in messages)
    with socket.create_server(("127.0.0.1", 0)) as door:

        def serve() -> None:
            while True:
                try:
                    caller = door.accept()[0]
                except OSError:
                    return
                with caller:
                    try:
                        caller.sendall(text)
                        caller.recv(1)  # until it has read all and leaves
                    except OSError:  # it was killed
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(door.getsockname()[1])
        door.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_a_socket(server: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(f"tcp://127.0.0.1:{server}?connect=yes&replay=yes", tmp_path, capsys)


@pytest.mark.long
def test_kafka(messages: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cluster runs here; the learning process is killed."""
    pytest.importorskip("confluent_kafka")
    from tests.support.kafka_cluster import Cluster

    cluster = Cluster()
    cluster.send("rows", ((i % 3, each) for i, each in enumerate(messages)))
    check(f"kafka://{cluster.address}/rows", tmp_path, capsys)


@pytest.mark.long
def test_redis(messages: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.support.redis_server import Server

    server = Server(tmp_path)
    try:
        server.send("rows", messages)
        check(f"redis://{server.address}/rows?field=json", tmp_path, capsys)
    finally:
        server.kill()


def fed(arguments: list[str], path: str) -> None:
    """In a process: the command, with a file as its standard input."""
    with open(path) as sys.stdin:
        main(arguments)


@pytest.mark.long
def test_standard_input(
    messages: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Input that is piped in again is read from where the run stopped."""
    log, half = tmp_path / "log", tmp_path / "half"
    text = b"".join(each + b"\n" for each in messages)
    log.write_bytes(text)
    half.write_bytes(text[: text.index(b"\n", len(text) // 2) + 1])
    models = [tmp_path / name for name in ("a.btn", "b.btn")]
    common = ["run", "stdin:", *SETTINGS]
    resumable = [*common, "--checkpoint", str(tmp_path / "kept.btn"), "--every", "300"]
    for arguments, path in (
        (resumable, half),
        ([*resumable, "--save", str(models[0])], log),
        ([*common, "--save", str(models[1])], log),
    ):
        process = started(fed, arguments, str(path))
        process.join(60)
        assert process.exitcode == 0
    assert models[0].read_bytes() == models[1].read_bytes()


def test_another_source_is_another_run(
    messages: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"".join(each + b"\n" for each in messages[:50]))
    kept = ["--checkpoint", str(tmp_path / "kept.btn"), "--idle", "0"]
    result_of(["run", f"tail:{tmp_path / 'one'}", *SETTINGS, *kept], capsys)
    assert call(["run", f"tail:{tmp_path / 'two'}", *SETTINGS, *kept]) == 2
    assert "of another run (source is another file now)" in capsys.readouterr().err


@pytest.mark.parametrize("kept", [True, False], ids=["checkpoint", "none"])
def test_a_run_that_waits_for_messages_can_be_stopped(
    messages: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: bool
) -> None:
    log, model, out = tmp_path / "log", tmp_path / "kept.btn", tmp_path / "out"
    log.write_bytes(b"".join(each + b"\n" for each in messages[:1201]))  # one is no row
    arguments = ["run", f"tail:{log}", *SETTINGS, "--out", str(out)]
    arguments += ["--checkpoint", str(model), "--every", "1100"] if kept else []
    process = started(said, arguments, str(tmp_path / "said"))
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up and not (out.exists() and out.read_bytes()):
        time.sleep(0.05)
    time.sleep(0.5)  # now it waits
    os.kill(process.pid, signal.SIGINT)
    process.join(30)
    assert process.exitcode == 130
    line = (tmp_path / "said").read_text().splitlines()[-1]
    assert line.startswith("budgetron: interrupted: 1,199 rows · lag 0 bytes · ")
    if kept:
        assert line.endswith("; the same command resumes after row 1,199")
        assert result_of([*arguments, "--idle", "0"], capsys)["resumed_from"] == 1199


def said(arguments: list[str], path: str) -> None:
    """In a process: the command, with its standard error in a file.

    A shell that starts a background process lets it ignore SIGINT, and its children too.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(path, "w") as sys.stderr:
        main(arguments)


@pytest.mark.parametrize("option", ["--idle=1", "--dead-letters=x"])
def test_options_of_messages_are_refused_for_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert call(["run", str(tmp_path / "rows.csv"), option]) == 2
    says = f"{option.partition('=')[0]} is for sources of messages, such as tail:FILE"
    assert says in capsys.readouterr().err
