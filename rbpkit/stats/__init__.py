"""What two or more notebooks compute, or what tests must recover from planted data."""
