"""The number of tokens a point that Appendix A promises."""

AT_LEAST = 500_000
"""Tokens a point, at least, by Appendix A."""
