"""The training scan against the recurrence as written down, and against transformers' own."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
from transformers.models.mamba import modeling_mamba

from rbpkit_pocket import scan
from rbpkit_pocket.families import SHAPES, initial_model
from rbpkit_pocket.scan import SelectiveScan, selective_scan
from rbpkit_pocket.training import mean_nll

L, BATCH, D, N = 7, 3, 5, 4


def numbers() -> list[torch.Tensor]:
    made = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=made)

    dt, A = normal(L, BATCH, D).exp(), -normal(N, D).exp()
    given = dt, normal(L, BATCH, D), A, normal(L, BATCH, N), normal(L, BATCH, N)
    return [one.requires_grad_() for one in given]


@pytest.mark.parametrize("steps", [1, 3, 100], ids=lambda steps: f"chunks of {steps}")
def test_it_is_the_recurrence_and_has_its_gradient(steps, monkeypatch):
    monkeypatch.setattr(scan, "CHUNK_NUMBERS", steps * BATCH * D * N)
    dt, u, A, B, C = numbers()
    y = SelectiveScan.apply(dt, u, A, B, C)
    for b in range(BATCH):
        for d in range(D):
            h = torch.zeros(N, dtype=torch.float64)
            for t in range(L):
                h = torch.exp(dt[t, b, d] * A[:, d]) * h + dt[t, b, d] * B[t, b] * u[t, b, d]
                torch.testing.assert_close(y[t, b, d], C[t, b] @ h)
    assert torch.autograd.gradcheck(SelectiveScan.apply, (dt, u, A, B, C))


def test_a_model_has_the_loss_and_the_gradients_of_transformers_own_scan():
    model = initial_model("Mamba", SHAPES["Mamba"][0], 0).train()
    ids = torch.randint(4096, (2, 49), generator=torch.Generator().manual_seed(1))
    seen = []
    for used in (modeling_mamba.mamba_selective_scan, selective_scan):
        with mock.patch.object(scan, "selective_scan", side_effect=used) as called:
            loss = mean_nll(model, ids[:, :-1], ids[:, 1:])
        assert called.call_count == SHAPES["Mamba"][0].layers
        loss.backward()
        gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
        seen.append((loss.detach(), gradients))
        model.zero_grad()
    (own, own_gradients), (ours, gradients) = seen
    torch.testing.assert_close(ours, own, rtol=1e-6, atol=0)
    for name, expected in own_gradients.items():
        error = (gradients[name] - expected).abs().max() / expected.abs().max()
        assert error < 1e-5, name
        assert expected.any(), name
