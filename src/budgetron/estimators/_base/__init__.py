"""What all estimators share: validation, labels, weights, budgets in bytes, documentation."""
