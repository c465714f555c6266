"""The small models that ship: their text, its split, architectures, training and comparison.

A ladder is one family's sizes, trained on the same tokens. For who measures or retrains them.
"""
