"""The effect of each part of Budgetron, and its distance from its targets.

    python -m studies.budgetron2 --out FOLDER [--permutations 10] [--jobs 2] [--only WORD] [--page]

Errors test then train, default settings but the budget, unscaled rows in float32: mistakes in per
cent; for casp and airlines the root mean squared error. Streams (.npz files with X and y in the
folder `streams` of the data) and airlines come in their own order; the sets of the proof, susy30k
and spambase in permutations `default_rng(i)`.

Every target is measured with all parts and with none, and, at B = 100, without each part. Finished
runs are in FOLDER/cells.jsonl; the same command resumes. Cells belong to one build of the core: use
another folder for another build. `--page` writes docs/results/budgetron2.md from what is finished.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import budgetron
from budgetron.lab.reproduce import data
from budgetron.lab.reproduce.tables import Set
from budgetron.lab.rows import Rows
from studies.proof.sets import SETS, ProofSet

PAGE = Path("docs/results/budgetron2.md")
TEMPLATE = Path(__file__).with_name("budgetron2.template.md")
STREAMS = {"elec2": 6.5, "squares": 5.0, "tree_abrupt": 6.0, "mixed_gradual": 6.0}
STREAMS |= {"spam": 2.2, "gmsc": 6.5, "outdoor": 8.3, "rialto": 40.0}
SHUFFLED = {"phishing": 5.5, "a9a": 15.6, "w8a": 1.75, "ijcnn1": 2.6, "magic04": 14.1}
SHUFFLED |= {"cod-rna": 5.3, "covtype": 22.7, "susy30k": 20.8, "spambase": 8.0, "MNIST": 9.1}
SHUFFLED |= {"casp": 0.229, "airlines": 40.2}
SMALL = {"a9a": 15.8, "w8a": 1.9, "cod-rna": 5.6, "ijcnn1": 4.0}
OTHERS = (  # beside those of the proof
    ProofSet(Set("susy30k", 30_000, ("SUSY-30k",))),
    ProofSet(Set("spambase", 4_601, ("spambase",))),
)
FIRST = 50_000  # first rows of airlines: those with which its target was found
ALL, NONE = "all parts", "no part"
OFF: dict[str, dict[str, Any]] = {
    "straight part": {"straight": "none"},
    "floor": {"floor": 0.0},
    "reflex": {"reflex": False},
    "race": {"gamma": "median"},
    "relevance": {"relevance": False},
}
WITHOUT = {
    ALL: {},
    NONE: {name: value for off in OFF.values() for name, value in off.items()},
    **OFF,
}
MOST_WORSE = 1.03  # allowed ratio to the error with no part


@dataclass(frozen=True)
class Target:
    """The upper limit of the error on a set, in its own order or shuffled, with a budget."""

    data: str
    ordered: bool
    budget: int
    most: float

    @property
    def name(self) -> str:
        places = [self.data]
        if self.data == "airlines" and self.ordered:
            places.append("in its own order")
        if self.budget != 100:
            places.append(f"B = {self.budget}")
        return ", ".join(places)


TARGETS = [
    *(Target(name, True, 100, most) for name, most in STREAMS.items()),
    Target("airlines", True, 100, 32.6),
    *(Target(name, False, 100, most) for name, most in SHUFFLED.items()),
    *(Target(name, False, 37, most) for name, most in SMALL.items()),
]


@dataclass(frozen=True)
class Cell:
    """One run."""

    target: Target
    without: str
    seed: int

    @property
    def key(self) -> str:
        order = "own order" if self.target.ordered else str(self.seed)
        return "/".join((self.target.data, str(self.target.budget), self.without, order))


@lru_cache(maxsize=1)
def rows_of(name: str, ordered: bool) -> Rows:
    """The rows of a set in the order of its files."""
    if name in STREAMS:
        with np.load(Path(os.environ["BUDGETRON_DATA"]) / "streams" / f"{name}.npz") as file:
            return Rows(name, file["X"].astype(np.float32), file["y"])
    known = {each.name: each for each in (*SETS, *OTHERS)}
    rows = known[name].load()
    if not ordered:
        return rows
    whole = data.whole(known[name].rows, task=rows.task)
    return Rows(name, whole.X[:FIRST], whole.y[:FIRST], given_task=rows.task)


def run(cell: Cell) -> float:
    """Run a cell; return its error."""
    warnings.simplefilter("ignore")
    rows = rows_of(cell.target.data, cell.target.ordered)
    X, y = rows.X, rows.y
    if not cell.target.ordered:
        order = np.random.default_rng(cell.seed).permutation(len(y))
        X, y = X[order], y[order]
    own: dict[str, Any] = {"budget": cell.target.budget, **WITHOUT[cell.without]}
    with threadpool_limits(limits=1):
        if rows.task == "regression":
            own.pop("reflex", None)
            if cell.without == NONE:
                own["replace"] = "never"  # without the drift rule
            model = budgetron.make("budgetron", task=rows.task, **own)
            return math.sqrt(float(np.mean((model.prequential(X, y) - y) ** 2)))
        model = budgetron.make("budgetron", **own)
        model.partial_fit(X, y, classes=np.unique(y))
        return 100.0 * float(model.n_mistakes_) / len(y)


def differs(target: Target, without: str) -> bool:
    """Whether there is something to switch off: regression has no reflex."""
    return not (without == "reflex" and target.data in ("casp", "airlines"))


def cells(permutations: int) -> Iterator[Cell]:
    """The cells of all permutations; the first permutations of all targets come first."""
    for seed in range(permutations):
        for target in TARGETS:
            for without in WITHOUT if target.budget == 100 else (ALL, NONE):
                if differs(target, without) and not (seed and target.ordered):
                    yield Cell(target, without, seed)


def read(path: Path) -> dict[str, float]:
    """The finished cells."""
    if not path.exists():
        return {}
    return dict(json.loads(line) for line in path.read_text().splitlines())


def measure(path: Path, wanted: list[Cell], jobs: int) -> None:
    """Run the missing cells."""
    done = read(path)
    missing = [cell for cell in wanted if cell.key not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool, path.open("a") as file:
        runs = {pool.submit(run, cell): cell for cell in missing}
        for finished in as_completed(runs):
            key = runs[finished].key
            print(json.dumps([key, finished.result()]), file=file, flush=True)
            print(f"{key} {finished.result():.4g}", flush=True)


class Results:
    """The cells in a folder."""

    def __init__(self, done: dict[str, float], permutations: int) -> None:
        self.done = done
        self.permutations = permutations

    def errors(self, target: Target, without: str) -> list[float]:
        """Errors by permutation, as far as finished; for a missing part, those with all parts."""
        if not differs(target, without):
            without = ALL
        seeds = range(1 if target.ordered else self.permutations)
        keys = (Cell(target, without, seed).key for seed in seeds)
        return [self.done[key] for key in keys if key in self.done]

    def mean(self, target: Target, without: str) -> float:
        found = self.errors(target, without)
        return float(np.mean(found)) if found else math.nan

    def ratio(self, target: Target, above: str, below: str) -> float:
        """The ratio of mean errors on the permutations that both have."""
        pairs = list(zip(self.errors(target, above), self.errors(target, below), strict=False))
        if not pairs:
            return math.nan
        one, other = np.mean(pairs, axis=0)
        return float(one / other)


def shown(target: Target, value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.4f}" if target.data == "casp" else f"{value:.2f}"


def line(*parts: str) -> str:
    return "| " + " | ".join(parts) + " |"


def table_of_targets(results: Results) -> str:
    lines = [line("set", "target", "reached", "n", "with no part", "ratio", ""), "|---" * 7 + "|"]
    for target in TARGETS:
        found, before = results.errors(target, ALL), results.mean(target, NONE)
        mean = results.mean(target, ALL)
        spread = f" ± {shown(target, float(np.std(found, ddof=1)))}" if len(found) > 1 else ""
        ratio = results.ratio(target, ALL, NONE)
        most = f"{target.most:g}"
        verdict = "reached" if float(shown(target, mean)) <= target.most else "**missed**"
        if ratio > MOST_WORSE:
            verdict += ", worse than with no part"
        cell = (shown(target, mean) + spread, str(len(found)), shown(target, before))
        compared = "–" if math.isnan(ratio) else f"{ratio:.3f}"
        lines.append(line(target.name, most, *cell, compared, verdict))
    return "\n".join(lines)


def geometric(ratios: list[float]) -> float:
    """The geometric mean of the numbers that exist."""
    found = [ratio for ratio in ratios if not math.isnan(ratio)]
    return math.exp(float(np.mean(np.log(found)))) if found else math.nan


def ratios_without(results: Results, without: str, ordered: bool) -> list[float]:
    """Errors without a part, divided by those with all, one per set."""
    targets = [each for each in TARGETS if each.budget == 100 and each.ordered == ordered]
    return [results.ratio(each, without, ALL) for each in targets]


def table_without(results: Results, ordered: bool) -> str:
    """Errors without a part, relative to those with all."""
    targets = [each for each in TARGETS if each.budget == 100 and each.ordered == ordered]
    lines = [line("without", *(each.data for each in targets), "geometric mean")]
    lines.append("|---" * (len(targets) + 2) + "|")
    lines.append(line("nothing", *(shown(each, results.mean(each, ALL)) for each in targets), ""))
    for without in (*OFF, NONE):
        ratios = ratios_without(results, without, ordered)
        title = "all of them" if without == NONE else without
        parts = ["–" if math.isnan(each) else f"{each:.3f}" for each in ratios]
        lines.append(line(title, *parts, f"**{geometric(ratios):.3f}**"))
    return "\n".join(lines)


def lines_of_worth(results: Results) -> str:
    """One line per part: the geometric means of both tables without a part."""
    lines = []
    for without in (*OFF, NONE):
        means = [geometric(ratios_without(results, without, each)) for each in (True, False)]
        bold, title = ("**", "all of them") if without == NONE else ("", without)
        lines.append(line(title, *(f"{bold}{each:.3f}{bold}" for each in means)))
    return "\n".join(lines)


def sentence(results: Results) -> str:
    """The result in one sentence: what all parts give, and the targets reached."""
    ordered, shuffled = (ratios_without(results, NONE, each) for each in (True, False))
    reached = sum(float(shown(each, results.mean(each, ALL))) <= each.most for each in TARGETS)
    return (
        f"**All parts together lower the error by a factor of {geometric(ordered):.2f} on "
        f"{len(ordered)} streams in their own order, and of {geometric(shuffled):.2f} on "
        f"{len(shuffled)} shuffled sets (geometric means). Budgetron reaches {reached} of "
        f"{len(TARGETS)} targets.**"
    )


def page(results: Results) -> str:
    """The page of the documentation."""
    text = TEMPLATE.read_text()
    text = text.replace("{result}", sentence(results)).replace("{worth}", lines_of_worth(results))
    text = text.replace("{targets}", table_of_targets(results))
    text = text.replace("{ordered}", table_without(results, True))
    return text.replace("{shuffled}", table_without(results, False))


def main() -> None:
    parser = argparse.ArgumentParser(description="The parts of Budgetron and its targets.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--permutations", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="cells whose key has this word")
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    options = parser.parse_args()
    path = options.out / "cells.jsonl"
    if not options.page:
        wanted = [each for each in cells(options.permutations) if options.only in each.key]
        measure(path, wanted, options.jobs)
    results = Results(read(path), options.permutations)
    if options.page:
        PAGE.write_text(page(results))
    else:
        print(table_of_targets(results))


if __name__ == "__main__":
    main()
