"""A whole study: parameter file -> jobs -> runs -> status, on one machine, Ray or Slurm.

Also fetching, planning, the main job and its report. For who runs the paper's 24 models.
"""
