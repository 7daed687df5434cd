"""What all estimators share: validation, labels, weights, budgets in bytes, documentation.

May use parts and _engine, but no family of learners.
"""
