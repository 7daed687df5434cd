"""Where data files are, and how they get there: found, fetched, verified, kept.

A file is searched in the folder `$BUDGETRON_DATA`, then in the user's cache. Fetching only writes
into the cache, under another name until the file is verified; if nobody published a checksum for a
file, its hash is stored at the first download, so that a later one cannot differ unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from budgetron.datasets.registry import DataError, DataSet, File

Report = Callable[[int, int | None], None]
_BLOCK = 1 << 18
_TIMEOUT = 30  # seconds without a byte
_PINS = "pins.json"


def local_folder() -> Path | None:
    """`$BUDGETRON_DATA`, if it is set.

    Examples
    --------
    >>> from budgetron.datasets import local_folder
    >>> local_folder()  # doctest: +SKIP
    """
    folder = os.environ.get("BUDGETRON_DATA")
    return Path(folder).expanduser() if folder else None


def cache_folder() -> Path:
    """The user's cache directory for data sets on this platform; it need not exist.

    Examples
    --------
    >>> from budgetron.datasets import cache_folder
    >>> cache_folder()  # doctest: +SKIP
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "budgetron" / "data"


def locate(file: File) -> Path | None:
    """The path of the file, or of one that can replace it; None if there is none.

    Parameters
    ----------
    file : a file of a data set

    Examples
    --------
    >>> from budgetron.datasets import find, locate
    >>> locate(find("a9a").files[0])  # doctest: +SKIP
    """
    folder = local_folder()
    places = [] if folder is None else [folder / each for each in (file.name, *file.held)]
    places.append(cache_folder() / file.name)
    return next((place for place in places if place.is_file()), None)


def fetch(data_set: DataSet, file: File, report: Report = lambda done, total: None) -> Path:
    """Download the file from its origin into the cache, verified.

    Parameters
    ----------
    data_set, file : what to fetch
    report : called with the bytes that have come and, if known, the total

    Raises
    ------
    DataError
        If the origin cannot be reached or has no such file, or the file fails verification;
        nothing is kept then.

    Examples
    --------
    >>> from budgetron.datasets import fetch, find
    >>> a9a = find("a9a")
    >>> fetch(a9a, a9a.files[0])  # doctest: +SKIP
    """
    if file.by_hand is not None:
        raise DataError(
            f"{data_set.name}: {file.name} is made by hand from {file.url}: {file.by_hand}; place "
            f"it as {cache_folder() / file.name}, or set BUDGETRON_DATA to a folder with it"
        )
    folder = cache_folder()
    target = folder / file.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".coming-", dir=folder) as place:
            coming = _download(file, Path(place), report)
            verify(data_set, file, coming)
            _pin(file.name, text_hash(coming))
            coming.replace(target)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise DataError(_unreachable(data_set, file, error)) from error
    return target


class _Progress:
    """Passes pooch's progress to `report`."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._done = 0
        self.total = 0

    def update(self, count: int) -> None:
        self._done += count
        self._report(min(self._done, self.total or self._done), self.total or None)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None: ...


def _download(file: File, place: Path, report: Report) -> Path:
    """The file, extracted from its zip if it is in one; its name has the ending for readers."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    get: Any = pooch.HTTPDownloader(
        progressbar=_Progress(report),
        chunk_size=_BLOCK,
        headers={"User-Agent": "budgetron"},
        timeout=_TIMEOUT,
    )
    if file.url.startswith("file:"):
        get = _copy
    unzip = None if file.member is None else pooch.Unzip([file.member], str(place / "unpacked"))
    name = file.name if unzip is None else "packed.zip"
    found = pooch.retrieve(file.url, None, name, place, unzip, get)
    if unzip is None:
        return Path(found)
    if not found:
        raise KeyError(f"there is no {file.member} in the zip")
    return Path(found[0]).rename(place / file.name)


