"""Does a model copy? Random tokens, repeated: only the context can predict them.

Unlike a choice of tokens that complete a pair, the probe looks at no target and at no text.
"""

from __future__ import annotations

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from rbpkit.models import LoadedModel
from rbpkit.summary import interval, resample_weights
from rbpkit.writing import as_csv, write_whole
from rbpkit_pocket import paths

LENGTH = 40
"""Tokens that are repeated."""


def copying_probe(model: LoadedModel, sequences: int = 256, seed: int = 0) -> dict[str, float]:
    """How far CE falls, in nats, when LENGTH random tokens are repeated.

    The tokens are uniform over the ids from 1 to V - 1. With nll of their tokens from the second
    on, in sequences x x (x repeated) and s x (s is x in random order):

    - first: mean nll of the first x
    - drop: mean nll of the first x minus that of the second
    - order: mean nll of x after s minus that of x after x

    `drop` is above 0 for any use of the first x, also for a model that raises every token it has
    seen; `order` only if the model uses which token followed which. Each has a 95% interval
    (bootstrap over sequences): drop_low, drop_high, order_low, order_high.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(1, model.V, (sequences, LENGTH), generator=generator)
    random_order = torch.rand(x.shape, generator=generator).argsort(1)
    s = x.gather(1, random_order)
    nll_repeated = _nll(model, torch.cat([x, x], dim=1))
    nll_shuffled = _nll(model, torch.cat([s, x], dim=1))

    # The first token of a sequence has no nll, so that of token i is in column i - 1; the first
    # token of the second x is left out, as that of the first x is.
    first = nll_repeated[:, : LENGTH - 1]
    second = nll_repeated[:, LENGTH:]
    after_s = nll_shuffled[:, LENGTH:]
    weights = resample_weights(sequences) / sequences
    row = {"first": float(first.mean())}
    for name, fall in (("drop", first - second), ("order", after_s - second)):
        of_sequence = fall.mean(dim=1, dtype=torch.float64).numpy()
        row[name] = float(of_sequence.mean())
        row[f"{name}_low"], row[f"{name}_high"] = interval(weights @ of_sequence)
    return row


def _nll(model: LoadedModel, ids: Tensor) -> Tensor:
    """The nll of each token but the first of its sequence: (B, L - 1), nats."""
    parts = []
    for rows in ids.split(16):
        logits = model.logits(rows)[:, :-1].flatten(0, 1).float()
        targets = rows[:, 1:].flatten().to(logits.device)
        nll = F.cross_entropy(logits, targets, reduction="none")
        parts.append(nll.view(len(rows), -1).cpu())
    return torch.cat(parts)


def ship_copying(name: str, model: LoadedModel) -> None:
    """Put the probe of a model, by the name given, into the table; other rows stay."""
    table = pd.read_csv(paths.COPYING)
    others = table[table["model"] != name]
    row = {"family": model.family, "model": name, "S": model.S, **copying_probe(model)}
    table = pd.concat([others, pd.DataFrame([row])]).sort_values(["family", "S", "model"])
    write_whole(paths.COPYING.parent, {paths.COPYING.name: as_csv(table).encode()})
