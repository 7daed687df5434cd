"""The papers' data sets: listed, fetched from a local origin, verified, cached, read."""

from __future__ import annotations

import bz2
import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from budgetron import datasets
from budgetron.datasets import DataError, DataSet, File
from budgetron.streams import StreamError, open_stream
from tests.conftest import Quiet

REAL = datasets.local_folder()  # before the tests hide it
TEXT = "".join(f"{(-1) ** i} 1:{i} 3:0.5\n" for i in range(40)).encode()
TABLE = b"a,b,label\n" + b"".join(b"%d,%d,x\n" % (i, i * i) for i in range(20))
PAPERS = {
    "ahpatron": {"phishing", "a9a", "w8a", "SUSY", "ijcnn1", "cod-rna"},
    "bogd": {"german", "spambase", "magic04", "w8a", "ijcnn1", "cod-rna"},
    "forgetron": {"mnist", "usps", "census-income"},
    "avm": {"a9a", "w8a", "cod-rna", "ijcnn1", "covtype", "poker", "kddcup99", "airlines", "casp"}
    | {"slice", "year"},
}


pytestmark = pytest.mark.usefixtures("empty_cache")


def toy(url: str, **changes: Any) -> DataSet:
    """A set of one file; its text is TEXT by default."""
    facts: dict[str, Any] = {"part": "all", "name": "toy.bz2", "url": url, "rows": 40}
    file = File(**{**facts, **changes})
    return DataSet("toy", "a toy", "classification", 3, "http://page", {"us": "as is"}, (file,), 2)


# ---- the list ----------------------------------------------------------------------------------


def test_every_set_of_the_papers_is_listed() -> None:
    listed = datasets.data_sets()
    for paper, names in PAPERS.items():
        assert {name for name, each in listed.items() if paper in each.papers} == names
    for each in listed.values():
        assert each.rows > 0
        assert each.features > 0
        assert each.files
        assert each.page.startswith("https://")
        assert ("classification" in each.task) == (each.classes is not None)
        for file in each.files:
            assert file.url.startswith(("https://", "http://stat-computing.org"))
            assert file.sha256 is None or len(file.sha256) == 64


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(DataError, match="did you mean 'mnist'"):
        datasets.find("mnits")
    with pytest.raises(DataError, match="a9a has no part 'val'; it has train, test"):
        datasets.find("a9a").parts("val")


# ---- fetching ----------------------------------------------------------------------------------


def test_a_set_is_fetched_verified_and_kept(origin: tuple[Path, str], empty_cache: Path) -> None:
    folder, url = origin
    (folder / "toy.bz2").write_bytes(bz2.compress(TEXT))
    data_set = toy(f"{url}/toy.bz2", sha256=hashlib.sha256(TEXT).hexdigest())
    (file,) = data_set.files
    assert datasets.locate(file) is None
    seen: list[Any] = []
    path = datasets.fetch(data_set, file, lambda done, total: seen.append((done, total)))
    assert path == empty_cache / "toy.bz2" == datasets.locate(file)
    size = len(bz2.compress(TEXT))
    assert seen[-1] == (size, size)
    assert datasets.verify(data_set, file, path) == "the checksum holds"
    assert sorted(each.name for each in empty_cache.iterdir()) == ["pins.json", "toy.bz2"]


def test_a_wrong_checksum_keeps_nothing(origin: tuple[Path, str], empty_cache: Path) -> None:
    folder, url = origin
    (folder / "toy.bz2").write_bytes(bz2.compress(TEXT + b"1 1:1\n"))
    data_set = toy(f"{url}/toy.bz2", sha256=hashlib.sha256(TEXT).hexdigest())
    with pytest.raises(DataError, match=r"has SHA-256 .*, the checksum"):
        datasets.fetch(data_set, data_set.files[0])
    assert list(empty_cache.iterdir()) == []


