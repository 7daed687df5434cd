"""The learners as their papers write them: plain NumPy, one page per algorithm.

Pages are for reading and for holding the compiled learners to account (the trace
tests); library code never imports this package.
"""
