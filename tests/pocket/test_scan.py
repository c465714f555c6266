"""The training scan against the recurrence as it is written down."""

import pytest
import torch

from rbpkit_pocket import scan
from rbpkit_pocket.scan import SelectiveScan

L, BATCH, D, N = 7, 3, 5, 4


def normal(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("steps", [1, 3, 100], ids=lambda steps: f"chunks of {steps}")
def test_it_is_the_recurrence_and_has_its_gradient(steps, monkeypatch):
    monkeypatch.setattr(scan, "CHUNK_NUMBERS", steps * BATCH * D * N)
    dt = normal(0, L, BATCH, D).exp()
    u = normal(1, L, BATCH, D)
    A = -normal(2, N, D).exp()
    B = normal(3, L, BATCH, N)
    C = normal(4, L, BATCH, N)
    given = [one.requires_grad_() for one in (dt, u, A, B, C)]
    y = SelectiveScan.apply(*given)
    for b in range(BATCH):
        for d in range(D):
            h = torch.zeros(N, dtype=torch.float64)
            for t in range(L):
                step = dt[t, b, d]
                h = torch.exp(step * A[:, d]) * h + step * B[t, b] * u[t, b, d]
                torch.testing.assert_close(y[t, b, d], C[t, b] @ h)
    assert torch.autograd.gradcheck(SelectiveScan.apply, given)
