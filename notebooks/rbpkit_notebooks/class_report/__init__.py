"""The page of a class: a notebook that papermill runs on a folder of hand-ins.

`report.py` is the notebook, in the percent format; a teacher may copy and change it.
"""