def _copy(url: str, output: str, _: Any) -> None:
    """For pooch, which does not support origins that are files."""
    shutil.copyfile(url2pathname(urlsplit(url).path), output)


def _unreachable(data_set: DataSet, file: File, error: BaseException) -> str:
    return (
        f"{data_set.name}: could not fetch {file.url} ({_reason(error)}); by hand: download it "
        f"({data_set.page}) and place it as {cache_folder() / file.name}, or set BUDGETRON_DATA to "
        f"a folder with {' or '.join((file.name, *file.held))}"
    )


def _reason(error: BaseException) -> str:
    """The innermost error with its own text: requests wraps them three deep."""
    answer = getattr(error, "response", None)
    if answer is not None:
        return f"{answer.status_code} {answer.reason}"
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.strerror:
            return str(found.strerror)
        found = found.__cause__ or found.__context__
    return " ".join(str(error).split())


# ---- verifying ---------------------------------------------------------------------------------


def text_hash(path: Path) -> str:
    """SHA-256 of the file's uncompressed bytes."""
    from budgetron.streams.source import Source

    digest = hashlib.sha256()
    with Source(path) as source:
        while block := source.read():
            digest.update(block)
    return digest.hexdigest()


def verify(data_set: DataSet, file: File, path: Path) -> str:
    """Check the file; return what was checked, in a few words.

    The checksum if there is one, else the hash stored at the first download, else rows and
    features. A file that replaces the origin's is checked against the checksum of its text, if any.

    Parameters
    ----------
    data_set, file : what it should be
    path : where it is

    Raises
    ------
    DataError
        If it fails the check, or cannot be read.

    Examples
    --------
    >>> from budgetron.datasets import find, locate, verify
    >>> a9a = find("a9a")
    >>> verify(a9a, a9a.files[0], locate(a9a.files[0]))  # doctest: +SKIP
    """
    from budgetron.streams import StreamError

    if file.by_hand is not None:
        return "made by hand: not checked"
    if path.name in file.held and file.sha256 is None:
        from budgetron.datasets.reading import rows_missing

        missing = rows_missing(file, path)
        if missing:
            return f"converted, in part: {file.rows - missing:,} of {file.rows:,} rows"
        return "converted: not checked"
    known, whose = file.sha256, "the checksum"
    if known is None:
        known, whose = _pins().get(file.name), "the hash pinned at the first download"
    try:
        if known is not None:
            found = text_hash(path)
            if found != known:
                what = f"has SHA-256 {found[:12]}..., not {known[:12]}..., {whose}"
                raise DataError(f"{data_set.name}: {path} {what}; delete it and get it again")
            return f"{whose} holds"
        _count(data_set, file, path)
    except (OSError, StreamError) as error:
        raise DataError(f"{data_set.name}: {path} cannot be read: {error}") from error
    return "rows and features hold"


def _count(data_set: DataSet, file: File, path: Path) -> None:
    """Rows and features must be those of the catalogue."""
    from budgetron.datasets.reading import options
    from budgetron.streams import open_stream

    wanted = file.features or data_set.features
    with open_stream(path, options(data_set, file, path)) as stream:
        for _ in stream.skim():
            pass
        rows = stream.position + stream.n_bad
        if rows != file.rows:
            raise DataError(f"{data_set.name}: {file.url} has {rows} rows, not {file.rows}")
        if not stream.grows and stream.n_features != wanted:
            what = f"{stream.n_features} features, not {wanted}"
            raise DataError(f"{data_set.name}: {file.url} has {what}")


def _pins() -> dict[str, str]:
    try:
        pins: dict[str, str] = json.loads((cache_folder() / _PINS).read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError, UnicodeDecodeError):
        return {}
    return pins


def _pin(name: str, digest: str) -> None:
    pins = {name: digest, **_pins()}
    path = cache_folder() / _PINS
    coming = path.with_suffix(f".{os.getpid()}")
    coming.write_text(json.dumps(pins, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    coming.replace(path)
