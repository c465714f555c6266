"""A whole study: parameter file -> jobs -> runs -> status; its notebooks and comparisons; a class.

For who runs the paper's 24 models, or a class of their own.
"""
