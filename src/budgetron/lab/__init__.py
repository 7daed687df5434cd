"""Many evaluations: comparisons, tuning, the tables of the papers, and the workers they share."""
