"""Tools next to the study: rank view, Trainer callback, lm-evaluation-harness, the figure of a fit.

The loop and the fits do not know them.
"""
