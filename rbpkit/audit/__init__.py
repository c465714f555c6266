"""The statistics behind the verdicts on the paper's claims: resampling, noise, shape, prediction.

Each module is one question of notebook 12; notebook 15 uses two of them. For readers of the audit.
"""
