"""Does a model copy? Random tokens, repeated: only the context can predict them.

Unlike a choice of tokens that complete a pair, the probe looks at no target and at no text.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F

from rbpkit.files.writing import as_csv, write_whole
from rbpkit.models import LoadedModel
from rbpkit.stats.bootstrap import interval, resample_weights
from rbpkit_pocket import paths

LENGTH = 40


def copying_probe(model: LoadedModel, sequences: int = 256, seed: int = 0) -> dict[str, float]:
    """How far CE falls, in nats, where LENGTH random tokens are repeated.

    The tokens are uniform over the ids from 1 to V - 1. With nll of their tokens from the second
    on, in sequences x x (x repeated) and s x (s is x in random order):

        first  mean nll of the first x
        drop   mean nll of the first x minus that of the second
        order  mean nll of x after s minus that of x after x

    `drop` is above 0 for any use of the first x, also for a model that raises every token it has
    seen; `order` only if the model uses which token followed which. Each has a 95% interval
    (bootstrap over sequences): drop_low, drop_high, order_low, order_high.
    """
    made = torch.Generator().manual_seed(seed)
    x = torch.randint(1, model.V, (sequences, LENGTH), generator=made)
    s = x.gather(1, torch.rand(x.shape, generator=made).argsort(1))
    repeated, shuffled = (_nll(model, torch.cat([one, x], dim=1)) for one in (x, s))
    first, second, after_s = repeated[:, : LENGTH - 1], repeated[:, LENGTH:], shuffled[:, LENGTH:]
    weights = resample_weights(np.arange(sequences)) / sequences
    row = {"first": float(first.mean())}
    for name, fall in (("drop", first - second), ("order", after_s - second)):
        mean = fall.mean(dim=1, dtype=torch.float64).numpy()
        row[name] = float(mean.mean())
        row[f"{name}_low"], row[f"{name}_high"] = interval(weights @ mean)
    return row


def _nll(model: LoadedModel, ids: torch.Tensor) -> torch.Tensor:
    """The nll of each token but the first of its sequence: (B, L - 1), nats."""
    parts = []
    for part in ids.split(16):
        logits = model.logits(part)[:, :-1].flatten(0, 1).float()
        nll = F.cross_entropy(logits, part[:, 1:].flatten().to(logits.device), reduction="none")
        parts.append(nll.view(len(part), -1).cpu())
    return torch.cat(parts)


def ship_copying(models: dict[str, LoadedModel]) -> None:
    """Put the probe of these models, by the names given, into the table; other rows stay."""
    rows = [
        {"family": one.family, "model": name, "S": one.S} | copying_probe(one)
        for name, one in models.items()
    ]
    path = paths.COPYING
    before = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["model"])
    before = before[~before["model"].isin(list(models))]
    table = pd.concat([before, pd.DataFrame(rows)]).sort_values(["family", "S", "model"])
    write_whole(path.parent, {path.name: as_csv(table).encode()})
