"""The proof: Budgetron with its defaults beside every tuned learner of the catalogue.

::

    python -m studies.proof --out proof --permutations 10

Ten data sets (`sets`), all learners with a budget at 50 to 400 stored examples and at equal bytes
(`plan`), each rival tuned once per set over its paper's grid (`rivals`, `tuning`), seeded
permutations whose finished runs are kept (`running`), paired tests (`standing`), and the tables and
the figure of docs/results/proof.md (`report`, `figure`).
"""
