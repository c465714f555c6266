"""The table of claims of notebook 04 (Section 4.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from IPython.display import Markdown

from rbpkit_notebooks.claims import Claim, claims_table, counted

HIGH_R2 = Claim(
    words="The fitted curves achieve R2 ≥ 0.97 across all datasets",
    where="Section 4.2",
    test="lines of Figure 4 (k = 10, 50, 100) with R2 of at least 0.97",
)
EXACT = Claim(
    words="RBPk follows a precise power-law relationship with model size",
    where="Section 4, Eq. 5",
    test="scatter about the lines of Figure 4, pooled: about 1 sampling error if the law is exact",
)


def claims(
    lines: pd.DataFrame,
    measured: pd.DataFrame,
    all_lines: float,
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Section 4.2; all_lines: sampling errors, over all published lines."""
    results = {
        HIGH_R2: (
            _enough(lines),
            _enough(measured),
            "holds" if (lines["R2"] >= 0.97).all() else "holds in part",
        ),
        EXACT: (_exact(lines), _exact(measured), "holds" if all_lines < 1.5 else "holds in part"),
    }
    return claims_table("04", results, records_dir, figures_dir)


def _enough(lines: pd.DataFrame) -> str:
    if lines.empty:
        return "not measured"
    return f"{counted(lines['R2'] >= 0.97)}; smallest {lines['R2'].min():.3f}"


def _exact(lines: pd.DataFrame) -> str:
    if lines.empty:
        return "not measured"
    off = np.sqrt((lines["ratio"] ** 2).mean())
    middle = 100 * lines["scatter"].median()
    return f"{off:.1f} sampling errors; median scatter {middle:.1f}% of the loss"
