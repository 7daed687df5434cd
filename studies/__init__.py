"""Studies: the proof, ablations and what else was measured once; not part of the wheel."""
