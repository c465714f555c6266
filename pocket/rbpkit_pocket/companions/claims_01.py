"""The table of claims of notebook 01 (Appendix A)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from IPython.display import Markdown

from rbpkit import paper
from rbpkit_pocket.companions.choices import Study
from rbpkit_pocket.companions.claims import claims_table


def claims(
    off: pd.DataFrame,
    largest: pd.Series,
    own: pd.DataFrame,
    study: Study,
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Appendix A.

    - off: differences from Table 1's slopes, by S and by S + E
    - largest: tokens of each text and family, the larger count if two fit
    - own: the measured models
    """
    enough = largest >= 500_000
    models, V = paper.models(), paper.vocabularies()
    exact, near = V["footnote"] == V["V"], abs(V["footnote"] / V["V"] - 1) < 0.01
    every_k = pd.concat([paper.rbp_by_size().k, paper.fit_by_k().k.dropna()]).astype(int)
    decades, decades_k = _decades(models["S"]), _decades(every_k)
    manifests = [summary.manifest for summary in study.summaries]
    tokens = [summary.manifest.tokens for summary in study.shown()]
    by_S, by_both = off["S"].max(), off["S + E"].min()
    rows: list[dict[str, object]] = [
        {
            "claim": "Together these span over four orders of magnitude in parameter count",
            "where": "Appendix A",
            "test": "decades from the smallest S to the largest",
            "published": f"{decades:.2f} decades, {len(models)} models",
            "measured": f"{_decades(own['S']):.1f} decades, {len(own)} models" if len(own) else "",
            "verdict": "holds" if decades > 4 else "does not hold",
            "main": True,
        },
        {
            "claim": "S denotes the number of non-embedding model parameters",
            "where": "Section 1",
            "test": "the printed slopes at k = 1, against fits on S and on S plus embeddings",
            "published": f"off by at most {by_S:.4f} with S, by at least {by_both:.3f} with"
            f" embeddings ({len(off)} lines)",
            "measured": "",
            "verdict": "holds" if by_S < 0.0006 < by_both else "does not hold",
            "main": True,
        },
        {
            "claim": "Each data point is obtained by averaging over at least 5 · 10^5 tokens",
            "where": "Appendix A",
            "test": "tokens of each family and corpus that Figures 3 to 5 show, inferred from the"
            " digits; where two counts fit, the larger",
            "published": f"{enough.sum()} of {len(enough)}; {largest.min():,} to"
            f" {largest.max():,} tokens",
            "measured": f"{min(tokens):,} to {max(tokens):,} tokens" if tokens else "",
            "verdict": _verdict(enough),
            "main": True,
        },
        {
            "claim": "four datasets and four model families spanning five orders of magnitude",
            "where": "Abstract; of k, Appendix A",
            "test": "decades of S, and of the k in figures and tables",
            "published": f"{decades:.2f} decades of S, {decades_k:.2f} of k",
            "measured": "",
            "verdict": "holds" if min(decades, decades_k) >= 5 else "does not hold",
            "main": False,
        },
        {
            "claim": "For Pythia, OPT, and GPT-2 models, vocabulary sizes are 50,256, 50,272, and"
            " 50,257, respectively",
            "where": "Section 4.3, footnote 2",
            "test": "rows of the output matrix, of Qwen too",
            "published": f"{exact.sum()} of {len(V)} models exactly, {near.sum()} within 1%",
            "measured": ", ".join(f"{v:,}" for v in sorted({one.V for one in manifests})),
            "verdict": _verdict(exact),
            "main": False,
        },
    ]
    return claims_table("01", rows, records_dir, figures_dir)


def _decades(values: pd.Series) -> float:
    return float(np.log10(values.max() / values.min()))


def _verdict(passed: pd.Series) -> str:
    return "holds" if passed.all() else "holds in part" if passed.any() else "does not hold"
