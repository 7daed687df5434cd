"""The proof: Budgetron with its defaults beside every tuned learner of the catalogue.

::

    python -m budgetron.proof --out proof --permutations 10

Ten data sets (`sets`), all learners with a budget at 50 to 400 stored examples and at equal bytes
(`plan`), each rival tuned once per set over its paper's grid (`rivals`, `tuning`), seeded
permutations that finished runs are kept of (`running`), and the tables of docs/proof.md (`report`).
"""
