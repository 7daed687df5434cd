"""Where rows come from: every stream iterates chunks (X, y), has a name and a resumable position.

`LibsvmStream` reads LIBSVM text from a file or standard input, `two_gaussians` makes the Forgetron
paper's synthetic stream. The protocol is `Stream`; what goes wrong in a source is a `StreamError`.
"""

from budgetron.streams.libsvm import LibsvmStream
from budgetron.streams.protocol import Stream, StreamError
from budgetron.streams.synthetic import two_gaussians

__all__ = ["LibsvmStream", "Stream", "StreamError", "two_gaussians"]
