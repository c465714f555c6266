"""The statistics behind the verdicts on the paper's claims: resampling, noise, shape, prediction.

Each module is one question of notebooks 20 to 23. For readers of the audit.
"""
