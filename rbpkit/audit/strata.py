"""The law by kinds of tokens: how common, where in the document, new or seen before.

RBP_k and CE are means over all scored tokens. If exponents differ between kinds of tokens, alpha
of a corpus is a mixture of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbpkit import plots
from rbpkit.errors import InputError
from rbpkit.fit import MIN_POINTS, fit_power_law
from rbpkit.paper import FAMILIES
from rbpkit.plots import corpora_of, ink_of, short
from rbpkit.pocket import recipes
from rbpkit.pocket.documents import CORPORA, load_pocket_documents
from rbpkit.records import Records
from rbpkit.stats.bootstrap import DRAWS, finite_interval, resample_weights, sampling_units
from rbpkit.summary import document_index

KS = (1, 10, 100)
QUANTITIES = ("CE", *(f"RBP_{k}" for k in KS))
POSITIONS = (1, 17, 65, 129)  # first positions of the strata
QUARTERS = (0.25, 0.5, 0.75)
QUARTER_NAMES = ("rarest quarter", "second quarter", "third quarter", "commonest quarter")
REPEAT_NAMES = ("new in the document", "stood before")


@dataclass(frozen=True, eq=False)
class Context:
    """The text of each token, and how common it is: what records do not hold.

    token_text: V decoded tokens. train_counts: (V,) how often each stands in the training text,
    or None where that text is not known. Raises InputError where the two differ in length.
    """

    token_text: tuple[str, ...]
    train_counts: np.ndarray | None

    def __post_init__(self) -> None:
        counts = self.train_counts
        if counts is not None and np.shape(counts) != (len(self.token_text),):
            raise InputError(
                f"{len(self.token_text)} tokens, but training counts of shape {np.shape(counts)}"
            )

    def counts(self, records: Records) -> np.ndarray:
        """(V,) counts of the training text; where it is not known, of the scored targets."""
        V = len(self.token_text)
        if records.target.max() >= V:
            raise InputError(f"target {records.target.max()} is outside the {V} tokens given")
        if self.train_counts is None:
            return np.bincount(records.target, minlength=V)
        return np.asarray(self.train_counts)


@cache
def pocket_context() -> Context:
    """The tokens of the pocket models and their counts in the training text.

    The text is tokenized again (some 28 million tokens), once, in some minutes.
    Each document counts one end-of-text token, as in training.
    """
    tokenizer = recipes.load_tokenizer()
    counts = np.zeros(recipes.V, dtype=np.int64)
    for corpus in CORPORA:
        documents = list(load_pocket_documents(corpus, "train").documents)
        encoded = tokenizer(documents, add_special_tokens=False, verbose=False)["input_ids"]
        for ids in encoded:
            counts += np.bincount(ids, minlength=recipes.V)
        counts[tokenizer.convert_tokens_to_ids(recipes.END_OF_TEXT)] += len(documents)
    text = tokenizer.batch_decode(
        [[token] for token in range(recipes.V)], clean_up_tokenization_spaces=False
    )
    return Context(tuple(text), counts)


def frequency_groups(
    counts: np.ndarray, target: np.ndarray, shares: Sequence[float] = QUARTERS
) -> np.ndarray:
    """For each scored token (T,) its group 0, 1, ... by how common its target is: 0 the rarest.

    The tokens are put in order of `counts` (V,) and cut where the running share of all counts
    first goes beyond each of `shares`: groups hold equal text, not equally many kinds of token.
    """
    order = np.argsort(counts, kind="stable")
    # Share of the text in tokens that are rarer: a token that straddles a cut is below it.
    rarer = (np.cumsum(counts[order]) - counts[order]) / max(1, counts.sum())
    group = np.empty(counts.size, dtype=np.int64)
    group[order] = np.searchsorted(np.asarray(shares), rarer, side="right")
    return group[target]


def stood_before(records: Records) -> np.ndarray:
    """(T,) whether a target was a scored token of the same document at an earlier position.

    The first token of a document is never scored, so it does not count as having stood before.
    """
    key = records.document.astype(np.int64) * records.manifest.V + records.target
    _, first = np.unique(key, return_index=True)
    before = np.ones(records.tokens, dtype=bool)
    before[first] = False
    return before


def strata_of(records: Records, context: Context) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """(stratification, names of its strata, (T,) the stratum of each scored token), three times."""
    groups = frequency_groups(context.counts(records), records.target)
    yield "frequency", list(QUARTER_NAMES), groups
    ends = [*(first - 1 for first in POSITIONS[1:]), records.manifest.max_length - 1]
    names = [f"{a} to {b}" for a, b in zip(POSITIONS, ends, strict=True)]
    yield "position", names, np.searchsorted(POSITIONS, records.position, side="right") - 1
    yield "repeat", list(REPEAT_NAMES), stood_before(records).astype(np.int64)


def _losses(tokens: np.ndarray, nll: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """log of CE and of -log RBP_k: tokens, nll (...), hits (..., K) -> (..., 1 + K); nan: none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.concatenate(
            [(nll / tokens)[..., None], -np.log(hits / tokens[..., None])], axis=-1
        )
        log = np.log(loss)
    return np.where(np.isfinite(log), log, np.nan)


