"""Studies: the proof, ablations and other measurements; not part of the wheel."""
