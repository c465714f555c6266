"""Tools on top: command line, studies, servers, scores, rank view, callback, lm-evaluation-harness.

No module outside this folder imports one of them; `python -m rbpkit` is the command line.
"""
