"""What CE says of RBP_k: a bound that always holds, and models of equal CE that differ.

All R tokens that stand at least as high as the target have at least its probability p, so R p <= 1
and nll = -ln p >= ln R, token by token (R with ties counted against the target, Eq. 3). Hence

    E[ln R] <= CE,    and by Markov's inequality    RBP_k >= 1 - CE / ln(k + 1),

for R > k is R >= k + 1, and ln R is never negative. It needs CE in nats, of the same tokens and of
the very distribution that ranks them. It is sharp: put probability 1 on the target, and on a share
CE / ln(k + 1) of the tokens 1 / (k + 1) on each of k + 1 tokens, the target among them. There is no
bound from above: with R = 1 everywhere CE may be as large as ln V, and with R <= 2 of any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

from rbpkit import paper, two_laws
from rbpkit.audit.resampling import DRAWS, document_weights
from rbpkit.audit.verdicts import Finding
from rbpkit.errors import InputError
from rbpkit.summary import Histogram, Summary

ALIKE = 0.005  # losses that differ by at most this share are "equal"
CLAIM_K = 100  # of the claim that RBP_k cannot be deduced from CE


def lower_bound(ce: ArrayLike, k: ArrayLike) -> np.ndarray | float:
    """The least RBP_k that this CE (nats) allows: 1 - CE / ln(k + 1), and never below 0.

    ce and k broadcast. InputError for a CE that is negative or not finite, and for k < 1.
    """
    ce, k = np.asarray(ce, dtype=float), np.asarray(k, dtype=float)
    if not (np.isfinite(ce) & (ce >= 0)).all():
        raise InputError("CE must be a finite number of nats, not below 0")
    if not (k >= 1).all():
        raise InputError("k must be at least 1")
    found = np.maximum(0.0, 1 - ce / np.log1p(k))
    return float(found) if found.ndim == 0 else found


def published_bounds() -> pd.DataFrame:
    """Bound and RBP_k of the published models whose CE is known, on Wiki: 56 rows.

    Ten Pythias (Figure 8a; k = 1, 10, 50, 100) and four of GPT2 (as the authors published; k = 1,
    10, 100, 10000). Columns: family, model, S, CE (nats), k, RBP, bound, free (1 - bound: the
    width of the range that CE leaves).
    """
    ce = two_laws.published_laws()[["model", "CE"]]
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
    bound = lower_bound(table["CE"].to_numpy(), table["k"].to_numpy())
    return table.assign(bound=bound, free=1 - bound)


def rank_entropies(measured: Iterable[Summary]) -> pd.DataFrame:
    """What the ranks alone say, against CE; a row a (model, corpus), nats.

    Columns: corpus, family, model, S, CE; mean_log_rank (E[ln R] <= CE); entropy H(R) of the ranks
    as counted, which is too low, and corrected by (distinct ranks - 1) / 2T (Miller and Madow; what
    is left is still too low); context = corrected - CE. H(R) is the CE of a model with the same
    ranks that puts the same probability on a rank in every context, chosen as well as can be. So
    context > 0 says that probabilities which vary with the context are worth that much, net of what
    miscalibration costs.
    """
    rows = []
    for one in measured:
        about, ranks = one.manifest, one.ranks
        entropy, corrected = histogram_entropy(ranks)
        mean_log = float(ranks.counts @ np.log(ranks.values)) / ranks.total
        row = (about.corpus, about.family, about.model, about.S, one.ce(), mean_log, entropy)
        rows.append((*row, corrected, corrected - one.ce()))
    names = "corpus family model S CE mean_log_rank entropy corrected context"
    return pd.DataFrame(rows, columns=names.split())


def histogram_entropy(ranks: Histogram) -> tuple[float, float]:
    """Entropy of the ranks in nats: as counted, and with Miller and Madow's correction."""
    share = ranks.counts / ranks.total
    entropy = float(-(share * np.log(share)).sum())
    return entropy, entropy + (ranks.values.size - 1) / (2 * ranks.total)


def equal_pairs(
    measured: Iterable[Summary],
    k: int = 1,
    *,
    held: str = "CE",
    within: float = ALIKE,
    level: float = 0.05,
) -> pd.DataFrame:
    """Pairs of models alike in one loss and not in the other; one corpus, all with the same tokens.

    held: "CE" (pairs of equal CE, is -log RBP_k unequal?) or "RBP" (the other way round). k is one
    of the summaries' k_grid. Columns: see `loss_pairs`. InputError for fewer than three models, for
    models that did not score the same tokens, and for a k or held that is not there.
    """
    every = list(measured)
    texts = {(m.manifest.fingerprint, m.manifest.max_length, m.manifest.V) for m in every}
    first = every[0].document_tokens if every else np.zeros(0)
    if len(texts) > 1 or not all(np.array_equal(m.document_tokens, first) for m in every):
        raise InputError("pairs need models that scored the same tokens of one corpus")
    if held not in ("CE", "RBP"):
        raise InputError(f"held must be 'CE' or 'RBP', got {held!r}")
    if not every or k not in every[0].k_grid:
        raise InputError(f"k = {k} is not counted by document; take one of the summaries' k_grid")
    column = list(every[0].k_grid).index(k)
    nll = np.stack([m.document_nll for m in every])
    hits = np.stack([m.document_hits[:, column] for m in every])
    names = [m.manifest.model for m in every]
    return loss_pairs(names, first, nll, hits, held=held, within=within, level=level)


