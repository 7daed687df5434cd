"""A stream with drift.

A board of four fields whose colours swap every so often. A learner that never replaces its stored
examples is lost for thousands of rows; forgetron, which drops its oldest example, hardly suffers
but is never good; budgetron detects the drift by its mistakes (dotted lines), resets its certainty,
and its curve, over the last 600 rows, is back after 1,200 to 1,800.
"""

from drawing import BLUE, GREEN, ORANGE, PINK, options, plt, save

import budgetron
from budgetron.evaluate import prequential
from budgetron.streams import open_stream

arguments = options(__doc__, rows=24_000)
every = arguments.rows // 4
source = f"synthetic:checkerboard,cells=2,drift=recurring,every={every},seed=1"
X, y = next(iter(open_stream(source, rows=arguments.rows, chunk_rows=arguments.rows)))

learners = {
    "budgetron": (budgetron.make("budgetron", budget=100), BLUE, "-"),
    "budgetron, replace=never": (
        budgetron.make("budgetron", budget=100, replace="never"),
        ORANGE,
        (0, (5, 2)),
    ),
    "forgetron": (budgetron.make("forgetron", budget=100), GREEN, (0, (1, 1))),
    "ahpatron": (budgetron.make("ahpatron", budget=100), PINK, (0, (6, 2, 1, 2))),
}
figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
for name, (model, colour, dash) in learners.items():
    found = prequential(model, X, y, every=max(arguments.rows // 120, 1), window=every // 10)
    rows = [point["rows"] for point in found.checkpoints]
    rates = [100 * point["window_mistake_rate"] for point in found.checkpoints]
    axis.plot(rows, rates, color=colour, linestyle=dash, linewidth=2, label=name)
for start in range(0, arguments.rows, 2 * every):
    axis.axvspan(start + every, start + 2 * every, color="#eeeeee", zorder=0, linewidth=0)
for noticed in learners["budgetron"][0].drift_log_:
    axis.axvline(noticed, color=BLUE, linestyle=":", linewidth=1)
axis.axhline(5, color="black", linewidth=1, label="labels that are wrong")
axis.set(
    xlabel="rows (grey: the colours of the board are turned round)",
    ylabel=f"mistakes, % of the last {every // 10:,} rows",
    xlim=(0, arguments.rows),
    ylim=(0, None),
)
axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
figure.legend(loc="outside upper center", ncols=5, frameon=False)
save(figure, arguments.out, __file__)
