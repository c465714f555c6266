"""The table of claims of notebook 01 (Appendix A)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from IPython.display import Markdown

from rbpkit import paper
from rbpkit.fit import fit_power_law
from rbpkit.stats.curves import published_curves
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.claims import Claim, claims_table, verdict_of

DECADES = Claim(
    words="Together these span over four orders of magnitude in parameter count",
    where="Appendix A",
    test="decades from the smallest S to the largest",
)
SIZE = Claim(
    words="S denotes the number of non-embedding model parameters",
    where="Section 1",
    test="the printed slopes at k = 1, against fits on S and on S plus embeddings",
)
TOKENS = Claim(
    words="Each data point is obtained by averaging over at least 5 · 10^5 tokens",
    where="Appendix A",
    test="tokens of each family and corpus that Figures 3 to 5 show, inferred from the"
    " digits; where two counts fit, the larger",
)
ORDERS = Claim(
    words="four datasets and four model families spanning five orders of magnitude",
    where="Abstract; of k, Appendix A",
    test="decades of S, and of the k in figures and tables",
    main=False,
)
VOCABULARIES = Claim(
    words="For Pythia, OPT, and GPT-2 models, vocabulary sizes are 50,256, 50,272, and 50,257,"
    " respectively",
    where="Section 4.3, footnote 2",
    test="rows of the output matrix, of Qwen too",
    main=False,
)


def claims(largest: pd.Series, study: Study, records_dir: str, figures_dir: str) -> Markdown:
    """The claims of Appendix A. largest: tokens of each text and family, the larger if two fit."""
    off, own = _off_table_1(), study.models()
    enough = largest >= 500_000
    models, V = paper.models(), paper.vocabularies()
    exact, near = V["footnote"] == V["V"], abs(V["footnote"] / V["V"] - 1) < 0.01
    every_k = pd.concat([paper.rbp_by_size().k, paper.fit_by_k().k.dropna()]).astype(int)
    decades, decades_k = _decades(models["S"]), _decades(every_k)
    manifests = [summary.manifest for summary in study.summaries]
    tokens = [summary.manifest.tokens for summary in study.shown()]
    by_S, by_both = off["S"].max(), off["S + E"].min()
    results = {
        DECADES: (
            f"{decades:.2f} decades, {len(models)} models",
            f"{_decades(own['S']):.1f} decades, {len(own)} models" if len(own) else "",
            "holds" if decades > 4 else "does not hold",
        ),
        SIZE: (
            f"off by at most {by_S:.4f} with S, by at least {by_both:.3f} with"
            f" embeddings ({len(off)} lines)",
            "",
            "holds" if by_S < 0.0006 < by_both else "does not hold",
        ),
        TOKENS: (
            f"{enough.sum()} of {len(enough)}; {largest.min():,} to {largest.max():,} tokens",
            f"{min(tokens):,} to {max(tokens):,} tokens" if tokens else "",
            verdict_of(enough),
        ),
        ORDERS: (
            f"{decades:.2f} decades of S, {decades_k:.2f} of k",
            "",
            "holds" if min(decades, decades_k) >= 5 else "does not hold",
        ),
        VOCABULARIES: (
            f"{exact.sum()} of {len(V)} models exactly, {near.sum()} within 1%",
            ", ".join(f"{v:,}" for v in sorted({one.V for one in manifests})),
            verdict_of(exact),
        ),
    }
    return claims_table("01", results, records_dir, figures_dir)


def _off_table_1() -> pd.DataFrame:
    """By how much slopes at k = 1 are off the printed ones, fitted on S and on S + embeddings."""
    E_of = paper.models().set_index("model")["embedding_params"]
    printed = paper.table1().query("k == '1'").set_index(["dataset", "family"])["slope"]
    rows = []
    for text_and_family, curve in published_curves(1).items():
        E = E_of[list(curve.models)].to_numpy()  # in the order of the curve
        by_S = fit_power_law(curve.S, curve.loss).slope
        by_both = fit_power_law(curve.S + E, curve.loss).slope
        slope = printed[text_and_family]
        rows.append((abs(by_S - slope), abs(by_both - slope)))
    return pd.DataFrame(rows, columns=["S", "S + E"])


def _decades(values: pd.Series) -> float:
    return float(np.log10(values.max() / values.min()))