def test_without_a_checksum_rows_are_counted_and_the_hash_pinned(
    origin: tuple[Path, str], empty_cache: Path
) -> None:
    folder, url = origin
    (folder / "toy.bz2").write_bytes(bz2.compress(TEXT))
    data_set = toy(f"{url}/toy.bz2")
    path = datasets.fetch(data_set, data_set.files[0])
    pins = json.loads((empty_cache / "pins.json").read_text())
    assert pins == {"toy.bz2": hashlib.sha256(TEXT).hexdigest()}
    whose = "the hash pinned at the first download holds"
    assert datasets.verify(data_set, data_set.files[0], path) == whose
    # the origin changes: as many rows, but others
    (folder / "toy.bz2").write_bytes(bz2.compress(TEXT.replace(b"0.5", b"0.7")))
    path.unlink()
    with pytest.raises(DataError, match="the hash pinned at the first download"):
        datasets.fetch(data_set, data_set.files[0])
    assert not path.exists()


@pytest.mark.parametrize(
    ("facts", "what"),
    [({"rows": 41}, "has 40 rows, not 41"), ({"features": 2}, "feature index '3' is above 2")],
)
def test_a_file_of_another_size_is_refused(
    origin: tuple[Path, str], facts: dict[str, int], what: str
) -> None:
    folder, url = origin
    (folder / "toy.bz2").write_bytes(bz2.compress(TEXT))
    data_set = toy(f"{url}/toy.bz2", **facts)
    with pytest.raises(DataError, match=what):
        datasets.fetch(data_set, data_set.files[0])


def test_a_table_in_a_zip(origin: tuple[Path, str], known: dict[str, DataSet]) -> None:
    folder, url = origin
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inner/table.csv", TABLE)
    (folder / "toy.zip").write_bytes(packed.getvalue())
    facts: dict[str, Any] = {"name": "table.csv", "rows": 20, "features": 2}
    facts |= {"member": "inner/table.csv", "read": {"format": "csv", "columns": "0-1"}}
    data_set = toy(f"{url}/toy.zip", **facts)
    path = datasets.fetch(data_set, data_set.files[0])
    assert path.read_bytes() == TABLE
    known["toy"] = data_set
    X, y = datasets.load("toy")
    assert_array_equal(X, [[i, i * i] for i in range(20)])
    assert set(y) == {"x"}
    wrong = replace(data_set.files[0], member="other.csv")
    with pytest.raises(DataError, match=r"other\.csv"):
        datasets.fetch(data_set, wrong)
    (path.parent / "pins.json").unlink()
    with pytest.raises(DataError, match="2 features, not 5"):
        datasets.fetch(data_set, replace(data_set.files[0], features=5))


