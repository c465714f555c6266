"""The statistics behind the verdicts on the paper's claims: resampling, noise, shape, prediction.

Each module is one question of notebooks 12 and 20 to 23; notebook 17 uses two of them. For readers
of the audit.
"""
