"""Bytes, paths and locks, on disk and on the hub: text, checkpoints, manifests, whole writes.

The lowest folder: it imports nothing of the helper. For everything above it.
"""
