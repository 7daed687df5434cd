"""A fleet as bytes: an uncompressed zip file with a document, the shared model, the fleet's state,
and its models in pieces.

It is read and written piece by piece, so that a fleet that fills the memory can be saved. Checksums
of the members, and one over all of these, find damage; the core checks every model that it takes.
Nothing in the file is executed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

import budgetron
from budgetron.errors import BudgetronError
from budgetron.fleet.keys import Ids

FORMAT = 2  # 1: heads of blocks of 40 bytes; no release has written it
_END = "sha256"
_DATE = (1980, 1, 1, 0, 0, 0)  # equal fleets have equal bytes

Piece = tuple[Ids, bytes, NDArray[np.int64]]


def _checksum(archive: zipfile.ZipFile) -> bytes:
    """A checksum of the names, sizes and checksums of all members but the last."""
    members = [each for each in archive.infolist() if each.filename != _END]
    listed = "\n".join(f"{each.filename} {each.file_size} {each.CRC}" for each in members)
    return hashlib.sha256(listed.encode()).hexdigest().encode()


class Writer:
    """Writes a fleet to an open file."""

    def __init__(self, file: IO[bytes], document: dict[str, Any]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._count = 0
        whole = {"format": FORMAT, "budgetron": budgetron.__version__, **document}
        self.put("fleet.json", json.dumps(whole, sort_keys=True).encode())

    def put(self, name: str, data: bytes) -> None:
        """One member."""
        self._zip.writestr(zipfile.ZipInfo(name, _DATE), data)

    def put_models(self, where: str, piece: Piece) -> None:
        """Write models of `where`: "memory" or "file"."""
        ids, data, ends = piece
        for kind, part in (("keys", ids.tobytes()), ("models", data), ("ends", ends.tobytes())):
            self.put(f"{where}/{self._count:06}.{kind}", part)
        self._count += 1

    def close(self) -> None:
        """Write the end of the file."""
        self.put(_END, _checksum(self._zip))
        self._zip.close()


class Reader:
    """Reads a fleet from bytes or an open file.

    Parameters
    ----------
    source : the output of `Writer`
    name : for errors
    """

    def __init__(self, source: bytes | IO[bytes], name: str) -> None:
        self.name = name
        file = io.BytesIO(source) if isinstance(source, bytes | bytearray | memoryview) else source
        try:
            self._zip = zipfile.ZipFile(file)
            packed = any(each.compress_type != zipfile.ZIP_STORED for each in self._zip.infolist())
            document = json.loads(self._zip.read("fleet.json"))
            known = isinstance(document, dict) and "format" in document
            whole = self._zip.namelist()[-1] == _END and self._zip.read(_END) == _checksum(
                self._zip
            )
        except (zipfile.BadZipFile, KeyError, ValueError, RuntimeError, EOFError) as error:
            raise BudgetronError(f"{name}: not a fleet, or damaged ({error})") from None
        if packed or not known:
            raise BudgetronError(f"{name}: not a fleet")
        if document["format"] != FORMAT:
            what = f"{name}: a fleet of budgetron {str(document.get('budgetron'))[:20]}"
            raise BudgetronError(f"{what}, in a format that {budgetron.__version__} does not read")
        if not whole:
            raise BudgetronError(f"{name}: damaged fleet: its checksum does not match its contents")
        self.document: dict[str, Any] = document

    def get(self, name: str) -> bytes:
        """One member; raises BudgetronError if it is damaged or missing."""
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, KeyError, EOFError, ValueError, RuntimeError) as error:
            raise BudgetronError(f"{self.name}: damaged fleet ({error})") from None

    def models(self, where: str) -> Iterator[Piece]:
        """The models of `where`, piece by piece."""
        for name in sorted(self._zip.namelist()):
            start, dot, kind = name.rpartition(".")
            if not name.startswith(f"{where}/") or kind != "keys":
                continue
            ids, ends = self.get(name), self.get(f"{start}{dot}ends")
            if len(ids) % 16 or len(ends) % 8:
                raise BudgetronError(f"{self.name}: damaged fleet ({name})")
            keys = np.frombuffer(ids, dtype=np.uint64).reshape(-1, 2)
            yield keys, self.get(f"{start}{dot}models"), np.frombuffer(ends, dtype=np.int64)