def _slopes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """alpha (...) = -slope of least squares of y (n, ...) on x (n,)."""
    dx = x - x.mean()
    return -np.tensordot(dx, y, axes=1) / (dx @ dx)


def strata_alpha(every: Sequence[Records], context: Context, draws: int = DRAWS) -> pd.DataFrame:
    """alpha of each stratum for one (corpus, family), and how it differs from the first stratum.

    every: Records of the family's models on one corpus, S ascending, of the same documents.
    Columns: stratification, stratum, quantity ("CE", "RBP_1", ...), n, tokens, alpha, t_low,
    t_high (95% t interval of the regression: for new models), low, high (95% bootstrap of the
    text, paired: for these models), difference (alpha less that of the first stratum), and
    its t_difference_low, _high (regression of the ratio of the two losses: what moves a model's
    points together cancels) and difference_low, _high (documents). Numbers are missing where a
    stratum has an RBP of 0 or 1, and intervals where a resample has.
    Raises InputError for fewer than three models, or models scored on different tokens.
    """
    S = checked_ladder(every)
    x, first = np.log(S), every[0]
    numbers, document = document_index(first.document)
    weights = resample_weights(sampling_units(first.manifest.corpus, numbers), draws)
    rows = []
    for stratification, names, stratum in strata_of(first, context):
        logs, drawn = [], []
        place = document * len(names) + stratum
        shape = (numbers.size, len(names))

        def summed(weight=None, place=place, shape=shape) -> np.ndarray:
            flat = np.bincount(place, weights=weight, minlength=shape[0] * shape[1])
            return flat.reshape(shape).astype(np.float64)

        tokens = summed()
        for one in every:
            rank = one.rank()
            nll, hits = summed(one.nll), [summed(rank <= k) for k in KS]
            logs.append(_losses(tokens.sum(0), nll.sum(0), np.stack([h.sum(0) for h in hits], -1)))
            parts = [weights @ part for part in (tokens, nll, *hits)]
            drawn.append(_losses(parts[0], parts[1], np.stack(parts[2:], -1)))
        log, resampled = np.stack(logs), np.stack(drawn)  # (n, strata, Q), (n, draws, strata, Q)
        alpha, alphas = _slopes(x, log), _slopes(x, resampled)
        for i, name in enumerate(names):
            for q, quantity in enumerate(QUANTITIES):
                row = {"stratification": stratification, "stratum": name, "quantity": quantity}
                row |= {"n": S.size, "tokens": int(tokens.sum(0)[i]), "alpha": alpha[i, q]}
                row["t_low"], row["t_high"] = _t_interval(S, log[:, i, q])
                row["low"], row["high"] = finite_interval(alphas[:, i, q])
                if i:
                    ratio = log[:, i, q] - log[:, 0, q]
                    row["difference"] = alpha[i, q] - alpha[0, q]
                    row["t_difference_low"], row["t_difference_high"] = _t_interval(S, ratio)
                    ends = finite_interval(alphas[:, i, q] - alphas[:, 0, q])
                    row["difference_low"], row["difference_high"] = ends
                rows.append(row)
    return pd.DataFrame(rows)


