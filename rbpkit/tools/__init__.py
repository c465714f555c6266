"""Tools next to the study: rank view, Trainer callback, sliders and self-checks.

Only the command line and the notebooks use these modules.
"""
