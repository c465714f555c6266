"""The table of claims of notebook 05 (Section 4.3)."""

from __future__ import annotations

import pandas as pd
from IPython.display import Markdown

from rbpkit_notebooks.claims import Claim, claims_table, counted, span, verdict_of

KINDS = ("chance is enough", "scatter beyond chance", "misses rise with size")
"""The verdicts on a line."""


NOISE = Claim(
    words="We conjecture that that reason might lies in random noise",
    where="Section 4.3",
    test="lines of Figure 5 whose scatter chance alone explains: they do not rise, and their R2 is"
    " in the range (95%) that an exact law with randomly missed tokens gives; nine cases at two k,"
    " not independent",
)
RISES = Claim(
    words="RBP_k for GPT2 even increases",
    where="Section 4.3",
    test="by how many standard errors the largest GPT-2 misses more tokens than the smallest, at k"
    " = 20,000 and 30,000 (read as: the loss -log RBP_k increases)",
)
MORE_RANDOM = Claim(
    words="The case for k = 30, 000 becomes much more random than the case for k = 20, 000",
    where="Section 4.3 (revised ICLR text)",
    test="R2 is lower at the larger k",
    main=False,
)


def claims(
    lines: pd.DataFrame, measured: pd.DataFrame, records_dir: str, figures_dir: str
) -> Markdown:
    """The claims of Section 4.3. lines: those of Figure 5, judged; measured: those of what was."""
    published = lines[lines["family"] == "GPT2"]
    by_corpus = published.groupby("corpus", sort=False)["z"]
    rises = [f"{corpus} {z.iloc[0]:.1f} and {z.iloc[1]:.1f}" for corpus, z in by_corpus]
    z_here = measured[measured["family"] == "GPT2"]["z"]
    lower = _lower_at_larger_k(lines)
    results = {
        NOISE: (
            _counts(lines) + " (all GPT-2)",
            _counts(measured),
            verdict_of(lines["kind"] == KINDS[0]),
        ),
        RISES: (
            "; ".join(rises),
            span(z_here, ".1f"),
            verdict_of(published["z"] > 2),
        ),
        MORE_RANDOM: (
            counted(lower),
            counted(_lower_at_larger_k(measured)),
            verdict_of(lower),
        ),
    }
    return claims_table("05", results, records_dir, figures_dir)


def _counts(lines: pd.DataFrame) -> str:
    if lines.empty:
        return "not measured"
    enough, beyond, rising = ((lines["kind"] == kind).sum() for kind in KINDS)
    return f"{enough} of {len(lines)}; {beyond} scatter more, {rising} rise"


def _lower_at_larger_k(lines: pd.DataFrame) -> pd.Series:
    """Whether R2 is lower at the larger of two k, for each text and family that has both."""
    R2 = lines.sort_values("k").groupby(["corpus", "family"])["R2"].agg(["first", "last", "size"])
    both = R2[R2["size"] == 2]
    return both["last"] < both["first"]
