"""The decision boundary as the budget shrinks.

The same two thousand rows, learned with room for 100, 20, 6 and 3 examples. The boundary hardly
moves until there are fewer examples than the shape has turns: then it becomes simpler, not wilder.
"""

import numpy as np
from drawing import BLUE, ORANGE, options, plt, save
from sklearn.datasets import make_moons

from budgetron import BudgetronClassifier

arguments = options(__doc__, rows=2000)
X, y = make_moons(arguments.rows, noise=0.25, random_state=0)
side = np.linspace(-2.2, 3.2, 150)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)

figure, axes = plt.subplots(2, 2, figsize=(9, 7.4), sharex=True, sharey=True, layout="constrained")
for axis, budget in zip(axes.flat, (100, 20, 6, 3), strict=True):
    model = BudgetronClassifier(budget=budget, scale=None, random_state=0)
    model.prequential(X, y)
    f = model.decision_function(grid).reshape(len(side), len(side))
    axis.scatter(*X[y == 0].T, 3, color=BLUE, alpha=0.25, linewidths=0)
    axis.scatter(*X[y == 1].T, 3, color=ORANGE, alpha=0.25, linewidths=0)
    axis.contour(side, side, f, [0.0], colors="black", linewidths=1.8)
    stored = model.support_vectors_
    axis.scatter(*stored.T, 22, facecolors="white", edgecolors="black", linewidths=0.9, zorder=3)
    axis.set_title(
        f"budget {budget}: {model.n_mistakes_ / model.n_seen_:.1%} mistakes\n"
        f"{model.n_support_} stored, {model.memory_bytes_ / 1000:.0f} kB",
        fontsize=10,
    )
    axis.set(xlim=(-2.2, 3.2), ylim=(-1.8, 2.2))
for axis in axes[1]:
    axis.set_xlabel("first feature")
for axis in axes[:, 0]:
    axis.set_ylabel("second feature")
figure.legend(
    handles=[
        plt.Line2D([], [], color=BLUE, marker="o", linewidth=0, label="one class"),
        plt.Line2D([], [], color=ORANGE, marker="o", linewidth=0, label="the other"),
        plt.Line2D([], [], color="black", label="decision boundary"),
        plt.Line2D([], [], color="black", marker="o", mfc="white", lw=0, label="stored example"),
    ],
    loc="outside lower center",
    ncols=4,
    frameon=False,
)
save(figure, arguments.out, __file__)
