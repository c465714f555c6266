"""The paper's own numbers, in rbpkit/data/paper (see the README.md there).

Each function returns a fresh DataFrame of what arXiv 2510.20387 or its ICLR 2026 submission prints
or plots (`points` returns a `Curve`): change it as you like. Columns that several tables share:

- family: one of FAMILIES
- model: the paper's name for it, as in `models()`
- dataset: one of CORPORA, in the paper's spelling
- S: non-embedding parameters of the model (a count)
- k: the rank threshold of RBP_k = Pr(R <= k)
- rbp: RBP_k, a probability, in the six decimals that the authors stored
- figure: the figure that a value was read from, always text: "3", "8a"

Logarithms are natural; slopes of log-log lines do not depend on the base. Every function raises
InputError if its file is missing or cannot be read.
"""

from __future__ import annotations

from importlib import resources

import pandas as pd

from rbpkit.errors import InputError, reason
from rbpkit.fit import Curve

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
# Footnote 2. It has a second number for Qwen's models above 7B.
_FOOTNOTE_V = {"GPT2": 50_257, "OPT": 50_272, "Pythia": 50_256, "Qwen": 151_936}
_FOOTNOTE_V_ABOVE_7B = {"Qwen2.5-14B": 152_064}


def _read(name: str, **types: str) -> pd.DataFrame:
    """A fresh copy of data/paper/<name>.csv; `types` of columns that do not show theirs."""
    source = resources.files("rbpkit") / "data" / "paper" / f"{name}.csv"
    with reason(f"cannot read {source}; install rbpkit again"):
        with source.open(encoding="utf-8") as file:
            return pd.read_csv(file, dtype={"figure": "str", **types})


def models() -> pd.DataFrame:
    """The 24 models of Appendix A: one row each, by family and size.

    - family, model, hub_id
    - S: parameters of the base model without the output head, less token and position embeddings
    - embedding_params: those that S leaves out
    - vocab_rows: V, the rows of the output matrix
    """
    return _read("models")


def vocabularies() -> pd.DataFrame:
    """V by footnote 2 and as counted.

    - family, model
    - footnote: V as footnote 2 gives it
    - V: rows of the output matrix
    """
    table = models().rename(columns={"vocab_rows": "V"})
    above_7b = table["model"].map(_FOOTNOTE_V_ABOVE_7B)
    table["footnote"] = above_7b.fillna(table["family"].map(_FOOTNOTE_V)).astype(int)
    return table[["family", "model", "footnote", "V"]]


def rbp_by_size() -> pd.DataFrame:
    """Figures 3 (k = 1), 4 (k = 10, 50, 100) and 5 (k = 20,000, 30,000): RBP_k against S.

    498 rows: figure, dataset, k, family, model, S, rbp. Four corpora and 24 models; Figure 5 has
    neither HumanEval nor Qwen. The paper plots -log RBP_k.
    """
    return _read("rbp_by_size")


def rbp_by_k() -> pd.DataFrame:
    """Figure 9 of the ICLR version: RBP_k against k, at eleven k from 1 to 100.

    704 rows, columns as in `rbp_by_size`: 16 models (four a family), four corpora.
    """
    return _read("rbp_by_k")


def fit_by_k() -> pd.DataFrame:
    """Figure 6, Pythia on four corpora: what the fitted lines give at each k.

    172 rows: figure, quantity, dataset, k, value. `quantity` is one of

    - "R2": Figure 6a, 22 k from 1 to 30,000
    - "slope": Figure 6b, of log(-log RBP_k) on log S, 20 k up to 10,000
    - "ce_slope": the horizontal line of Figure 6b, of log CE; its k is missing
    """
    return _read("fit_by_k", k="Int64")


def emergence() -> pd.DataFrame:
    """Figure 7: p_{N,k}, the share of windows of N consecutive tokens with every rank <= k.

    720 rows: figure, dataset (Wiki), k, N, model (ten Pythias), S, p. As read: 73 values below
    EMERGENCE_ZERO are zeros (no window succeeded), not small probabilities.
    """
    return _read("emergence")


def emergence_fits() -> pd.DataFrame:
    """Figure 7's annotations: figure, k, alpha_printed (positive), r2_printed; 8 rows."""
    return _read("emergence_fits")


