"""One page per algorithm and an index: how to make it, parameters, a figure, the paper's card."""

from __future__ import annotations

import re
from pathlib import Path

import budgetron
from budgetron.cards import cards, papers
from budgetron.cli.algorithms import trial
from making import copies, put

ROWS = 2000
BUDGET = 40

# For the index: time of a round (B examples or frequencies stored, n if they grow, d features) and
# when to use the algorithm, in the words of its card. The recommended one first.
INDEX: dict[str, tuple[str, str]] = {
    "budgetron": ("B d; with loss (B + d)²", "first: give it a budget and nothing else"),
    "ahpatron": ("B d + B²", "B far above the number of features; many sparse features"),
    "bsgd-merge": ("B d", "Gaussian kernel, memory scarce"),
    "bpas": ("B d", "the least time per row; no matrix to keep"),
    "forgetron": ("B d", "a mistake bound that holds for any stream; drift"),
    "fogd": ("D d, D frequencies", "you may not keep raw examples (privacy); many classes"),
    "nogd": ("B d + B r", "stationary streams, many rows"),
    "projectron++": ("B d + B²", "mistakes cost more than time"),
    "projectron": ("B d + B²", "near-duplicates in the stream; no example is ever lost"),
    "bogd": ("B d", "every round must cost the same"),
    "bogd++": ("B d", "as bogd, with fewer losses of large coefs"),
    "pomdr": ("(B + M) d, M rows of a window", "rows that resemble the rows just before"),
    "avm": ("C d, C cells", "few features, rows in clusters"),
    "bsgd-project": ("B d + B²", "as bsgd-merge, for other kernels"),
    "bsgd-remove": ("B d", "classes in a cycle; the floor of its family"),
    "rbp": ("B d", "drift and little memory; nothing to tune"),
    "remove-oldest": ("B d", "as rbp, without random choices"),
    "forgetron-greedy": ("B d + B²", "clean labels"),
    "forgetron-basic": ("B d", "the theory"),
    "cks": ("B d + B²", "clean, separable rows only"),
    "stoptron": ("B d", "as a control: what a budget must beat"),
    "pa": ("n d", "as a yardstick without a budget"),
    "pegasos": ("n d", "the SVM of a stream in one pass, without a budget"),
    "ogd": ("n d", "as a yardstick of gradient steps, short streams"),
    "alma": ("n d", "as a yardstick of margins"),
    "avp": ("n d", "short streams; what ahpatron approximates"),
    "perceptron": ("n d", "as the yardstick of its family"),
    "shrinking-perceptron": ("n d", "to see what shrinking alone does"),
}


TEXT = """# Algorithms

**Take [budgetron](budgetron.md) first**: with nothing given but a budget it has the least error in
the geometric mean of [18 streams](../../results/real-streams.md). [Which one should I
use?](../../guide/which-learner.md) has the reasons for the others.

B is the budget, n the number of stored examples where it grows, d the number of features (of sparse
rows, non-zeros). The budget is a number of examples, or bytes: `budget="256KB"`.

## With fixed memory

{fixed}

## Without a limit

These store more the longer the stream is. They are here to compare with.

{grows}

{toctree}"""


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
    by_name = {each.name: each for each in described}
    rows = {True: [], False: []}  # by whether the memory is fixed
    for name, (cost, use) in INDEX.items():
        each = by_name.pop(name)
        does = ", ".join(each.tasks)
        memory = _memory(each)
        rows[memory != "grows"].append(
            f"| [{name}]({file_name(name)}.md) | {use} | {memory} | {does} | {cost} |"
        )
    assert not by_name, f"not in the index: {', '.join(by_name)}"
    listed = "\n".join(file_name(name) for name in INDEX)
    head = "| algorithm | use it for | memory | task | time of a round |\n|---|---|---|---|---|\n"
    toctree = f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    tables = {fixed: head + "\n".join(lines) for fixed, lines in rows.items()}
    text = TEXT.format(fixed=tables[True], grows=tables[False], toctree=toctree)
    return [*written, put(pages / "index.md", text)]


def _memory(each: budgetron.catalogue.Algorithm) -> str:
    """What is fixed: examples, frequencies or nothing."""
    if each.name == "fogd":
        return "fixed: frequencies"
    if "budget" not in each.parameters:
        return "grows"
    return "fixed: B examples" if each.parameters["budget"] else "fixed if `budget` is given"


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
    classes = ", ".join(
        f"{{doc}}`{name} </pages/reference/budgetron.{name}>`"
        for name in (
            budgetron.catalogue.CATALOGUE[each.name].estimator(task).__name__ for task in each.tasks
        )
    )
    cost, use = INDEX[each.name]
    return f"""# {each.name}

{each.summary[0].upper()}{each.summary[1:]}. From: {each.citation}.

| use it for | memory | task | time of a round |
|---|---|---|---|
| {use} | {_memory(each)} | {", ".join(each.tasks)} | {cost} |

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

What each means, and all methods: {classes}. The card of its paper follows:
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
