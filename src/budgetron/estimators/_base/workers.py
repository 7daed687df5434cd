"""An estimator as the base of workers, or as a worker; `budgetron.merge` merges them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from budgetron.estimators._base.sharing import _PRIVATE, Shared, in_turn

if TYPE_CHECKING:
    from budgetron.merging import Delta


class Worker(Shared):
    """The part of an estimator that lets it learn separately and be merged."""

    def base(self) -> Self:
        """A copy of the model from which workers start: each copies it and learns its own rows.

        A worker keeps what all must share: the stored examples (Budgetron), the units of the
        features, gamma and the metric. Races end. All else is learned as usual. Save a base to a
        file to start workers elsewhere.

        Returns
        -------
        base : the current model; copy it with ``snapshot``, or save it and load the file

        Raises
        ------
        BudgetronError
            If units and gamma are not settled yet, which takes 200 rows; or if the learner cannot
            be merged (docs/guide/merge.md lists them).

        Examples
        --------
        >>> from sklearn.datasets import make_circles
        >>> from budgetron import BudgetronClassifier
        >>> X, y = make_circles(800, factor=0.5, noise=0.1, random_state=0)
        >>> model = BudgetronClassifier(budget=20).partial_fit(X[:400], y[:400])
        >>> base = model.base()
        >>> worker = base.snapshot().partial_fit(X[400:], y[400:])
        >>> worker.delta(base, "north").rows
        400
        """
        from budgetron.merging import start_base

        twin = self.snapshot()
        start_base(twin)
        return twin

    @in_turn
    def _become(self, other: Self) -> None:
        """Take over all that another model of the same kind has learned, and nothing else."""
        kept = {name: self.__dict__[name] for name in _PRIVATE if name in self.__dict__}
        self.__dict__.update({**other.__dict__, **kept})
        self._watched(self._engine)

    @in_turn
    def delta(self, base: Self, worker: str) -> Delta:
        """What this worker has learned since its base, to merge it with other workers.

        Parameters
        ----------
        base : the base that the worker started from
        worker : its name, the same in all its deltas: a worker that is merged twice counts once, by
            the delta with more rows

        Raises
        ------
        BudgetronError
            If the model did not start from this base.
        """
        from budgetron.merging import delta_of

        return delta_of(self, base, worker)
