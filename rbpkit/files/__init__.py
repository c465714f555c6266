"""Bytes, paths, locks and devices: text, checkpoints, records on disk, the hub, whole writes.

The lowest folder: it imports nothing of the helper. For everything above it.
"""
