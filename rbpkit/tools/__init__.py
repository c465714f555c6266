"""Tools next to the study: rank view, Trainer callback, lm-evaluation-harness.

The loop and the fits do not know them.
"""
