"""What stands beside the study: rank view, Trainer callback, bench, notebook widgets, self-checks.

Nothing else depends on these modules but the command line. For their users.
"""
