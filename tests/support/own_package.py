"""Importing this lets the path decide which package it is, before an editable install does."""

from __future__ import annotations

import sys

sys.meta_path = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
