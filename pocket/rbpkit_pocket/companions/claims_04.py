"""The table of claims of notebook 04 (Section 4.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from IPython.display import Markdown

from rbpkit_pocket.companions.claims import claims_table


def claims(
    lines: pd.DataFrame,
    measured: pd.DataFrame,
    all_lines: float,
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Section 4.2; all_lines: sampling errors, over all published lines."""
    rows: list[dict[str, object]] = [
        {
            "claim": "The fitted curves achieve R2 ≥ 0.97 across all datasets",
            "where": "Section 4.2",
            "test": "lines of Figure 4 (k = 10, 50, 100) with R2 of at least 0.97",
            "published": _enough(lines),
            "measured": _enough(measured),
            "verdict": "holds" if (lines["R2"] >= 0.97).all() else "holds in part",
            "main": True,
        },
        {
            "claim": "RBPk follows a precise power-law relationship with model size",
            "where": "Section 4, Eq. 5",
            "test": "scatter about the lines of Figure 4, pooled: about 1 sampling error if the"
            " law is exact",
            "published": _exact(lines),
            "measured": _exact(measured),
            "verdict": "holds" if all_lines < 1.5 else "holds in part",
            "main": True,
        },
    ]
    return claims_table("04", rows, records_dir, figures_dir)


def _enough(lines: pd.DataFrame) -> str:
    if lines.empty:
        return "not measured"
    good = (lines["R2"] >= 0.97).sum()
    return f"{good} of {len(lines)}; smallest {lines['R2'].min():.3f}"


def _exact(lines: pd.DataFrame) -> str:
    if lines.empty:
        return "not measured"
    off = np.sqrt((lines["ratio"] ** 2).mean())
    middle = 100 * lines["scatter"].median()
    return f"{off:.1f} sampling errors; median scatter {middle:.1f}% of the loss"
