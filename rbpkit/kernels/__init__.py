"""The counting inside `ranking`: torch operations, a loop in C, a Triton kernel.

All three programs count the same integers. Read this folder to learn why ranking is fast, or to
support another device.
"""
