"""The `budgetron` command: one file per verb.

The entry point imports nothing, so Ctrl-C shows no traceback even while modules load. The command
may use the whole package except `checks` and `river`.
"""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """The entry point: run the command line and exit.

    Exit codes: 0 done; 2 a mistake in the command or the data, or output that cannot be written;
    130 interrupted by Ctrl-C; 143 ended by SIGTERM, after a last checkpoint; 141 the reader of our
    output closed the pipe, as shells report it.
    """
    try:
        from budgetron.cli._command import execute

        code = execute(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
