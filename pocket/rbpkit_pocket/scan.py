"""Mamba's selective scan for training: the recurrence with its own gradient.

For a token stream u of D channels, step sizes dt > 0 and a state of N numbers a channel,

    h_t = exp(dt_t A) h_{t-1} + dt_t B_t u_t,        y_t = C_t h_t

(Gu and Dao 2023, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", Section 3.2).
Records are measured with transformers' own loop, but its gradient writes the whole stream again
for each token. For training and its validation, the scan here goes in chunks that stay in a core's
cache, and the backward pass computes a chunk's states again. On one core a training step's scan
takes a seventieth of that loop's time (width 32), and an eighth to a thirteenth of the time of
`mambapy` (widths 32 and 128).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from rbpkit.libraries import quiet

CHUNK_NUMBERS = 1 << 18
"""Numbers in a chunk of states, 1 MiB: of those tried the fastest at widths 64 and 128."""


class SelectiveScan(torch.autograd.Function):
    """y (L, batch, D) of the recurrence above, from a zero state.

    dt, u (L, batch, D); A (N, D); B, C (L, batch, N). Time comes first, so that a step's numbers
    lie together.
    """

    @staticmethod
    def forward(ctx: Any, dt: Tensor, u: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
        x, y = dt * u, torch.empty_like(u)
        state = dt.new_zeros(dt.shape[1], *A.shape)
        chunk = max(1, CHUNK_NUMBERS // state.numel())
        starts = []
        for first in range(0, len(dt), chunk):
            at = slice(first, first + chunk)
            starts.append(state)
            states = _states(_decays(dt[at], A), x[at], B[at], state)
            torch.matmul(C[at].unsqueeze(2), states, out=y[at].unsqueeze(2))
            state = states[-1].clone()
        ctx.save_for_backward(dt, u, x, A, B, C, torch.stack(starts))
        ctx.chunk = chunk
        return y

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        dt, u, x, A, B, C, starts = ctx.saved_tensors
        grad_dt, grad_x = torch.empty_like(dt), torch.empty_like(x)
        grad_A, grad_B, grad_C = torch.zeros_like(A), torch.empty_like(B), torch.empty_like(C)
        later = torch.zeros_like(starts[0])  # the gradient through the tokens after the chunk
        for i in reversed(range(len(starts))):
            at = slice(i * ctx.chunk, (i + 1) * ctx.chunk)
            decays = _decays(dt[at], A)
            states = _states(decays, x[at], B[at], starts[i])
            grad_C[at] = (states @ grad_y[at].unsqueeze(3)).squeeze(3)
            # The gradient with respect to each state, from the last to the first: through its own
            # y, and through the next state.
            grad_state = grad_y[at].unsqueeze(2) * C[at].unsqueeze(3)
            grad_state[-1] += later
            for t in range(len(grad_state) - 1, 0, -1):
                grad_state[t - 1].addcmul_(decays[t], grad_state[t])
            later = decays[0] * grad_state[0]
            torch.matmul(B[at].unsqueeze(2), grad_state, out=grad_x[at].unsqueeze(2))
            grad_B[at] = (grad_state @ x[at].unsqueeze(3)).squeeze(3)
            # With respect to dt A: the state's gradient times the decay and the state before.
            grad_exponent = grad_state.mul_(decays)
            grad_exponent[1:] *= states[:-1]
            grad_exponent[0] *= starts[i]
            grad_dt[at] = (grad_exponent * A).sum(2)
            grad_A += (grad_exponent * dt[at].unsqueeze(2)).sum((0, 1))
        return grad_dt.addcmul_(grad_x, u), grad_x * dt, grad_A, grad_B, grad_C


def _decays(dt: Tensor, A: Tensor) -> Tensor:
    """exp(dt_t A), (L, batch, N, D)."""
    return (dt.unsqueeze(2) * A).exp_()


def _states(decays: Tensor, x: Tensor, B: Tensor, before: Tensor) -> Tensor:
    """h_t of each token of a chunk, (L, batch, N, D), from the state `before` it."""
    states = x.unsqueeze(2) * B.unsqueeze(3)
    for t in range(len(states)):
        before = states[t].addcmul_(decays[t], before)
    return states


def selective_scan(
    u: Tensor,
    dt: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor,
    z: Tensor,
    delta_bias: Tensor,
    **_other: object,
) -> Tensor:
    """The result of transformers' `mamba_selective_scan`, called as its Mamba layer calls it.

    u, dt, z and the result (batch, D, L); A (D, N); B, C (batch, N, L); D, delta_bias (D,).
    It keeps no last state: call the model with use_cache=False.
    """
    steps = F.softplus(dt + delta_bias[:, None])
    y = SelectiveScan.apply(
        _time_first(steps), _time_first(u), A.T.contiguous(), _time_first(B), _time_first(C)
    )
    y = y.permute(1, 2, 0)
    return (y + u * D[:, None]) * F.silu(z)


def _time_first(tensor: Tensor) -> Tensor:
    """(batch, D, L) -> (L, batch, D)."""
    return tensor.permute(2, 0, 1).contiguous()


@contextmanager
def training_scan(model: PreTrainedModel) -> Iterator[None]:
    """Let the layers of a Mamba model use `selective_scan`, for this block only.

    Other models are left alone. transformers' warning that its CUDA kernels are missing is
    held back.
    """
    if model.config.model_type != "mamba":
        yield
        return
    from transformers.models.mamba import modeling_mamba

    own = modeling_mamba.mamba_selective_scan
    # The layer looks the function up in its module each time that it is called.
    modeling_mamba.mamba_selective_scan = selective_scan
    try:
        with quiet():
            yield
    finally:
        modeling_mamba.mamba_selective_scan = own
