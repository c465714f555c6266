"""What the counting programs write: six vectors along the rows of the logits."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Results(NamedTuple):
    """The results of T rows of logits, (T,) each; a row has one target.

    The first five are those of `ranking.TokenRanks`: two int32 counts and three float32 vectors.
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
        types = (*2 * [torch.int32], *3 * [torch.float32], torch.bool)
        return cls(*(torch.empty(T, dtype=dtype, device=device) for dtype in types))

    def part(self, rows: slice) -> Results:
        """Views of these rows: what is written to them is written here."""
        return Results(*(vector[rows] for vector in self))
