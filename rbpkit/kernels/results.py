"""What the counting programs write: six vectors along the rows of the logits."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Results(NamedTuple):
    """The results of T rows of logits, (T,) each; a row has one target.

    n_greater: int32, how many entries of the vocabulary have a larger logit than the target.
    n_equal: int32, how many have the same logit, without the target itself.
    nll: float32, negative log-likelihood of the target, nats.
    p_max: float32, the largest probability of the row.
    entropy: float32, -sum_v p(v) log p(v), nats.
    finite: bool, whether the row has no NaN and no infinite logit. If it has one, its other results
        mean nothing.
    """

    n_greater: Tensor
    n_equal: Tensor
    nll: Tensor
    p_max: Tensor
    entropy: Tensor
    finite: Tensor

    @classmethod
    def empty(cls, T: int, device: torch.device) -> Results:
        """Room for T rows."""

        def vector(dtype: torch.dtype) -> Tensor:
            return torch.empty(T, dtype=dtype, device=device)

        counts = vector(torch.int32), vector(torch.int32)
        numbers = vector(torch.float32), vector(torch.float32), vector(torch.float32)
        return cls(*counts, *numbers, vector(torch.bool))

    def part(self, rows: slice) -> Results:
        """Views of these rows: what is written to them is written here."""
        return Results(*(vector[rows] for vector in self))
