"""Recognises a file's format by its first bytes, if it is not the expected one."""

from __future__ import annotations

import re

EXPORT = "export its table as CSV"
# First bytes of files that are not text, what they are, and what to do with them.
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "a PDF", EXPORT),
    (b"\xd0\xcf\x11\xe0", "an old Office file", EXPORT),
    (b"SQLite format 3\0", "an SQLite database", EXPORT),
    (b"\x89HDF", "an HDF5 file", EXPORT),
    (b"\x89PNG", "an image", EXPORT),
    (b"\xff\xd8\xff", "an image", EXPORT),
    (b"GIF8", "an image", EXPORT),
    (b"PAR1", "a Parquet file", "add --format parquet"),
    (b"ARROW1", "an Arrow file", "add --format arrow"),
    (b"\xff\xfe", "UTF-16, not UTF-8 text", "convert it: iconv -f utf16 -t utf8"),
    (b"\xfe\xff", "UTF-16, not UTF-8 text", "convert it: iconv -f utf16 -t utf8"),
)
# The same for texts, after leading blanks.
_TEXTS: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (re.compile(rb"<(!doctype )?html", re.IGNORECASE), "a web page", "fetch the table itself"),
    (re.compile(rb"<\?xml"), "XML", EXPORT),
    (re.compile(rb'\{\s*("|$)'), "JSON", "write one object per line and add --format jsonl"),
    (
        re.compile(rb"\[\s*[{\[]"),
        "a JSON array",
        "write one object per line and add --format jsonl",
    ),
)
_TABLE = re.compile(rb"[^\n,;\t|]*[,;\t|]")


def looks_else(head: bytes, format: str) -> str | None:
    """What a file with these first bytes is, and what to do; None: it may have the format.

    >>> looks_else(b"%PDF-1.7", "csv")
    'is a PDF: export its table as CSV'
    >>> looks_else(b"name,age", "csv")
    """
    if head.startswith(b"PK\x03\x04"):
        return _of_zip(head)
    for beginning, what, to_do in _BEGINNINGS:
        if head.startswith(beginning) and format not in to_do:
            return f"is {what}: {to_do}"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for pattern, what, to_do in _TEXTS:
        if pattern.match(text) and (format not in to_do or text.startswith(b"[")):
            return f"is {what}: {to_do}"
    return None


def looks_like_table(head: bytes) -> bool:
    """Whether the first line has fields like CSV text.

    >>> looks_like_table(b"name;age"), looks_like_table(b"1 1:0.5")
    (True, False)
    """
    return b"\0" not in head and _TABLE.match(head) is not None


def _of_zip(head: bytes) -> str:
    if b"xl/" in head or b"[Content_Types].xml" in head:
        return f"is an Excel workbook: {EXPORT}"
    if b".npy" in head[:200]:
        return "is an npz file: add --format npz"
    return "is a zip archive: unzip it first"
