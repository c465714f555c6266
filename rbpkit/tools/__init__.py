"""What stands beside the study: rank view, Trainer callback, bench, notebook widgets, self-checks.

Only the command line and the notebooks depend on these modules. For their users.
"""
