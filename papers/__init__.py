"""The learners as their papers write them: plain NumPy, one page per algorithm.

Pages are for reading, and the trace tests compare the compiled learners with them. Library code
never imports this package.
"""
