"""Bytes, paths, locks and devices: text, checkpoints, records on disk, the hub, whole writes.

The lowest folder: of rbpkit it imports nothing but `errors`.
"""
