"""What CE says of RBP_k: a bound that always holds, and models of equal CE that differ.

`stats.bounds.ce_bound` proves E[ln R] <= CE and RBP_k >= 1 - CE / ln(k + 1). CE is in nats,
of the same tokens and of the very distribution that ranks them, R with ties counted against the
target (Eq. 3). The bound is sharp: put probability 1 on the target, and on a share CE / ln(k + 1)
of the tokens 1 / (k + 1) on each of k + 1 tokens, the target among them. There is no bound from
above: with R = 1 everywhere CE may be as large as ln V, and with R <= 2 of any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.special import ndtri

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.plots import FAMILY_INK, family_marks, ink_of, short, style
from rbpkit.stats.bootstrap import resample
from rbpkit.stats.bounds import ce_bound
from rbpkit.stats.rank_laws import published_laws
from rbpkit.summary import Summary

ALIKE = 0.005  # losses that differ by at most this share are "equal"
BOUND_K = (10, 100)  # of the figure
EDGE = {"markeredgecolor": "white", "markeredgewidth": 0.5}


def published_bounds() -> pd.DataFrame:
    """Bound and RBP_k of the published models whose CE is known, on Wiki: 56 rows.

    Ten Pythias (Figure 8a; k = 1, 10, 50, 100) and four of GPT2 (as the authors published; k = 1,
    10, 100, 10000). Columns: family, model, S, CE (nats), k, RBP, bound, free (1 - bound: the
    width of the range that CE leaves).
    """
    ce = published_laws()[["model", "CE"]]
    pythia = paper.rbp_by_size().query("dataset == 'Wiki' and family == 'Pythia' and k <= 100")
    pythia = pythia.rename(columns={"rbp": "RBP"}).merge(ce, on="model")
    gpt2 = paper.gpt2_wiki_metrics().rename(columns={"ce": "CE", "p_N1": "RBP"})
    table = pd.concat([pythia, gpt2.assign(family="GPT2")])
    names = ["family", "model", "S", "CE", "k", "RBP"]
    return _bounded(table[names].sort_values(["family", "S", "k"], ignore_index=True))


def measured_bounds(measured: Iterable[Summary], ks: Sequence[int]) -> pd.DataFrame:
    """As `published_bounds` of summaries, with corpus in front; a row a (model, corpus, k)."""
    rows = [
        (m.manifest.corpus, m.manifest.family, m.manifest.model, m.manifest.S, m.ce(), k, m.rbp(k))
        for m in measured
        for k in ks
    ]
    return _bounded(pd.DataFrame(rows, columns="corpus family model S CE k RBP".split()))


def _bounded(table: pd.DataFrame) -> pd.DataFrame:
    bound = ce_bound(table["CE"].to_numpy(), table["k"].to_numpy())
    return table.assign(bound=bound, free=1 - bound)


def equal_pairs(
    measured: Iterable[Summary],
    k: int = 1,
    *,
    held: str = "CE",
    within: float = ALIKE,
    level: float = 0.05,
) -> pd.DataFrame:
    """Every pair of models of one corpus whose `held` losses differ by at most `within` (a share).

    held: "CE" (is -log RBP_k of the pair unequal?) or "RBP" (the other way round). With x the log
    of the held loss and y that of the other, a row a pair: a, b, CE_a, CE_b, RBP_a, RBP_b, excess
    and z. excess is y_a - y_b less slope (x_a - x_b), slope that of all models: what the small
    difference in x explains is taken off. z is excess over its spread in the paired bootstrap.
    apart: both |z| and that of y_a - y_b itself are beyond the normal quantile at `level`,
    two-sided, divided among the pairs listed (Bonferroni): where all pairs are equal in truth, any
    is called apart in at most some `level` of corpora. InputError as `sections.bootstrap.resample`,
    for fewer than three models, models that did not score the same tokens, and an RBP of 0 or 1.
    """
    every = list(measured)
    if held not in ("CE", "RBP"):
        raise InputError(f"held must be 'CE' or 'RBP', got {held!r}")
    if len(every) < 3:
        raise InputError(f"pairs need three models or more, for a line; there are {len(every)}")
    first = every[0].document_tokens
    if not all(np.array_equal(m.document_tokens, first) for m in every):
        raise InputError("pairs need models that scored the same tokens of one corpus")
    drawn = resample(every, (k,))
    ce = np.vstack([[m.ce() for m in every], drawn.ce])  # (1 + draws, M), as measured first
    rbp = np.vstack([[m.rbp(k) for m in every], drawn.rbp[:, :, 0]])
    if not ((rbp > 0) & (rbp < 1)).all():
        raise InputError("an RBP_k of 0 or 1 has no place on the line: take another k")
    losses = np.log(ce).T, np.log(-np.log(rbp)).T
    x, y = losses if held == "CE" else losses[::-1]
    slope = np.polyfit(x[:, 0], y[:, 0], 1)[0] if np.ptp(x[:, 0]) > 0 else 0.0
    pairs = [
        (a, b)
        for a, b in combinations(range(len(every)), 2)
        if abs(x[a, 0] - x[b, 0]) <= np.log1p(within)
    ]
    critical = -ndtri(level / 2 / max(1, len(pairs)))
    rows = []
    for a, b in pairs:
        other = y[a] - y[b]
        excess = other - slope * (x[a] - x[b])
        z, plain = (v[0] / max(v[1:].std(ddof=1), 1e-12) for v in (excess, other))
        apart = min(abs(z), abs(plain)) > critical
        row = (every[a].manifest.model, every[b].manifest.model)
        row += (ce[0, a], ce[0, b], rbp[0, a], rbp[0, b], excess[0], z, bool(apart))
        rows.append(row)
    columns = "a b CE_a CE_b RBP_a RBP_b excess z apart"
    return pd.DataFrame(rows, columns=columns.split()).astype({"apart": bool})


# -- figure --------------------------------------------------------------------------------------


def figure_bounds(
    published: pd.DataFrame, pocket: pd.DataFrame, pairs: pd.DataFrame, corpus: str = ""
) -> Figure:
    """RBP_k against CE with the bound (k of BOUND_K), and RBP_1 at equal CE on one corpus.

    published, pocket: `published_bounds`, `measured_bounds` at k = 1 and BOUND_K. pairs:
    `equal_pairs` of `corpus` at k = 1; those apart are joined. The last two may be empty.
    """
    with_pairs = len(pocket) > 0 and bool(corpus)
    with style():
        panels = len(BOUND_K) + with_pairs
        figure, grid = plt.subplots(1, panels, figsize=(4.1 * panels, 3.9), squeeze=False)
        for axes, k in zip(grid[0], BOUND_K, strict=False):
            for source, table in (("published", published), ("pocket", pocket)):
                for family, rows in table[table["k"] == k].groupby("family") if len(table) else ():
                    _cloud(axes, rows, family, hollow=source == "published")
            ce = np.linspace(0, 5.8, 200)
            axes.fill_between(ce, 0, ce_bound(ce, k), color="0.82", linewidth=0)
            axes.plot(ce, ce_bound(ce, k), color="black", linewidth=1.2)
            axes.text(0.3, 0.12, "no model\ncan be here", fontsize=8)
            axes.set(xlim=(0, 5.8), ylim=(0, 1.02))
            axes.set(title=f"$k = {k}$, all corpora; line: $1 - \\mathrm{{CE}}/\\ln({k + 1})$")
            axes.set(xlabel="CE (nats a token)", ylabel=f"RBP$_{{{k}}}$")
        if with_pairs:
            _joined(grid[0, -1], pocket[(pocket["k"] == 1) & (pocket["corpus"] == corpus)], pairs)
            grid[0, -1].set_title(f"{short(corpus)}: equal CE, unequal RBP$_1$")
        seen = [f for f in FAMILY_INK if f in {*published["family"], *pocket.get("family", ())}]
        marks = family_marks(seen)
        hollow = {"markerfacecolor": "none", "color": "black", "ls": ""}
        marks.append(Line2D([], [], marker="o", label="hollow: published, Wiki", **hollow))
        figure.tight_layout(rect=(0, 0, 1, 0.92))
        figure.legend(
            handles=marks, loc="upper center", ncols=len(marks), handletextpad=0.1, frameon=False
        )
    return figure


def bounds_points(
    published: pd.DataFrame, pocket: pd.DataFrame, pairs: pd.DataFrame
) -> pd.DataFrame:
    """The points of `figure_bounds`: source, corpus, family, model, S, CE, k, RBP, bound,
    free, and paired (is the model in a pair that is apart; k = 1 only)."""
    parts = [published.assign(source="published", corpus="Wiki"), pocket.assign(source="pocket")]
    table = pd.concat([one for one in parts if len(one)], ignore_index=True)
    apart = pairs[pairs["apart"]] if len(pairs) else pd.DataFrame({"a": [], "b": []})
    joined = {*apart["a"], *apart["b"]}
    table["paired"] = (table["k"] == 1) & table["model"].isin(joined)
    names = ["source", "corpus", "family", "model", "S", "CE", "k", "RBP", "bound", "free"]
    return table[[*names, "paired"]]


def _cloud(axes: Axes, rows: pd.DataFrame, family: str, hollow: bool = False) -> None:
    ink = ink_of(family)
    look = {"markerfacecolor": "none", "markeredgecolor": ink.colour} if hollow else EDGE
    size = 7 if hollow else 5
    axes.plot(
        rows["CE"], rows["RBP"], ink.marker, color=ink.colour, markersize=size, zorder=3, **look
    )


def _joined(axes: Axes, rows: pd.DataFrame, pairs: pd.DataFrame) -> None:
    for family, models in rows.groupby("family"):
        _cloud(axes, models, family)
    for pair in pairs[pairs["apart"]].itertuples() if len(pairs) else ():
        ends = [pair.CE_a, pair.CE_b], [pair.RBP_a, pair.RBP_b]
        axes.plot(*ends, color="black", linewidth=1.4, zorder=2)
        axes.plot(*ends, "o", mfc="none", mec="black", markersize=11, zorder=4)
    axes.set(xlabel="CE (nats a token)", ylabel="RBP$_1$")
