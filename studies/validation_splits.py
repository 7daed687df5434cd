"""How much a setting chosen by one 80/20 split depends on that split.

    python -m studies.validation_splits avm_table3 --sets a9a --algorithms AVM-Hinge,AVM-Logit

The AVM paper chooses by the error on a held-out fifth of the training rows. For each line of a
table this prints the setting of the first split, the setting with the least mean error over all
splits, how many settings the splits choose, and the table's number with the second setting. Split s
is that of the permutation with seed s. One run per setting of the grid and split.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace
from typing import Any

from budgetron.lab.reproduce import read
from budgetron.lab.reproduce.protocols import Outcome
from budgetron.lab.reproduce.runner import Lab, Measured, Run, measure
from budgetron.lab.store import Store
from budgetron.lab.workers import Workers


def text(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def main() -> None:
    parser = argparse.ArgumentParser(description="Settings by one split and by many.")
    parser.add_argument("table")
    parser.add_argument("--sets", required=True)
    parser.add_argument("--algorithms", required=True)
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    table = read(options.table)
    print("| set | algorithm | first split | best mean | settings chosen | the table would have |")
    print("|---|---|---|---|---|---|")
    with Workers() as pool:
        lab = Lab(pool, Store())
        for data_set in table.sets:
            for row in data_set.published if data_set.name in options.sets.split(",") else ():
                if row.algorithm not in options.algorithms.split(","):
                    continue
                held = row.validation or data_set.validation or table.validation
                settings = list(row.settings())
                splits = range(options.splits)
                jobs = [
                    Run(data_set, row, setting, seed, table.protocol, held)
                    for seed in splits
                    for setting in settings
                ]
                done = lab.outcomes(jobs)
                errors = [each.value or 0.0 for each in done if isinstance(each, Outcome)]
                of_split = [errors[seed * len(settings) :][: len(settings)] for seed in splits]
                chosen = [settings[each.index(min(each))] for each in of_split]
                means = [statistics.fmean(each) for each in zip(*of_split, strict=True)]
                best = settings[means.index(min(means))]
                line = replace(row, chosen=best)
                (ours,) = measure(table, replace(data_set, published=(line,)), None, lab)
                assert isinstance(ours, Measured)
                cells = (
                    data_set.name,
                    row.algorithm,
                    text(chosen[0]),
                    text(best),
                    str(len({text(each) for each in chosen})),
                    f"{ours.mean:.2f} ± {ours.sd:.2f}",
                )
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