def loss_pairs(
    names: Sequence[str],
    tokens: np.ndarray,
    nll: np.ndarray,
    hits: np.ndarray,
    *,
    held: str = "CE",
    within: float = ALIKE,
    level: float = 0.05,
) -> pd.DataFrame:
    """Every pair whose `held` losses differ by at most `within` (a share), and is it apart?

    tokens (D,); nll (nats) and hits (R <= k), (M, D), summed by document. With x the log of the
    held loss and y that of the other, a row a pair: a, b, CE_a, CE_b, RBP_a, RBP_b, excess and z.
    excess is y_a - y_b less slope (x_a - x_b), slope that of all M models: what the small
    difference in x explains is taken off. z is excess over its spread in a paired bootstrap of the
    documents. apart: both |z| and that of y_a - y_b itself are beyond the normal quantile at
    `level`, two-sided, divided among the pairs listed (Bonferroni): where all pairs are equal in
    truth, any is called apart in at most some `level` of corpora. InputError for fewer than three
    models and for an RBP of 0 or 1.
    """
    if len(names) < 3:
        raise InputError(f"pairs need three models or more, to draw a line through; got {names}")
    weights = np.vstack([np.ones((1, len(tokens))), document_weights(len(tokens), DRAWS)])
    total = weights @ tokens
    ce, rbp = ((weights @ of.T / total[:, None]).T for of in (nll, hits))  # (M, 1 + draws)
    if not ((rbp > 0) & (rbp < 1)).all():
        raise InputError("an RBP_k of 0 or 1 has no place on the line: take another k")
    losses = np.log(ce), np.log(-np.log(rbp))
    x, y = losses if held == "CE" else losses[::-1]
    slope = np.polyfit(x[:, 0], y[:, 0], 1)[0] if np.ptp(x[:, 0]) > 0 else 0.0
    pairs = [
        (a, b)
        for a, b in combinations(range(len(names)), 2)
        if abs(x[a, 0] - x[b, 0]) <= np.log1p(within)
    ]
    critical = -ndtri(level / 2 / max(1, len(pairs)))
    rows = []
    for a, b in pairs:
        other = y[a] - y[b]
        excess = other - slope * (x[a] - x[b])
        z, plain = (v[0] / max(v[1:].std(ddof=1), 1e-12) for v in (excess, other))
        apart = min(abs(z), abs(plain)) > critical
        row = (names[a], names[b], ce[a, 0], ce[b, 0], rbp[a, 0], rbp[b, 0])
        rows.append((*row, excess[0], z, bool(apart)))
    columns = "a b CE_a CE_b RBP_a RBP_b excess z apart"
    return pd.DataFrame(rows, columns=columns.split()).astype({"apart": bool})


def deduced(measured: Iterable[Summary], k: int) -> pd.DataFrame:
    """How near a line through log CE and log -log RBP_k comes to RBP_k; a row a corpus.

    All models of a corpus, whatever the family. Columns: corpus, n, slope, R2, largest (|RBP_k -
    line|, in-sample) and range (of RBP_k over the models). A corpus of under three is left out.
    """
    by_corpus: dict[str, list[Summary]] = {}
    for one in measured:
        by_corpus.setdefault(one.manifest.corpus, []).append(one)
    rows = []
    for corpus, models in by_corpus.items():
        if len(models) < 3:
            continue
        x = np.log([m.ce() for m in models])
        rbp = np.array([m.rbp(k) for m in models])
        y = np.log(-np.log(rbp))
        slope, intercept = np.polyfit(x, y, 1)
        line = np.exp(-np.exp(intercept + slope * x))
        r2 = np.corrcoef(x, y)[0, 1] ** 2
        rows.append((corpus, len(models), slope, r2, np.abs(rbp - line).max(), np.ptp(rbp)))
    return pd.DataFrame(rows, columns=["corpus", "n", "slope", "R2", "largest", "range"])


def findings_bounds(measured: Iterable[Summary] = ()) -> list[Finding]:
    """not-from-ce: the width that CE leaves free for RBP_100, median of models, by source."""
    tables = {"published": published_bounds().query("k == @CLAIM_K")}
    own = measured_bounds(measured, [CLAIM_K])
    if len(own):
        tables["pocket"] = own
    found = []
    for source, table in tables.items():
        ends = np.expm1(table["CE"])
        slack = (table["RBP"] - table["bound"]).median()
        found.append(
            Finding(
                "not-from-ce",
                source,
                float(table["free"].median()),
                len(table),
                "models" if source == "published" else "models x corpora",
                when=f"k is below e^CE - 1, here {ends.min():.0f} to {ends.max():.0f}; beyond it "
                "CE sets a lower end",
                note=f"free {table['free'].min():.2f} to {table['free'].max():.2f} at k = "
                f"{CLAIM_K}; RBP_{CLAIM_K} is above the bound by {slack:.2f} (median); never a "
                "bound from above",
            )
        )
    return found
