"""Models as ONNX graphs; a converter for skl2onnx, so that Pipelines convert.

The public module of `budgetron.export` for ONNX. Importing it registers the learners with skl2onnx,
if that is installed: `skl2onnx.to_onnx` then takes a Pipeline that ends with one.
"""

from __future__ import annotations

from budgetron.export.onnx_graph import to_onnx as to_onnx
from budgetron.export.skl2onnx_converter import register as register

__all__ = ["register", "to_onnx"]

register()
