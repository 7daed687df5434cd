"""Choosing which labels to request: mistakes with a share of the labels, beside all and random.

    python -m studies.labels [--shares 0.05 0.1 0.2] [--out docs/images]

phishing and a9a (shuffled) and elec2 (in order; a .npz in the data folder's streams/). Every row is
predicted; rows that `should_label` requests are learned, one by one. "Random" learns each row with
the same probability, the mean of three seeds. `--out` draws the figure of docs/guide/labels.md.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

from budgetron import BudgetronClassifier, datasets
from budgetron.evaluate.adapters import face


def streams() -> dict[str, tuple[Any, Any]]:
    found = {}
    for name, part in (("phishing", "phishing"), ("a9a", "a9a/train")):
        if datasets.here(part):
            data_set, files = datasets.named(part)
            X, y = datasets.load(data_set.name, [file.part for file in files], "float64")
            order = np.random.default_rng(0).permutation(len(y))
            found[name] = (X[order], y[order])
    path = Path(os.environ.get("BUDGETRON_DATA", "data")) / "streams" / "elec2.npz"
    if path.exists():
        with np.load(path) as stored:
            found["elec2"] = (stored["X"].astype(np.float64), stored["y"])
    return found


def asked(X: Any, y: Any, share: float) -> tuple[float, float]:
    """Mistakes and labels used, in per cent of the rows."""
    model = BudgetronClassifier()
    learner = face(model, "classification", np.unique(y), growing=False, ask=share)
    wrong = (learner.test_then_train(X, y).values != y).mean()
    return 100 * float(wrong), 100 * model.labels_asked_ / len(y)


def at_random(X: Any, y: Any, share: float, seed: int) -> float:
    """The same with random rows: rows of weight 0 are predicted and not learned."""
    model, classes = BudgetronClassifier(), np.unique(y)
    weights = (np.random.default_rng(seed).random(len(y)) < share).astype(float)
    weights[0] = 1.0
    f = model.prequential(X, y, classes=classes, sample_weight=weights)
    return 100 * float((classes[(f >= 0).astype(int)] != y).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    print(
        "| stream | share | labels used, % | mistakes, % | of those with all labels | random, % |"
    )
    print("|---|---|---|---|---|---|")
    drawn = {}
    for name, (X, y) in streams().items():
        whole = at_random(X, y, 1.0, 0)
        print(f"| {name} | all | 100 | {whole:.2f} | 1 | |", flush=True)
        lines = []
        for share in options.shares:
            wrong, used = asked(X, y, share)
            chance = float(np.mean([at_random(X, y, share, seed) for seed in range(3)]))
            lines.append((share, wrong, chance))
            ratio = wrong / whole
            print(
                f"| {name} | {share:g} | {used:.1f} | {wrong:.2f} | {ratio:.2f} | {chance:.2f} |",
                flush=True,
            )
        drawn[name] = (whole, lines)
    if options.out is not None:
        draw(options.out, drawn)


def draw(path: Path, drawn: dict[str, Any]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(drawn), figsize=(10, 3.2), layout="constrained")
    for axis, (name, (whole, lines)) in zip(np.atleast_1d(axes), drawn.items(), strict=True):
        shares = [100 * share for share, _, _ in lines]
        axis.plot(shares, [wrong for _, wrong, _ in lines], "o-", label="should_label")
        axis.plot(shares, [chance for _, _, chance in lines], "s--", color="0.5", label="random")
        axis.axhline(whole, color="0.3", lw=1, ls=":", label="all labels")
        axis.set(title=name, xlabel="labels, % of the rows", ylim=(0, None))
    np.atleast_1d(axes)[0].set_ylabel("mistakes, %")
    np.atleast_1d(axes)[0].legend()
    path.mkdir(parents=True, exist_ok=True)
    figure.savefig(path / "labels.png", dpi=110)


if __name__ == "__main__":
    main()
