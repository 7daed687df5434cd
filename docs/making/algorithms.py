"""One page an algorithm: how to make it, its parameters, a figure, and the card of its paper."""

from __future__ import annotations

import re
from pathlib import Path

import budgetron
from budgetron.cards import cards, papers
from budgetron.cli.algorithms import trial
from making import copies, put

ROWS = 2000
BUDGET = 40


def file_name(algorithm: str) -> str:
    """`projectron-plus-plus`: names as files and addresses can have them."""
    return algorithm.replace("+", "-plus")


def write(pages: Path) -> list[Path]:
    """The pages, their figures and the list of them."""
    described = budgetron.algorithms()
    written = []
    for each in described:
        stem = pages / file_name(each.name)
        written += [put(stem.with_suffix(".md"), _page(each, stem)), _figure(each, stem)]
    rows = [
        f"| [{each.name}]({file_name(each.name)}.md) | {each.summary} | {each.citation} |"
        for each in described
    ]
    listed = "\n".join(file_name(each.name) for each in described)
    index = (
        "# Algorithms\n\nOne page each, made from the catalogue and the card of the paper. "
        "[Which one should I use?](../../guide/which-learner.md)\n\n"
        "| name | what it does | from |\n|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )
    return [*written, put(pages / "index.md", index)]


def _page(each: budgetron.catalogue.Algorithm, stem: Path) -> str:
    paper = papers()[each.name]
    document = copies.ROOT / "papers" / paper / "card.md"
    card = copies.with_links(
        cards()[paper], document, stem.with_suffix(".md"), copies.sources(stem.parents[1])
    )
    title, _, body = card.partition("\n")
    common = budgetron.algorithms()[0].parameters  # of the Perceptron, which has none of its own
    parameters = sorted(each.parameters.items(), key=lambda item: item[0] in common)
    known = "\n".join(f"| `{name}` | `{value!r}` |" for name, value in parameters)
    bounded = f"a budget of {BUDGET}" if "budget" in each.parameters else "no budget"
    if each.name == "fogd":
        bounded = f"{BUDGET} frequencies"
    return f"""# {each.name}

{each.summary[0].upper()}{each.summary[1:]}. Does {" and ".join(each.tasks)}. From: {each.citation}.

```python
import budgetron

model = budgetron.make("{each.name}")
```

    {trial(each)}

![Decisions and stored examples of {each.name}]({stem.name}.png)

*{ROWS:,} rows of a board of four fields, one label in twenty flipped, with {bounded},
gamma = 10, no scaling and defaults otherwise. Colour: the decision; line: where it changes sign;
circles: the stored examples, larger the larger their coefs.*

## Parameters

| parameter | default |
|---|---|
{known}

What each means: [reference](../../reference/api.md). The card of its paper follows:
{title.lstrip("# ")}.
{re.sub(r"^# .*$", "", body, flags=re.M)}
"""


def _figure(each: budgetron.catalogue.Algorithm, stem: Path) -> Path:
    """What it has learned of a checkerboard; drawn once, `make clean` removes it."""
    path = stem.with_suffix(".png")
    if path.exists():
        return path
    import matplotlib

    matplotlib.use("Agg")
    import numpy as np
    from matplotlib import pyplot as plt

    from budgetron.streams import open_stream

    params = {"budget": BUDGET} if "budget" in each.parameters else {}
    if each.name == "fogd":
        params = {"n_components": BUDGET}
    model = budgetron.make(each.name, gamma=10.0, scale=None, random_state=0, **params)
    stream = open_stream("synthetic:checkerboard,cells=2,flip=0.05,seed=1", rows=ROWS)
    for X, y in stream:
        model.prequential(X, y)
    side = np.linspace(0, 1, 120)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2).astype(np.float32)
    f = model.decision_function(grid).reshape(len(side), len(side))
    top = max(float(np.abs(f).max()), 1e-9)
    figure, axis = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
    shown = axis.contourf(side, side, f, np.linspace(-top, top, 21), cmap="PuOr")
    axis.contour(side, side, f, [0.0], colors="black", linewidths=1.5)
    if model.n_support_:
        coefs = np.abs(np.asarray(model.dual_coef_)).reshape(-1, model.n_support_)[0]
        points = model.support_vectors_
        points = points.toarray() if hasattr(points, "toarray") else points
        sizes = 8 + 50 * coefs / max(coefs.max(), 1e-12)
        axis.scatter(*points.T[:2], sizes, facecolors="white", edgecolors="black", linewidths=0.6)
    rate = 100 * model.n_mistakes_ / model.n_seen_
    axis.set_title(f"{rate:.1f} % mistakes, {model.n_support_} stored", fontsize=10, loc="left")
    axis.set(xlabel="first feature", ylabel="second feature", xlim=(0, 1), ylim=(0, 1))
    axis.set_aspect("equal")
    figure.colorbar(shown, label="decision f(x)", format="%.2g")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
