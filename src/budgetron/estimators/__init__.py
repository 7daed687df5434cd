"""The scikit-learn estimators: one file per family of learners. May use parts and _engine."""
