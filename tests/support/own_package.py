"""Import this first: then the path decides which package is used, not an editable install."""

from __future__ import annotations

import sys

sys.meta_path = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
