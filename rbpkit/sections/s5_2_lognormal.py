"""What `audit.findings` and notebook 12 use of Section 5.2; it goes with them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.fit import Curve
from rbpkit.stats.curves import in_order as in_order
from rbpkit.stats.rank_laws import published_laws as published_laws


def law_curves(table: pd.DataFrame) -> tuple[Curve, Curve]:
    """CE and RBP_1 of `published_laws` as curves."""
    about = (tuple(table["model"]), table["S"].to_numpy(dtype=float))
    rbp = np.exp(-table["neg_log_rbp1"].to_numpy())
    values = {"CE": table["CE"].to_numpy(), "RBP_1": rbp}
    return tuple(Curve("Wiki", "Pythia", name, *about, value) for name, value in values.items())


def published_exponents() -> pd.DataFrame:
    """alpha_CE and alpha_1 of Table 1, 24 rows: corpus, family, alpha_CE, alpha_1."""
    table = paper.table1().query("k in ['CE', '1']").rename(columns={"dataset": "corpus"})
    wide = table.pivot(index=["corpus", "family"], columns="k", values="slope")
    return pd.DataFrame({"alpha_CE": -wide["CE"], "alpha_1": -wide["1"]}).reset_index()
