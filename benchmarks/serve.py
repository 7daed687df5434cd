"""`budgetron serve` against an empty Starlette endpoint: single rows, Arrow, learning, long load.

Prints four numbers of one run, each with its bar; the exit code is 1 if one is missed:

- median time of a one-row infer, as a multiple of that of an empty endpoint of Starlette on the
  same uvicorn: at most 1.5;
- rows per second in Arrow batches of 1,000 rows, as a multiple of those one by one: at least 50;
- 99th percentile of a one-row infer while 2,000 rows per second are learned, as a multiple of that
  while nothing is learned: at most 1.5;
- a mixed load of 16 clients for some minutes: no error, memory flat (at most 5 % between the second
  fifth and the end), every acknowledged row counted once.

Servers and the load that learns run in separate processes; the timed client writes prepared bytes
to a socket. The compared sides take turns, a second or two each, and the median of the turns
counts, so that a busy machine affects both sides alike.

    python benchmarks/serve.py [--minutes 10]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import budgetron
from budgetron.client import ARROW, Client, _stream

WIDTH, SECONDS, TURNS = 14, 1.0, 10
LEARNED, BATCH = 2000, 100  # rows per second, rows per request

EMPTY = """
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def empty(request):
    return JSONResponse({})

made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
made.bind(("127.0.0.1", 0))
print(f"http://127.0.0.1:{made.getsockname()[1]}", flush=True)
app = Starlette(routes=[Route("/v2/models/{name}/infer", empty, methods=["POST"])])
config = uvicorn.Config(app, log_config=None, access_log=False)
uvicorn.Server(config).run(sockets=[made])
"""
SERVE = "from budgetron.cli import main; main()"


def rows(count: int, seed: int) -> tuple[Any, list[str]]:
    """Numbers, and labels that need a kernel."""
    X = np.random.default_rng(seed).normal(size=(count, WIDTH)).round(4)
    return X, ["yes" if each else "no" for each in X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0]


class Timed:
    """A connection that sends the same request again and again."""

    def __init__(self, url: str, body: bytes, kind: str = "application/json") -> None:
        parts = urllib.parse.urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = f"POST /v2/models/bench/infer HTTP/1.1\r\nHost: 127.0.0.1:{parts.port}\r\n"
        head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._request = head.encode() + body

    def once(self) -> float:
        """The seconds of one request."""
        start = time.perf_counter()
        self._socket.sendall(self._request)
        data = self._socket.recv(65536)
        while b"\r\n\r\n" not in data:
            piece = self._socket.recv(65536)
            assert piece, "the server has ended the connection"
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        assert b" 200 " in head, data[:300]
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        left = length - len(body)
        while left > 0:
            left -= len(self._socket.recv(1 << 20))
        return time.perf_counter() - start

    def turn(self, seconds: float = SECONDS) -> list[float]:
        """The times of requests sent one after the other, for so many seconds."""
        end = time.perf_counter() + seconds
        times = []
        while time.perf_counter() < end:
            times.append(self.once())
        return times


def started(*command: str) -> tuple[subprocess.Popen[str], str]:
    made = subprocess.Popen(
        [sys.executable, "-c", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert made.stdout is not None
    return made, made.stdout.readline().split()[0]


def served(folder: Path) -> tuple[subprocess.Popen[str], str]:
    X, y = rows(5000, 0)
    model = budgetron.BudgetronClassifier(budget="500KB").partial_fit(X, y, classes=["no", "yes"])
    budgetron.save(model, folder / "bench.btn")
    kept = ["--learn", "--checkpoint", str(folder / "kept")]
    return started(SERVE, "serve", str(folder / "bench.btn"), *kept, "--port", "0")


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)]


# ---- the numbers ----------------------------------------------------------------------------


def against_nothing(url: str, empty: str) -> float:
    body = json.dumps({"rows": rows(1, 1)[0].tolist()}).encode()
    ours, theirs = Timed(url, body), Timed(empty, body)
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    for each in (ours, theirs):
        each.turn(0.5)
    for _ in range(TURNS):
        found["ours"].append(statistics.median(ours.turn()))
        found["theirs"].append(statistics.median(theirs.turn()))
    mine, other = (statistics.median(each) for each in found.values())
    print(f"one-row infer          {mine * 1e3:8.3f} ms median, empty {other * 1e3:.3f} ms")
    return mine / other


def in_batches(url: str) -> float:
    X, _ = rows(1000, 2)
    table = pa.table({f"x{j}": X[:, j] for j in range(WIDTH)})
    many = Timed(url, _stream(table), ARROW)
    one = Timed(url, json.dumps({"rows": X[:1].tolist()}).encode())
    rates: dict[str, list[float]] = {"many": [], "one": []}
    for _ in range(TURNS):
        rates["many"].append(1000 / statistics.mean(many.turn()))
        rates["one"].append(1 / statistics.mean(one.turn()))
    batch, single = (statistics.median(each) for each in rates.values())
    print(f"Arrow batches of 1,000 {batch:8,.0f} rows/s, one by one {single:,.0f} rows/s")
    return batch / single


def teach(url: str, on: Any, end: Any, told: Any) -> None:
    """Learn rows at a fixed rate while `on` is set, in a separate process."""
    X, y = rows(20_000, 3)
    client = Client(url, "bench")
    at = 0
    due = time.perf_counter()
    while not end.is_set():
        if not on.is_set():
            on.wait(0.1)
            due = time.perf_counter()
            continue
        client.learn(X[at : at + BATCH], y[at : at + BATCH])
        told.value += BATCH
        at = (at + BATCH) % (len(y) - BATCH)
        due += BATCH / LEARNED
        time.sleep(max(0.0, due - time.perf_counter()))


def while_learning(url: str) -> float:
    context = multiprocessing.get_context("spawn")
    on, end, told = context.Event(), context.Event(), context.Value("q", 0)
    load = context.Process(target=teach, args=(url, on, end, told))
    load.start()
    one = Timed(url, json.dumps({"rows": rows(1, 1)[0].tolist()}).encode())
    time.sleep(4)
    quiet: list[float] = []
    busy: list[float] = []
    seconds = 0.0
    learned = 0
    for _ in range(TURNS):
        quiet.append(quantile(one.turn(2 * SECONDS), 0.99))
        on.set()
        time.sleep(0.2)
        before, start = told.value, time.perf_counter()
        busy.append(quantile(one.turn(2 * SECONDS), 0.99))
        seconds += time.perf_counter() - start
        learned += told.value - before
        on.clear()
        time.sleep(0.3)
    end.set()
    load.join()
    slow, slower = statistics.median(quiet), statistics.median(busy)
    what = f"{slow * 1e3:.3f} ms alone; {learned / seconds:,.0f} rows/s learned"
    print(f"99th percentile        {slower * 1e3:8.3f} ms while learning, {what}")
    return slower / slow


def at_a_stretch() -> list[float]:
    """Processor seconds of the learning thread between two pauses, sorted.

    During this time no answer can have Python's lock. Other programs on a busy machine change it
    less than they change a percentile of wall-clock time.
    """
    from budgetron.serve import served
    from budgetron.serve.definition import Definition

    X, y = rows(5000, 0)
    model = budgetron.BudgetronClassifier(budget="500KB").partial_fit(X, y, classes=["no", "yes"])
    bench = served.Served(Definition.of("bench", model))
    found: list[float] = []
    last = 0.0

    def sleep(seconds: float) -> None:
        nonlocal last
        found.append(time.thread_time() - last)
        time.sleep(seconds)
        last = time.thread_time()

    with mock.patch.object(served, "time", mock.Mock(wraps=time, sleep=sleep)):
        for seed in range(20):
            X, y = rows(BATCH, seed)
            bench.pulse.took(0.0, 1)
            last = time.thread_time()
            bench.learn(X.astype(bench.reader.dtype), y)
    return sorted(found)


def memory_of(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no memory")


def mixed(url: str, pid: int, minutes: float, clients: int = 16) -> bool:
    """Whether a long load ends as it should."""
    X, y = rows(5000, 4)
    before = Client(url, "bench").stats()["rows"]
    end = time.monotonic() + 60 * minutes
    errors: list[str] = []
    learned = [0] * clients
    answered = [0] * clients

    def work(number: int) -> None:
        draw = random.Random(number)
        client = Client(url, "bench", tries=1)
        i = 0
        while time.monotonic() < end:
            at = draw.randrange(4900)
            kind = draw.random()
            try:
                if kind < 0.5:
                    answered[number] += len(client.infer(X[at : at + 1]).labels)
                elif kind < 0.7:
                    learned[number] += client.learn(X[at : at + 5], y[at : at + 5]).learned
                elif kind < 0.8:
                    table = pa.table({f"x{j}": X[at : at + 50, j] for j in range(WIDTH)})
                    answered[number] += client.infer_table(table).num_rows
                else:
                    id = f"{number}-{i}"
                    client.infer(X[at : at + 1], id=id)
                    learned[number] += client.label(id, y[at]).learned
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
            i += 1
            time.sleep(0.01)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for each in threads:
        each.start()
    sizes = []
    while any(each.is_alive() for each in threads):
        sizes.append(memory_of(pid))
        time.sleep(60 * minutes / 50)
    for each in threads:
        each.join()
    counted = Client(url, "bench").stats()["rows"] - before
    warm = max(sizes[len(sizes) // 5 : 2 * len(sizes) // 5])
    last = max(sizes[-len(sizes) // 5 :])
    print(f"{clients} clients, {minutes:g} minutes:")
    print(f"  {sum(answered):,} rows answered, {sum(learned):,} acknowledged, {counted:,} counted")
    print(f"  {len(errors)} errors {errors[:1] or ''}")
    print(f"  memory {warm / 1e6:.1f} MB in the second fifth, {last / 1e6:.1f} MB in the last")
    return not errors and sum(learned) == counted and last < 1.05 * warm


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    wanted = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        nothing, empty = started(EMPTY)
        server, url = served(Path(folder))
        try:
            for name, value, least, most in (
                ("infer against an empty endpoint", against_nothing(url, empty), 0, 1.5),
                ("Arrow batches against single rows", in_batches(url), 50, 1e9),
                ("99th percentile while learning", while_learning(url), 0, 1.5),
            ):
                good = least <= value <= most
                failed += not good
                limit = f"at least {least}" if least else f"at most {most}"
                print(f"  {name}: {value:.2f} ({limit}){'' if good else '  MISSED'}", flush=True)
            stretch = at_a_stretch()
            middle, most = (1e3 * quantile(stretch, each) for each in (0.5, 0.99))
            print(f"learning at a stretch  {middle:8.3f} ms median, {most:.3f} ms 99th percentile")
            good = mixed(url, server.pid, wanted.minutes)
            failed += not good
            print(f"  mixed load: {'as it should be' if good else 'MISSED'}")
        finally:
            for each in (nothing, server):
                each.terminate()
                each.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
