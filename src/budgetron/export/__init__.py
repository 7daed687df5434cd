"""Models outside Python: as a C header, as text (JSON), as an ONNX graph.

One reader of models, reading.py, makes a `Description` of what `predict` needs (description.py).
Three writers write it: c_header.py with c_table.py, json_text.py and onnx_graph.py, which
`budgetron.onnx` publishes. budgetron.js reads the text. May use the estimators, the tables and the
layers below them.
"""

from __future__ import annotations

from budgetron.export.c_header import to_c
from budgetron.export.description import Description, ExportError
from budgetron.export.json_text import to_json
from budgetron.export.reading import describe

__all__ = ["Description", "ExportError", "describe", "to_c", "to_json"]
