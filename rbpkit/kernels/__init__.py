"""The counting inside `ranking` (torch operations, a loop in C, a Triton kernel), and memory.

All three count the same integers. For whoever wants to know why it is fast, or has another device.
"""
