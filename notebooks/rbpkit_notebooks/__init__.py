"""What the notebooks draw and tabulate, a module for each, and the analysis that they share."""
