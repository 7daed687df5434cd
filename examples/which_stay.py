"""Which support vectors stay.

Six ways to keep to thirty examples, after the same two thousand rows. Colour shows when an example
was stored, size how much it counts. A learner that drops the oldest has only recent examples; one
that refuses new examples has only the first; projection and confidence keep early examples but
learn their coefs from all rows.
"""

import numpy as np
from drawing import options, plt, save

import budgetron
from budgetron.streams import open_stream

arguments = options(__doc__, rows=2000)
source = "synthetic:checkerboard,cells=2,seed=3"
X, y = next(iter(open_stream(source, rows=arguments.rows, chunk_rows=arguments.rows)))
X = X.astype(float)
side = np.linspace(0, 1, 100)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)

figure, axes = plt.subplots(2, 3, figsize=(10, 6.8), sharex=True, sharey=True, layout="constrained")
names = ("stoptron", "remove-oldest", "rbp", "bsgd-merge", "projectron", "budgetron")
for axis, name in zip(axes.flat, names, strict=True):
    model = budgetron.make(name, budget=30, gamma=10.0, scale=None, random_state=0)
    model.prequential(X, y)
    f = model.decision_function(grid).reshape(len(side), len(side))
    axis.contourf(side, side, f >= 0, [-0.5, 0.5, 1.5], colors=["#f2f2f2", "#d4d4d4"])
    # Any row will do: gives when each was stored, and its share.
    found = model.explain(np.array([0.5, 0.5]))
    coefs = np.abs(found.shares[:, 0] / np.maximum(found.kernels, 1e-300))
    sizes = 25 + 120 * coefs / coefs.max()
    points = found.examples
    shown = axis.scatter(
        points[:, 0],
        points[:, 1],
        sizes,
        c=found.rounds,
        cmap="viridis",
        vmin=0,
        vmax=arguments.rows,
        edgecolors="black",
        linewidths=0.7,
    )
    axis.set_title(f"{name}: {model.n_mistakes_ / model.n_seen_:.1%} mistakes", fontsize=10)
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
for axis in axes[1]:
    axis.set_xlabel("first feature")
figure.supxlabel(
    "size of a circle: the example's coef; grey: the class that is predicted", fontsize=10
)
for axis in axes[:, 0]:
    axis.set_ylabel("second feature")
bar = figure.colorbar(shown, ax=axes, shrink=0.7)
bar.set_label("row in which the example was stored")
save(figure, arguments.out, __file__)
