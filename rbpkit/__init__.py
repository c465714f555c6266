"""rbpkit: the relative-based scaling law for neural language models, measured to the integer.

Reproduces "Relative-Based Scaling Law for Neural Language Models" (arXiv 2510.20387).
Importing the package is cheap; modules that need torch import it themselves.
"""

__version__ = "0.1.0"
