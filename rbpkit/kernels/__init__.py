"""The counting inside `ranking`, three times: torch operations, a loop in C, a Triton kernel.

All give the same integers. For whoever wants to know why it is fast, or has another device.
"""
