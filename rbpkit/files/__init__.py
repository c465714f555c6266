"""Bytes, paths, locks and devices: text, checkpoints, weights, records on disk, the hub, whole writes.

The lowest folder: it imports nothing of the helper. For everything above it.
"""
