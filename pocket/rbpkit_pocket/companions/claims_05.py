"""The table of claims of notebook 05 (Section 4.3)."""

from __future__ import annotations

import pandas as pd
from IPython.display import Markdown

from rbpkit_pocket.companions.claims import claims_table

KINDS = ("chance is enough", "scatter beyond chance", "misses rise with size")
"""The verdicts on a line."""

NOTHING = "no lines"


def claims(
    lines: pd.DataFrame, measured: pd.DataFrame, records_dir: str, figures_dir: str
) -> Markdown:
    """The claims of Section 4.3. lines: those of Figure 5, judged; measured: those of what was."""
    by_chance = (lines["kind"] == KINDS[0]).sum()
    published = lines[lines["family"] == "GPT2"]
    by_corpus = published.groupby("corpus", sort=False)["z"]
    rises = [f"{corpus} {z.iloc[0]:.1f} and {z.iloc[1]:.1f}" for corpus, z in by_corpus]
    z_here = measured[measured["family"] == "GPT2"]["z"]
    lower, pairs = _lower_at_larger_k(lines)
    lower_here, pairs_here = _lower_at_larger_k(measured)
    rows: list[dict[str, object]] = [
        {
            "claim": "We conjecture that that reason might lies in random noise",
            "where": "Section 4.3",
            "test": "lines of Figure 5 whose scatter chance alone explains: they do not rise, and"
            " their R2 is in the range (95%) that an exact law with randomly missed tokens gives;"
            " nine cases at two k, not independent",
            "published": _counts(lines) + " (all GPT-2)",
            "measured": _counts(measured) if len(measured) else NOTHING,
            "verdict": _verdict(by_chance, len(lines)),
            "main": True,
        },
        {
            "claim": "RBP_k for GPT2 even increases",
            "where": "Section 4.3",
            "test": "by how many standard errors the largest GPT-2 misses more tokens than the"
            " smallest, at k = 20,000 and 30,000 (read as: the loss -log RBP_k increases)",
            "published": "; ".join(rises),
            "measured": f"{z_here.min():.1f} to {z_here.max():.1f}" if len(z_here) else NOTHING,
            "verdict": _verdict((published["z"] > 2).sum(), len(published)),
            "main": True,
        },
        {
            "claim": "The case for k = 30, 000 becomes much more random than the case for"
            " k = 20, 000",
            "where": "Section 4.3 (revised ICLR text)",
            "test": "R2 is lower at the larger k",
            "published": f"{lower} of {pairs}",
            "measured": f"{lower_here} of {pairs_here}" if pairs_here else NOTHING,
            "verdict": _verdict(lower, pairs),
            "main": False,
        },
    ]
    return claims_table("05", rows, records_dir, figures_dir)


def _counts(lines: pd.DataFrame) -> str:
    enough, beyond, rising = ((lines["kind"] == kind).sum() for kind in KINDS)
    return f"{enough} of {len(lines)}; {beyond} scatter more, {rising} rise"


def _lower_at_larger_k(lines: pd.DataFrame) -> tuple[int, int]:
    """In how many cases R2 is lower at the larger of two k, and of how many."""
    R2 = lines.sort_values("k").groupby(["corpus", "family"])["R2"].agg(["first", "last", "size"])
    both = R2[R2["size"] == 2]
    return int((both["last"] < both["first"]).sum()), len(both)


def _verdict(holding: int, cases: int) -> str:
    if holding == cases:
        return "holds"
    return "holds in part" if holding else "does not hold"
