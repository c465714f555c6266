"""The counting inside `ranking` (torch operations, a loop in C, Triton kernels), and memory.

All count the same integers. For whoever wants to know why it is fast, or has another device.
"""
