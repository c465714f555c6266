"""The command line: one module a group of commands, put together in app.

Exit 0 done, 1 some jobs failed, 2 bad input, 130 interrupted. For users of `rbpkit`.
"""
