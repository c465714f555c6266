"""A whole study: parameter file -> jobs -> runs -> status; its notebooks and comparisons; a class.

For anyone who runs the paper's 24 models, or other models in the same way.
"""
