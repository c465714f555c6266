"""The small models that ship: their text, architectures, training and comparison."""
