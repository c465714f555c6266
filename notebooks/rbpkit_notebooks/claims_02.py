"""The table of claims of notebook 02 (Section 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from IPython.display import Markdown

from rbpkit.fit import Array
from rbpkit_notebooks.claims import Claim, claims_table

ONE_PROBABILITY = Claim(
    words="the same probability score may correspond to different rankings",
    where="Section 1, Figure 1",
    test="ranks of true tokens with one probability, 0.28",
)
GREEDY = Claim(
    words="if RBP1 is 30%, it means that greedy sampling works for 30% cases. Yet this cannot be"
    " deduced from the cross-entropy value.",
    where="Section 3.2",
    test="in principle: models whose CE leaves the whole range from 0 to 1 open for"
    " RBP_1 (CE of at least log 2). In practice: the claim on two aspects",
    main=False,  # notebook 08 has it as a main claim
)
TWO_ASPECTS = Claim(
    words="absolute-based and relative-based perspectives capture two distinct aspects"
    " of model performance, and neither can substitute for the other",
    where="Section 1",
    test="in principle: nothing follows from CE for RBP_1 (notebook 02). In practice: scatter of"
    " log(-log RBP_1) about a line in log S, and about one in log CE, on one text",
)
FIGURE_2 = Claim(
    words="pA = (0.21 + 0.28 + 0.19)/3 ≈ 0.227; we obtain RBP2 = 1/3 ≈ 0.333",
    where="Figure 2",
    test="computed again",
    main=False,
)
TOP_K = Claim(
    words="RBPk is the probability that the ground-truth token is within the top-k scored tokens",
    where="Section 3.2",
    test="largest change of RBP_k if tied tokens are counted behind the true one (Eq. 3 counts"
    " them ahead); logits of 32 bits, and of 16",
    main=False,
)


def claims(
    wiki: pd.DataFrame,
    own: pd.DataFrame,
    lines: pd.DataFrame,
    ranks_of_paris: Sequence[int],
    near: Array,
    of_three: tuple[float, float],
    rule: pd.Series,
    records_dir: str,
    figures_dir: str,
) -> Markdown:
    """The claims of Sections 1 and 3.

    - wiki, own: CE of the published and the measured models
    - lines: scatter about lines, by corpus and family
    - ranks_of_paris: in Figure 1
    - near: ranks of tokens with a probability near 0.28
    - of_three: E[p(t)] and RBP_2 of Figure 2
    - rule: how much ties change RBP_k, for each kind of number
    """
    p_A, RBP_2 = of_three
    free, free_own = (wiki["CE"] >= np.log(2)).sum(), (own["CE"] >= np.log(2)).sum()
    is_published = lines["corpus"] == "published: Wiki"
    pythia = lines[is_published & (lines["family"] == "Pythia")].iloc[0]
    in_S, in_CE = pythia["scatter in S"], pythia["scatter in CE"]
    squares = lines[~is_published].set_index("family").filter(like="scatter") ** 2
    by_family = []
    for family, pooled in np.sqrt(squares.groupby("family").mean()).iterrows():
        by_family.append(f"{family}: {pooled.iloc[0]:.3f} in S, {pooled.iloc[1]:.3f} in CE")
    results = {
        ONE_PROBABILITY: (
            "ranks " + " and ".join(str(rank) for rank in ranks_of_paris),
            f"rank 1 for {(near == 1).mean():.0%} of the tokens; others up to rank {near.max()}",
            "holds" if len(set(ranks_of_paris)) > 1 else "does not hold",
        ),
        GREEDY: (
            f"{free} of {len(wiki)} models",
            f"{free_own} of {len(own)} models and corpora",
            "holds" if free == len(wiki) and in_CE > in_S else "holds in part",
        ),
        TWO_ASPECTS: (
            f"Pythia on Wiki: {in_S:.3f} in S, {in_CE:.3f} in CE",
            "; ".join(by_family) or "no family of three models",
            "holds" if in_CE > in_S else "holds in part",
        ),
        FIGURE_2: (
            f"pA = {p_A:.3f}, RBP_2 = {RBP_2:.3f}",
            "",
            "holds" if round(p_A, 3) == 0.227 and RBP_2 == 1 / 3 else "does not hold",
        ),
        TOP_K: (
            "by definition, except for ties",
            f"{rule['float32']:.4f} with 32 bits; {rule['bfloat16 logits']:.4f} with 16",
            "holds",
        ),
    }
    return claims_table("02", results, records_dir, figures_dir)