def checked_ladder(every: Sequence[Records]) -> np.ndarray:
    """S (n,) of the Records of one ladder; InputError unless S ascends and the tokens are one."""
    S = np.array([one.manifest.S for one in every], dtype=np.float64)
    if S.size < MIN_POINTS or (np.diff(S) <= 0).any():
        raise InputError(f"give at least {MIN_POINTS} models of one family, S ascending, not {S}")
    for one in every[1:]:
        for column in ("document", "position", "target"):
            if not np.array_equal(getattr(one, column), getattr(every[0], column)):
                raise InputError(
                    f"{one.manifest.model} and {every[0].manifest.model} were scored on different"
                    " tokens; measure them on the same text"
                )
    return S


def _t_interval(S: np.ndarray, log: np.ndarray) -> tuple[float, float]:
    try:
        return fit_power_law(S, np.exp(log)).alpha_interval
    except InputError:
        return float("nan"), float("nan")


# -- figure --------------------------------------------------------------------------------------

_LABELS = {
    "CE": r"$\alpha$ of CE",
    "RBP_1": r"$\alpha_1$",
    "RBP_10": r"$\alpha_{10}$",
    "RBP_100": r"$\alpha_{100}$",
}


def figure_strata(
    alphas: pd.DataFrame, quantity: str = "RBP_10", families: Sequence[str] = FAMILIES
) -> tuple[Figure, pd.DataFrame]:
    """alpha by stratum: a row of panels a corpus, a column a stratification, a marker a family.

    alphas: `strata_alpha` of all cells (columns corpus, family, its own). Thick bars
    are 95% over documents (these models), thin ones the regression's t interval (new models),
    cut off at the panel's edge. Returns the figure and its points. Raises InputError for a quantity
    that is not there.
    """
    points = alphas[(alphas["quantity"] == quantity) & alphas["family"].isin(families)]
    if points.empty:
        raise InputError(f"nothing to draw: no exponent of {quantity}")
    corpora = corpora_of(points)
    kinds = list(dict.fromkeys(points["stratification"]))
    sizes = [points[points["stratification"] == kind]["stratum"].nunique() for kind in kinds]
    with plots.style():
        figure, grid = plt.subplots(
            len(corpora),
            len(kinds),
            figsize=(10.5, 2.3 * len(corpora) + 0.9),
            squeeze=False,
            sharey="row",
            sharex="col",
            gridspec_kw={"width_ratios": sizes},
        )
        for row, corpus in zip(grid, corpora, strict=True):
            for axes, kind in zip(row, kinds, strict=True):
                here = points[(points["corpus"] == corpus) & (points["stratification"] == kind)]
                _strata_panel(axes, here, [f for f in families if f in set(points["family"])])
            shown = points[points["corpus"] == corpus].dropna(subset=["alpha", "low"])
            low, high = shown["low"].min(), shown["high"].max()
            room = 0.12 * (high - low)
            row[0].set(ylim=(min(low - room, 0), high + room))
            row[0].set(ylabel=f"{_LABELS.get(quantity, quantity)}, {short(corpus)}")
        for axes, kind in zip(grid[0], kinds, strict=True):
            axes.set_title(f"by {kind}")
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
        figure.tight_layout(rect=(0, 0.035, 1, 1))
    return figure, points.reset_index(drop=True)


def _strata_panel(axes: Axes, cells: pd.DataFrame, families: Sequence[str]) -> None:
    strata = list(dict.fromkeys(cells["stratum"]))
    for number, family in enumerate(families):
        ink = ink_of(family)
        line = cells[cells["family"] == family].set_index("stratum").reindex(strata)
        x = np.arange(len(strata)) + 0.17 * (number - (len(families) - 1) / 2)
        axes.vlines(x, line["t_low"], line["t_high"], color=ink.colour, linewidth=0.8, alpha=0.7)
        axes.vlines(x, line["low"], line["high"], color=ink.colour, linewidth=2.6)
        look = {"color": ink.colour, "markersize": 6, "markeredgecolor": "white"}
        axes.plot(x, line["alpha"], ink.marker, label=family, zorder=3, **look)
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_xticks(range(len(strata)), [name.replace(" ", "\n", 1) for name in strata], fontsize=8)
    axes.set_xlim(-0.5, len(strata) - 0.5)
    axes.grid(axis="x", visible=False)


FAMILY_CONTEXT_TABLES = {"strata_alpha": strata_alpha}
"""Tables of the records of a family on a corpus and their context."""