def test_a_file_origin(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(TEXT)
    data_set = toy((tmp_path / "rows").as_uri(), name="toy")
    assert datasets.fetch(data_set, data_set.files[0]).read_bytes() == TEXT


def test_what_is_made_by_hand_is_not_fetched(empty_cache: Path) -> None:
    for name, part in (("airlines-nyc2013", "all"), ("kddcup99-tenth", "train")):
        data_set = datasets.find(name)
        (file,) = data_set.parts(part)
        with pytest.raises(
            DataError, match=rf"{file.name} is made by hand from https://"
        ) as caught:
            datasets.fetch(data_set, file)
        assert f"place it as {empty_cache / file.name}, or set BUDGETRON_DATA" in str(caught.value)
        assert not empty_cache.exists()
        assert not datasets.here(f"{name}/{part}")
    empty_cache.mkdir(parents=True)
    X = np.arange(12.0).reshape(4, 3)
    np.savez(empty_cache / "kddcup99.npz", X_train=X, y_train=X[:, 0], X_test=X, y_test=X[:, 1])
    path = datasets.locate(file)
    assert path == empty_cache / "kddcup99.npz"
    assert datasets.verify(data_set, file, path) == "made by hand: not checked"
    X, y = datasets.load("kddcup99-tenth", ["test"])
    assert_array_equal(y, X[:, 1])
    assert not datasets.here("kddcup99")  # a tenth is not the whole


def test_labels_that_are_words(empty_cache: Path, known: dict[str, DataSet]) -> None:
    empty_cache.mkdir(parents=True)
    (empty_cache / "toy.csv").write_text("a,label\n1,g\n2,h\n3,g\n")
    facts: dict[str, Any] = {"name": "toy.csv", "read": {"format": "csv"}}
    known["toy"] = toy("http://x", **facts)
    assert datasets.load("toy")[1].tolist() == ["g", "h", "g"]
    known["toy"] = toy("http://x", **facts, labels={"g": 1.0, "h": -1.0})
    y = datasets.load("toy")[1]
    assert y.tolist() == [1.0, -1.0, 1.0]
    assert y.dtype == np.float64
    known["toy"] = toy("http://x", **facts, labels={"g": 1.0})
    with pytest.raises(DataError, match="toy: label 'h'; there are g"):
        datasets.load("toy")


def test_an_unreachable_origin_is_one_line(origin: tuple[Path, str], empty_cache: Path) -> None:
    _, url = origin
    for address in (f"{url}/nothing", "http://127.0.0.1:1/toy.bz2", "file:///nowhere/toy"):
        data_set = toy(address, held=("toy.libsvm.xz",))
        with pytest.raises(DataError) as caught:
            datasets.fetch(data_set, data_set.files[0])
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(f"toy: could not fetch {address} (")
        assert f"place it as {empty_cache / 'toy.bz2'}" in message
        assert "BUDGETRON_DATA to a folder with toy.bz2 or toy.libsvm.xz" in message
        assert "http://page" in message


def test_a_download_that_breaks_off(
    origin: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = origin
    (folder / "toy.bz2").write_bytes(bz2.compress(TEXT))
    real = Quiet.end_headers

    def more_promised(self: Any) -> None:
        self._headers_buffer = [
            b"Content-Length: 99999\r\n" if line.startswith(b"Content-Length") else line
            for line in self._headers_buffer
        ]
        self.close_connection = True
        real(self)

    monkeypatch.setattr(Quiet, "end_headers", more_promised)
    data_set = toy(f"{url}/toy.bz2")
    with pytest.raises(DataError, match="could not fetch"):
        datasets.fetch(data_set, data_set.files[0])


# ---- the local folder, and reading -------------------------------------------------------------


def test_the_local_folder_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: dict[str, DataSet]
) -> None:
    train = File("train", "toy", "http://x", 40, held=("toy.npz",))
    test = File("test", "toy.t", "http://x", 40, held=("toy.npz",))
    known["toy"] = replace(toy("http://x"), files=(train, test))
    with pytest.raises(DataError, match="toy: toy is not here; fetch it: budgetron data get toy"):
        datasets.load("toy")
    with pytest.raises(StreamError, match="data:toy: toy is not here"):
        open_stream("data:toy")
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    X = np.arange(12, dtype=np.uint8).reshape(4, 3)
    arrays = {"X_train": X, "y_train": X[:, 0], "X_test": X[:2], "y_test": X[:2, 0]}
    np.savez(tmp_path / "toy.npz", **arrays)
    assert datasets.paths("toy") == [tmp_path / "toy.npz"]
    assert datasets.load("toy")[0].shape == (6, 3)
    assert datasets.load("toy", ["test"])[0].shape == (2, 3)
    assert datasets.load("toy", rows=5)[0].shape == (5, 3)
    in_part = "converted, in part: 4 of 40 rows"
    assert datasets.verify(known["toy"], train, tmp_path / "toy.npz") == in_part
    whole = replace(train, rows=4)
    assert datasets.verify(known["toy"], whole, tmp_path / "toy.npz") == "converted: not checked"
    # the origin's own file is preferred to its replacement
    (tmp_path / "toy").write_bytes(TEXT)
    stream = open_stream("data:toy", chunk_rows=30)
    shapes = [X.shape for X, _ in stream]
    assert shapes == [(30, 3), (10, 3), (2, 3)]
    assert (stream.name, stream.position, stream.grows) == ("data:toy", 42, False)


@pytest.mark.parametrize(
    ("arrays", "part", "rows"),
    [
        ({"X": 7}, "all", 7),
        ({"X": 7}, "test", 7),
        ({"X_train": 5, "X_test": 3}, "all", 8),
        ({"X_train": 5, "X_test": 3}, "train", 5),
        ({"X_train": 5, "X_test": 3}, "test", 3),
        ({"X_train": 5}, "train", 5),
    ],
)
def test_a_part_of_a_set_is_said_to_be_a_part(
    arrays: dict[str, int],
    part: str,
    rows: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    known: dict[str, DataSet],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By what the file holds, and what reading it would give."""
    from budgetron.cli import main

    columns = {name: np.ones((count, 3)) for name, count in arrays.items()}
    labels = {name.replace("X", "y"): X[:, 0] for name, X in columns.items()}
    np.savez(tmp_path / "toy.npz", **columns, **labels)
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "data_sets", lambda: known)

    def says(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["data", *words])
        assert not ended.value.code
        return " ".join(capsys.readouterr().out.split())

    for published, here in ((rows, "yes"), (rows + 1, "in part")):
        file = File(part, "toy", "http://x", published, held=("toy.npz",))
        known["toy"] = replace(toy("http://x"), files=(file,))
        assert len(datasets.load("toy")[1]) == rows
        assert f" toy {published} {here} 3 " in says("list")
        amount = f"{rows} of {published} rows"
        assert (f"in part: {amount}" in says("list", "toy")) == (here == "in part")
        assert (f"in part: {amount}" in says("get", "toy")) == (here == "in part")
    two = (file, replace(file, part="more", name="more", held=()))
    known["toy"] = replace(known["toy"], files=two)
    assert " in part 3 " in says("list").partition(" toy ")[2]


def test_a_set_may_be_one_part_of_what_stands_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: dict[str, DataSet]
) -> None:
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    sizes = {"train": 5, "test": 3}
    arrays = {f"X_{part}": np.ones((n, 3)) for part, n in sizes.items()}
    np.savez(
        tmp_path / "toy.npz", **arrays, **{f"y_{part}": np.ones(n) for part, n in sizes.items()}
    )
    file = File("train", "toy", "http://x", 40, held=("toy.npz",))
    known["toy"] = replace(toy("http://x"), files=(file,))
    assert len(datasets.load("toy")[1]) == 5
    assert datasets.rows_missing(file, tmp_path / "toy.npz") == 35


def test_a_damaged_file_is_not_asked_for_its_rows(tmp_path: Path) -> None:
    (tmp_path / "toy.npz").write_bytes(b"PK no zip")
    file = File("all", "toy", "http://x", 40, held=("toy.npz",))
    assert datasets.rows_missing(file, tmp_path / "toy.npz") == 0


def test_a_chain_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: dict[str, DataSet]
) -> None:
    parts = tuple(File(part, part, "http://x", 40) for part in ("train", "test"))
    known["toy"] = replace(toy("http://x"), files=parts)
    monkeypatch.setenv("BUDGETRON_DATA", str(tmp_path))
    (tmp_path / "train").write_bytes(TEXT + b"bad\n")
    (tmp_path / "test").write_bytes(TEXT.replace(b"0.5", b"0.25"))
    stream = open_stream("data:toy", chunk_rows=15, skip_bad=True)
    whole = [(X.toarray(), y) for X, y in stream]
    assert stream.n_bad == 1
    labels = np.concatenate([y for _, y in whole])
    assert len(labels) == 80
    messages = stream.bad_messages
    stream = open_stream("data:toy", chunk_rows=15, skip_bad=True)
    for _ in stream:
        for position in (json.loads(json.dumps(stream.bookmark)), stream.position):
            rest = stream.at(position)
            got = [y for _, y in rest]
            assert_array_equal(np.concatenate([[], *got]), labels[stream.position :])
            assert (rest.n_bad, rest.bad_messages) == (1, messages)
    assert [len(y) for _, y in open_stream("data:toy", rows=50, skip_bad=True)] == [40, 10]
    with pytest.raises(StreamError, match="position 81 is after the end, which is 80"):
        open_stream("data:toy", position=81, skip_bad=True)


def test_the_real_ones_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    if REAL is None:
        pytest.skip("real data not here: set BUDGETRON_DATA to a folder with it")
    monkeypatch.setenv("BUDGETRON_DATA", str(REAL))
    for name in ("a9a", "phishing"):
        data_set = datasets.find(name)
        for file in data_set.files:
            path = datasets.locate(file)
            assert path is not None
            assert datasets.verify(data_set, file, path) == "the checksum holds"
    X, _ = datasets.load("a9a")
    assert X.shape == (48_842, 123)
    X, _ = datasets.load("casp", rows=1000, dtype="float64")
    assert isinstance(X, np.ndarray)
    assert X.shape == (1000, 9)
    X, _ = datasets.load("poker", ["train"])
    assert X.shape == (25_010, 10)
