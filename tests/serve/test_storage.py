"""Files: torn records, failing writes, waiting rows, clocks that jump."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetron.client import Client, ServeError
from budgetron.errors import BudgetronError
from budgetron.serve import Settings, running
from budgetron.serve.log import Learned, Log
from budgetron.serve.packed import pack, unpack
from budgetron.serve.records import RecordFile
from budgetron.serve.remembered import Remembered, key_of
from budgetron.serve.waiting import Waiting
from tests.serve.serving import ask, rings, taught

MAGIC = b"sixteen bytes   "
X, Y = rings(30)


def test_a_file_cut_anywhere_has_the_records_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "records"
    file = RecordFile(path, MAGIC, 5, durable=True)
    payloads = [b"first", b"2", b"third" * 20]
    ends = []
    for each in payloads:
        file.add([each])
        ends.append(file.size)
    file.close()
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        file = RecordFile(path, MAGIC, 5, durable=False)
        there = sum(end <= cut for end in ends)
        assert file.take() == payloads[:there], cut
        file.add([b"next"])
        file.close()
        again = RecordFile(path, MAGIC, 5, durable=False)
        assert (again.take(), again.end, again.torn) == ([*payloads[:there], b"next"], 6 + there, 0)


def test_a_bit_that_changed_ends_the_records(tmp_path: Path) -> None:
    path = tmp_path / "records"
    file = RecordFile(path, MAGIC, 0, durable=False)
    file.add([b"first", b"second"])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert RecordFile(path, MAGIC, 0, durable=False).take() == [b"first"]
    path.write_bytes(bytes(data[:24]) + b"\0" * 100)  # as a power cut may leave it
    assert RecordFile(path, MAGIC, 0, durable=False).take() == []
    path.write_bytes(b"another file of some length")
    with pytest.raises(OSError, match="not a file of records"):
        RecordFile(path, MAGIC, 0, durable=False)


@pytest.mark.parametrize("what", ["write", "fsync"])
def test_records_that_could_not_be_written_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = tmp_path / "records"
    file = RecordFile(path, MAGIC, 0, durable=True)
    file.add([b"first"])
    fails = True
    real = getattr(os, what)

    def failing(handle: int, *more: Any) -> Any:
        if fails and what == "write":
            real(handle, more[0][:7])  # a part of it
        if fails:
            raise OSError(errno.ENOSPC, "no space left on device")
        return real(handle, *more)

    monkeypatch.setattr(os, what, failing)
    with pytest.raises(OSError, match="no space"):
        file.add([b"lost", b"too"])
    assert file.end == 1
    fails = False
    file.add([b"second"])
    assert RecordFile(path, MAGIC, 0, durable=False).take() == [b"first", b"second"]


def record(i: int) -> Learned:
    return Learned(pack(X[i : i + 1]), [Y[i]], key_of(str(i)))


def test_a_log_whose_middle_is_missing_is_refused(tmp_path: Path) -> None:
    log = Log(tmp_path, "m", durable=False, keep=True)
    assert list(log.replay(0)) == []
    model = taught(20)
    for part in range(3):
        log.add([record(part)])
        log.cut(model, {})
    log.close()
    names = sorted(path.name for path in tmp_path.glob("*.log"))
    assert names == [f"m.{i:016d}.log" for i in range(4)]
    assert len(list(Log(tmp_path, "m", durable=False, keep=True).replay(0))) == 3
    assert len(list(Log(tmp_path, "m", durable=False, keep=True).replay(2))) == 1
    (tmp_path / names[1]).unlink()
    with pytest.raises(BudgetronError, match="records 1 to 1 are missing"):
        list(Log(tmp_path, "m", durable=False, keep=True).replay(0))


def test_a_log_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    log = Log(tmp_path, "sea", durable=False, keep=False)
    assert list(log.replay(0)) == []
    log.add([record(0)])
    log.close()
    (path,) = tmp_path.glob("*.log")
    path.write_bytes(b"another file of some length")
    with pytest.raises(BudgetronError, match="not a file of records: make it readable"):
        list(Log(tmp_path, "sea", durable=False, keep=False).replay(0))


def test_a_checkpoint_without_its_new_log_goes_on(tmp_path: Path) -> None:
    """Killed between the checkpoint and the log that starts after it."""
    log = Log(tmp_path, "m", durable=False, keep=False)
    list(log.replay(0))
    log.add([record(0), record(1)])
    log.close()
    again = Log(tmp_path, "m", durable=False, keep=False)
    assert list(again.replay(2)) == []
    again.add([record(2)])
    again.close()
    [left] = Log(tmp_path, "m", durable=False, keep=False).replay(2)
    assert left == record(2)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 4),
    st.sampled_from([1, 3, 50, 5000]),
    st.sampled_from(["f4", "f8"]),
    st.floats(0, 1),
    st.integers(0, 1000),
)
def test_rows_are_packed_to_the_bit(
    n: int, width: int, dtype: str, share: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, width)).astype(dtype)
    rows[generator.random(size=rows.shape) > share] = 0
    rows[generator.random(size=rows.shape) < 0.05] = np.nan
    made: Any = rows if width <= 4096 else scipy.sparse.csr_array(rows)
    back = unpack(pack(made))
    assert back.dtype == rows.dtype
    dense = back if isinstance(back, np.ndarray) else back.toarray()
    assert dense.tobytes() == rows.tobytes()


def test_ids_are_remembered_within_a_number() -> None:
    known = Remembered(1000)
    for i in range(5000):
        known.add(key_of(str(i)))
    assert len(known) == 1000
    again = Remembered(1000)
    again.restore(known.state())
    assert all((key_of(str(i)) in again) == (i >= 4000) for i in range(5000))
    with pytest.raises(BudgetronError, match="incomplete"):
        again.restore("YWJj")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def waiting(path: Path | None, clock: Clock, calendar: Clock, **how: Any) -> Waiting:
    limits = {"most_bytes": 10**6, "most_seconds": 60.0, **how}
    return Waiting(path, **limits, durable=False, clock=clock, calendar=calendar)


def test_rows_wait_for_a_time_whatever_the_calendar_says(tmp_path: Path) -> None:
    clock, calendar = Clock(), Clock()
    rows = waiting(tmp_path / "w", clock, calendar)
    rows.keep(b"a", pack(X[:1]))
    calendar.now += 10**9  # set by hand
    assert rows.find(b"a") is not None
    calendar.now -= 2 * 10**9
    clock.now += 59
    assert rows.find(b"a") is not None
    clock.now += 2
    assert rows.find(b"a") is None
    assert (rows.expired, rows.size) == (1, 0)


def test_rows_wait_within_bytes() -> None:
    clock = Clock()
    rows = waiting(None, clock, clock, most_bytes=5000)
    for i in range(100):
        rows.keep(key_of(str(i)), pack(X[:1]))
        assert rows.size <= 5000
    assert rows.expired == 100 - len(rows)
    assert rows.find(key_of("99")) is not None
    assert rows.find(key_of("0")) is None


def test_a_crash_loses_what_was_not_written_and_counts_it(tmp_path: Path) -> None:
    clock = Clock()
    rows = waiting(tmp_path / "w", clock, clock)
    for i in range(5):
        rows.keep(key_of(str(i)), pack(X[i : i + 1]))
    rows.write()
    rows.learned(key_of("1"))
    rows.write()
    for i in range(5, 8):
        rows.keep(key_of(str(i)), pack(X[i : i + 1]))
    again = waiting(tmp_path / "w", clock, clock)  # the first was never closed
    assert (len(again), again.lost) == (4, 3)
    found = again.find(key_of("0"))
    assert found is not None
    assert np.array_equal(unpack(found), X[:1])
    again.keep(key_of("8"), pack(X[8:9]))
    again.close()
    third = waiting(tmp_path / "w", clock, clock)
    assert (len(third), third.lost) == (5, 0)


def test_the_file_of_waiting_rows_stays_small(tmp_path: Path) -> None:
    clock = Clock()
    rows = waiting(tmp_path / "w", clock, clock)
    wide = np.random.default_rng(0).normal(size=(1, 2000))
    for i in range(400):
        rows.keep(key_of(str(i)), pack(wide))
        if i % 20 != 0:
            rows.learned(key_of(str(i)))
        rows.write()
    assert (tmp_path / "w").stat().st_size < 4 * 2**20
    for i in range(0, 400, 20):
        rows.learned(key_of(str(i)))
    rows.keep(b"last", pack(wide))
    rows.learned(b"last")
    rows.write()
    with rows._writing:
        rows._rewrite()
    rows.close()
    again = waiting(tmp_path / "w", clock, clock)
    assert (len(again), again.kept, again.lost) == (0, 401, 0)


def test_what_cannot_be_written_does_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    memory = waiting(None, clock, clock, most_bytes=5000)
    rows = waiting(tmp_path / "w", clock, clock, most_bytes=5000)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for i in range(3000):
            memory.keep(key_of(str(i)), pack(X[:1]))
            rows.keep(key_of(str(i)), pack(X[:1]))
            if i % 100 == 0:
                rows.write()
        assert rows.failing is not None
        assert not memory._new
        assert len(rows._new) < 1200
    rows.write()
    assert rows.failing is None
    rows.keep(b"last", pack(X[:1]))
    rows.close()
    again = waiting(tmp_path / "w", clock, clock, most_bytes=5000)
    assert again.keys_waiting() == rows.keys_waiting()
    assert (again.kept, again.lost) == (3001, 0)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EIO, errno.ENOSPC])
def test_a_disk_that_fails_is_told_and_mends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    real = os.fsync
    fails = False

    def fsync(handle: int) -> None:
        if fails:
            raise OSError(code, os.strerror(code))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    model = taught()
    with running({"rings": model}, Settings(learn=True, folder=tmp_path)) as url:
        client = Client(url, "rings", tries=1)
        client.learn(X[:5], Y[:5])
        fails = True
        with pytest.raises(ServeError, match=os.strerror(code).lower()) as raised:
            client.learn(X[5:6], Y[5:6], id="again")
        assert raised.value.status == 503
        assert model.n_seen_ == 305
        assert client.infer(X[:2]).labels
        ready = ask(url, "/v2/health/ready")
        assert (ready.status, ready.json["learning"]) == (200, False)
        assert 'log_failing{model="rings"} 1.0' in ask(url, "/metrics").body.decode()
        fails = False
        assert client.learn(X[5:6], Y[5:6], id="again").learned == 1
        assert ask(url, "/v2/health/ready").json["learning"] is True
    with running({"rings": taught()}, Settings(learn=True, folder=tmp_path)) as url:
        assert Client(url, "rings").stats()["rows"] == 306


def test_a_folder_is_of_one_server_and_one_model(tmp_path: Path) -> None:
    from budgetron.serve.definition import Definition
    from budgetron.serve.server import Background

    told = Settings(learn=True, folder=tmp_path)
    with (
        running({"rings": taught()}, told),
        pytest.raises(BudgetronError, match="another server uses"),
        running({"other": taught()}, told),
    ):
        pass
    other = Definition("rings", taught(), origin="another file")
    with pytest.raises(BudgetronError, match="of another model"), Background([other], told):
        pass
    (tmp_path / "rings.btn").write_bytes(b"no model")
    with (
        pytest.raises(BudgetronError, match="not a model file"),
        running({"rings": taught()}, told),
    ):
        pass
