"""The scikit-learn face: one estimator a learner, over the one engine."""
