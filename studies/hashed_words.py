"""Memory of learners with a budget in bytes over a long stream of hashed words.

    python -m studies.hashed_words [--rows N] [--learners NAME ...]

Rows have 20 words, drawn by Zipf's law and hashed into 2^20 features, with scale="auto" and
gamma="median"; the budget is 1 MB. Prints `memory_bytes_` and mistakes ten times during the run:
the memory must stay constant. docs/develop/decisions/0037 has the numbers.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.sparse import csr_array

import budgetron

WIDTH, WORDS, CHUNK = 2**20, 20, 10_000
BUDGET = "1MB"


def chunk(rng: np.random.Generator, rows: int) -> tuple[csr_array, np.ndarray]:
    """Rows with counts of words; labels say which half of the frequent words they come from."""
    words = rng.zipf(1.3, size=(rows, WORDS)) % (4 * WIDTH)
    features = words * 0x9E3779B1 % WIDTH
    votes = np.where(words < 2000, (-1.0) ** (words % 7 < 3), 0.0).sum(axis=1)
    X = csr_array(
        (
            np.ones(features.size, np.float32),
            features.ravel().astype(np.int32),
            np.arange(0, features.size + 1, WORDS),
        ),
        shape=(rows, WIDTH),
    )
    X.sum_duplicates()
    return X, (votes + rng.normal(size=rows) > 0).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--learners", nargs="+", default=["rbp", "ahpatron", "budgetron"])
    options = parser.parse_args()
    for name in options.learners:
        rng = np.random.default_rng(0)
        model = budgetron.make(name, budget=BUDGET, scale="auto", gamma="median", random_state=0)
        began, every = time.perf_counter(), max(1, options.rows // CHUNK // 10)
        for part in range(options.rows // CHUNK):
            model.partial_fit(*chunk(rng, CHUNK), classes=[0, 1])
            if (part + 1) % every == 0:
                print(
                    f"{name:10s} {(part + 1) * CHUNK:9,d} rows  {model.memory_bytes_:9,d} bytes  "
                    f"{100 * model.n_mistakes_ / model.n_seen_:5.1f} %  "
                    f"{model.unit_changes_} changes  {time.perf_counter() - began:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
