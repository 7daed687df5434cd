"""Budget against mistakes.

Handwritten digits, even against odd, each row predicted before it is learned. More memory helps
every learner. The memory needed to match the Perceptron, which keeps all its mistakes, differs by a
factor of ten.
"""

from drawing import BLUE, GREEN, ORANGE, PINK, YELLOW, options, plt, save
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

import budgetron

arguments = options(__doc__, rows=1797)
digits = load_digits()
X, y = shuffle(digits.data / 16, digits.target % 2, random_state=0)
X, y = X[: arguments.rows], y[: arguments.rows]


def mistakes(name: str, **params: object) -> tuple[float, int]:
    """The per cent of mistakes, and how many examples were stored."""
    rates, stored = [], []
    for seed in range(3):
        model = budgetron.make(name, random_state=seed, **params)
        rows = shuffle(X, y, random_state=seed)
        model.prequential(*rows)
        rates.append(100 * model.n_mistakes_ / model.n_seen_)
        stored.append(model.n_support_)
    return sum(rates) / 3, round(sum(stored) / 3)


budgets = (10, 20, 40, 80, 160, 320)
styles = {
    "budgetron": (BLUE, "o"),
    "projectron++": (GREEN, "^"),
    "ahpatron": (ORANGE, "s"),
    "bogd++": (PINK, "v"),
    "forgetron": (YELLOW, "D"),
}
figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
for name, (colour, marker) in styles.items():
    rates = [mistakes(name, budget=budget)[0] for budget in budgets]
    axis.plot(budgets, rates, color=colour, marker=marker, linewidth=2, label=name)
rate, stored = mistakes("perceptron")
label = f"perceptron, no budget: {stored} stored"
axis.axhline(rate, color="black", linestyle="--", linewidth=1.2, label=label)
axis.set_xscale("log")
axis.set_xticks(budgets, [str(budget) for budget in budgets])
axis.minorticks_off()
axis.set(xlabel="budget, stored examples at most", ylabel="mistakes, % of rows", ylim=(0, None))
axis.grid(alpha=0.3)
axis.legend(frameon=False)
save(figure, arguments.out, __file__)
