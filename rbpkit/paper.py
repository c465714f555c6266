"""The paper's own numbers: what arXiv 2510.20387 or its ICLR 2026 submission prints or plots.

`table(name)` reads one of the files in rbpkit/data/paper; the README.md there says how each was
read. Columns that several tables share:

- family: one of FAMILIES
- model: the paper's name for it, as in the table "models"
- dataset: one of CORPORA, in the paper's spelling
- S: non-embedding parameters of the model (a count)
- k: the rank threshold of RBP_k = Pr(R <= k)
- rbp: RBP_k, a probability, in the six decimals that the authors stored
- figure: the figure that a value was read from, always text: "3", "8a"

Logarithms are natural; slopes of log-log lines do not depend on the base.
"""

from __future__ import annotations

from importlib import resources

import pandas as pd

from rbpkit.errors import reason

FAMILIES = ("GPT2", "OPT", "Pythia", "Qwen")
# The first four are plotted in the figures; of C4 and Github the paper prints Table 1 only.
CORPORA = ("Wiki", "HumanEval", "HotpotQA", "AusLegal", "C4", "Github")
PLOTTED_CORPORA = CORPORA[:4]

EMERGENCE_ZERO = 1e-9
"""Shares below this, as read from Figure 7, are zeros.

Windows are counted, so a share below one window in about 3e5 is zero. Reading the coordinates of a
zero that is drawn leaves up to 2e-10.
"""

PAPER_V = 50_304
"""V of most Pythias: a share of V is k / PAPER_V when the paper's k are used for other models."""

FOOTNOTE_V = {"GPT2": 50_257, "OPT": 50_272, "Pythia": 50_256, "Qwen": 151_936}
"""V of a family by footnote 2, which has another number for a Qwen above 7B."""
FOOTNOTE_V_ABOVE_7B = {"Qwen2.5-14B": 152_064}

# Columns that do not show their type.
_TYPES = {
    "fit_by_k": {"k": "Int64"},
    "table1": {"k": "str"},
    "token_counts": {"also_admissible": "Int64"},
}


def table(name: str) -> pd.DataFrame:
    """A table of the paper's numbers, fresh: change it as you like.

    What the paper plots:

    - "rbp_by_size": RBP_k against S; Figures 3 (k = 1), 4 (10, 50, 100), 5 (20,000, 30,000).
      figure, dataset (four), k, family, model (24), S, rbp; Figure 5 without HumanEval and Qwen.
    - "rbp_by_k": RBP_k at eleven k from 1 to 100, 16 models; the same columns. ICLR Figure 9.
    - "fit_by_k": Pythia's lines at each k; Figure 6. figure, quantity, dataset, k, value; quantity
      is "R2" (6a, k to 30,000), "slope" (6b, of log(-log RBP_k) on log S, k to 10,000), or
      "ce_slope" (the horizontal line of 6b, of log CE; its k is missing).
    - "emergence": p_{N,k}, the share of windows of N consecutive tokens with every rank <= k;
      Figure 7, ten Pythias on Wiki. figure, dataset, k, N, model, S, p. As read: 73 values below
      EMERGENCE_ZERO are zeros (no window succeeded), not small probabilities.
    - "ce_and_rbp1": ten Pythias on Wiki; Figures 8a and 8b. figure, kind, dataset, series, model,
      S, value; kind is "empirical" (8a), or "simulated" from a lognormal (8b); series is "CE", in
      nats, or "neg_log_rbp1", which is -log RBP_1.
    - "rank_density": the ranks >= 2 of four Pythias on Wiki; Figure 8c. figure, model, bin_lo,
      bin_hi, mass: the share of all ranks >= 2 that is in bin_lo <= R < bin_hi; a model's masses
      add up to 1.

    What it prints, in the decimals printed:

    - "table1": R2 and slope of every fit on S; arXiv Table 1, ICLR Table 2. dataset (six), k,
      family, r2, slope: of log(-log RBP_k), or of log CE, on log S. k is text: "CE", "1", "10",
      "100", "500", "2500", "10000".
    - "table_k_law": of log(-log RBP_k) on log k, k from 1 to 100; ICLR Table 1. family, model,
      dataset (four), r2, slope.
    - "emergence_fits": in Figure 7. figure, k, alpha_printed (positive), r2_printed.
    - "ce_and_rbp1_fits": in Figures 8a and 8b. figure, kind, series, slope_printed, r2_printed.
    - "lognormal_params": in Figure 8c. figure, model, S, mu, sigma: of ln R, of four Pythias on
      Wiki; the curve is drawn over ranks >= 2.

    And what follows from it:

    - "models": the 24 of Appendix A, by family and size. family, model, hub_id, S, embedding_params
      (token and position embeddings, which S leaves out), vocab_rows (V, the rows of the output
      matrix). Counted from the public configurations.
    - "token_counts": scored tokens of a family on a corpus. dataset, family, tokens,
      also_admissible (a second count that fits as well, else missing). Inferred from the digits of
      the published RBP values, which are multiples of 1/tokens.
    - "gpt2_wiki_metrics": the four GPT-2 models on Wiki, in full precision, as the authors
      published. model, S, k (1, 10, 100, 10000), ce (nats; the same at every k), p_N1 (this is
      RBP_k), p_N5, p_N10, p_N50, p_N100.

    Raises InputError if there is no such file, or it cannot be read.
    """
    source = resources.files("rbpkit") / "data" / "paper" / f"{name}.csv"
    with reason(f"no table {name!r} of the paper"), source.open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"figure": "str", **_TYPES.get(name, {})})
