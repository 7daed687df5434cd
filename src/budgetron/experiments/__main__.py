"""Run the papers' tables again and print ours beside theirs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path

from budgetron.experiments import data, report, runner
from budgetron.experiments.tables import Table, names, read


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status, 1 if a number is worse than published for no known reason."""
    options = _parser().parse_args(arguments)
    folder = data.default_folder()
    try:
        tables = [read(name) for name in options.names or names()]
        chosen = _chosen(tables, options.sets)
    except ValueError as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    if not folder.is_dir():
        what = "only made streams are run; BUDGETRON_DATA names the folder of the *.libsvm.xz files"
        print(f"experiments: no folder {folder}: {what}", file=sys.stderr)
    failed = False
    with runner.workers(options.processes) as pool:
        for table in tables:
            results = _run(table, chosen, range(options.permutations), folder, pool)
            if not results:
                continue
            text = report.markdown(table, results)
            print(text, flush=True)
            failed |= report.unexplained(results)
            if options.out is not None:
                _save(options.out, table, results, text)
    return 1 if failed else 0


def _chosen(tables: Sequence[Table], sets: str | None) -> set[str]:
    known = {data_set.name: None for table in tables for data_set in table.sets}
    chosen = set(sets.split(",")) if sets else set(known)
    for name in sorted(chosen - set(known)):
        raise ValueError(f"no set is called {name!r}; there are {', '.join(known)}")
    return chosen


def _run(
    table: Table, chosen: set[str], seeds: range, folder: Path, pool: Executor
) -> report.Results:
    results: list[report.Result] = []
    for data_set in table.sets:
        if data_set.name not in chosen:
            continue
        reason = data.missing(data_set, folder)
        if reason is not None:
            results.append((data_set, reason))
            continue

        def progress(done: int, total: int, name: str = data_set.name) -> None:
            end = "\n" if done == total else "\r"
            if end == "\n" or sys.stderr.isatty():
                print(f"{table.name}: {name}: {done}/{total} runs", end=end, file=sys.stderr)

        results.append((data_set, runner.measure(data_set, seeds, folder, pool, progress)))
    return results


def _save(out: Path, table: Table, results: report.Results, text: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{table.name}.md").write_text(text, encoding="utf-8")
    lines = [
        {
            "set": data_set.name,
            "algorithm": row.algorithm,
            "params": row.params,
            "published": {"mean": row.mean, "sd": row.sd, "stored": row.stored},
            "verdict": report.verdict(row, ours.mean),
            **asdict(ours),
        }
        for data_set, row, ours in report.measured(results)
    ]
    (out / f"{table.name}.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m budgetron.experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}")
    parser.add_argument("--permutations", type=_count, default=10, help="seeded orders, or streams")
    parser.add_argument("--sets", metavar="A,B", help="only these data sets")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write Markdown and JSON there too")
    parser.add_argument("--processes", type=_count, help="in parallel; default: one per core")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
