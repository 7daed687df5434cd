"""The commands of docs/guide/serve.md print what it shows."""

from __future__ import annotations

import shutil

import pytest

from tests.docs.documents import shown
from tests.docs.serve_guide import commands, printed


@pytest.mark.long
@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="needs curl, bash")
def test_the_guide_prints_what_is_shown() -> None:
    found = list(printed())
    for block, now in found:
        assert shown(now) == shown(block.body), f"line {block.line}"
    assert sum(len(commands(block)) for block, _ in found) == 10
