"""Real streams in their own order: our learners beside River's and Vowpal Wabbit's.

::

    python -m studies.real_streams --out FOLDER            (make streams-study)
    python -m studies.real_streams --out FOLDER --page

Rows in their own order (`sources`), learners of River and Vowpal Wabbit (`others`), labels at once,
100 and 1,000 rows later, and damaged rows (`harm`): all are cells of the laboratory (`plan`),
stored in FOLDER. `results` reads them, `report` and `figure` make docs/results/real-streams.md from
them.
"""