def ce_and_rbp1() -> pd.DataFrame:
    """Figures 8a and 8b: CE and -log RBP_1 of ten Pythias on Wiki.

    40 rows: figure, kind, dataset, series, model, S, value.

    - kind: "empirical" (8a), or "simulated" from a lognormal (8b)
    - series: "CE", in nats, or "neg_log_rbp1", which is -log RBP_1 (natural)
    """
    return _read("ce_and_rbp1")


def ce_and_rbp1_fits() -> pd.DataFrame:
    """The lines printed in Figures 8a and 8b: figure, kind, series, slope_printed, r2_printed."""
    return _read("ce_and_rbp1_fits")


def lognormal_params() -> pd.DataFrame:
    """Printed in Figure 8c: figure, model, S, mu, sigma of the lognormal of four Pythias on Wiki.

    mu and sigma are those of ln R, two decimals as printed; the curve is drawn over ranks >= 2.
    """
    return _read("lognormal_params")


def rank_density() -> pd.DataFrame:
    """Figure 8c: how the ranks >= 2 of four Pythias on Wiki are spread.

    167 rows: figure, model, bin_lo, bin_hi, mass.

    - bin_lo, bin_hi: the bin holds the ranks bin_lo <= R < bin_hi
    - mass: the bin's share of all ranks >= 2, so that a model's masses add up to 1
    """
    return _read("rank_density")


def table1() -> pd.DataFrame:
    """Table 1 of the arXiv version (Table 2 of the ICLR version): R2 and slope of every fit on S.

    168 rows: dataset (six corpora), k, family, r2, slope.

    - k: text, one of "CE", "1", "10", "100", "500", "2500", "10000"
    - r2, slope: of log(-log RBP_k), or of log CE, on log S, to the three decimals printed
    """
    return _read("table1", k="str")


def table_k_law() -> pd.DataFrame:
    """Table 1 of the ICLR version: R2 and slope of log(-log RBP_k) on log k, k from 1 to 100.

    96 rows: family, model (24), dataset (four), r2, slope. Three decimals as printed.
    """
    return _read("table_k_law")


def token_counts() -> pd.DataFrame:
    """How many scored tokens each family has on a corpus: dataset, family, tokens, also_admissible.

    Not printed in the paper: inferred from the digits of the published RBP values, which are
    multiples of 1/tokens. also_admissible: a second count that fits as well, else missing.
    """
    return _read("token_counts", also_admissible="Int64")


def gpt2_wiki_metrics() -> pd.DataFrame:
    """CE and p_{N,k} of the four GPT-2 models on Wiki, in full precision, as the authors published.

    16 rows, for k = 1, 10, 100 and 10000.

    - model, S, k
    - ce: nats; the same at every k
    - p_N1 (this is RBP_k), p_N5, p_N10, p_N50, p_N100
    """
    return _read("gpt2_wiki_metrics")


def points(dataset: str, family: str, k: int) -> Curve:
    """The points (S, RBP_k) that the paper plots for a corpus, a family and a k, by rising S.

    From Figures 3 to 5 (all models of the family) if they show this k, else from Figure 9 of
    the ICLR version (four models; k = 2, 3, 5, 7, 18, 30, 78). Raises InputError for a name that
    is not the paper's, and for a k that it does not plot; the message lists what it plots.
    """
    for name, names in ((dataset, PLOTTED_CORPORA), (family, FAMILIES)):
        if name not in names:
            raise InputError(f"the paper plots no {name!r}; it plots {', '.join(names)}")
    plotted = pd.concat([rbp_by_size(), rbp_by_k()])
    of_family = plotted[(plotted["dataset"] == dataset) & (plotted["family"] == family)]
    at_k = of_family[of_family["k"] == k]
    if at_k.empty:
        plotted_ks = sorted(set(of_family["k"]))
        raise InputError(
            f"the paper plots no RBP_k at k = {k} for {family} on {dataset};"
            f" plotted k: {', '.join(map(str, plotted_ks))}"
        )
    # Figure 9 repeats some k of the others; the first figure has every model.
    figure = at_k["figure"].iloc[0]
    line = at_k[at_k["figure"] == figure].sort_values("S")
    return Curve(
        corpus=dataset,
        family=family,
        quantity=f"RBP_{k}",
        models=tuple(line["model"]),
        S=line["S"].to_numpy(),
        value=line["rbp"].to_numpy(),
        figure=figure,
    )
