"""What the notebooks draw and tabulate: a module for each; the notebooks have the argument."""
