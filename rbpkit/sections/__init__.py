"""What the cells of a notebook repeat for every family: one module a section of the paper.

The mathematics stands in the notebooks; here are its loops and figures. For their readers.
"""
