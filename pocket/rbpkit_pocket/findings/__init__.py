"""What the notebooks found: laws of ranks, laws in size and tokens, windows, published models."""
