"""The law in cross-entropy: on one text, -log RBP_k ~ CE^eps_k, whatever a model's size and family.

If size acts on the ranks only through CE, then each exponent in size is a product,
alpha_k = eps_k(text) x alpha_CE(family, text). The law is ours; the exponents are the paper's
(Table 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rbpkit.fit import fit_power_law


def exponents_of(points: pd.DataFrame) -> pd.DataFrame:
    """alpha_CE, alpha_k and eps_k = alpha_k / alpha_CE of each (corpus, family, k).

    points: a row for each model and k, with the columns corpus, family, k, S, CE (nats) and
    loss = -log RBP_k. Both exponents are least squares in the logarithms. Raises InputError as
    `fit.fit_power_law`.
    """
    rows = []
    for (corpus, family, k), models in points.groupby(["corpus", "family", "k"], sort=False):
        alpha_CE = fit_power_law(models["S"], models["CE"]).alpha
        alpha_k = fit_power_law(models["S"], models["loss"]).alpha
        rows.append((corpus, family, k, alpha_CE, alpha_k, alpha_k / alpha_CE))
    return pd.DataFrame(rows, columns=["corpus", "family", "k", "alpha_CE", "alpha_k", "eps_k"])


def log_errors(exponents: pd.DataFrame, name: str, reference: Sequence[str]) -> pd.DataFrame:
    """How far each other family's exponent `name` is from that of the reference families.

    exponents: as from `exponents_of`. Gives log(own / geometric mean of the reference families on
    the same corpus at the same k): a row for each (corpus, k), a column for each other family.
    """
    by_family = exponents.pivot(index=["corpus", "k"], columns="family", values=name)
    logs = np.log(by_family)
    of_reference = logs[list(reference)].mean(axis=1)
    of_others = logs.drop(columns=list(reference))
    return of_others.sub(of_reference, axis=0)
