"""Emergence (Section 5.1): rules that give p_{N,k} from shorter windows, and the shape of Eq. 8.

Eq. 8 is a Gumbel distribution of ln S: N moves it by log10 N / alpha decades and leaves its width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, least_squares
from scipy.special import comb
from scipy.stats import betabinom

from rbpkit import paper
from rbpkit.audit import intervals
from rbpkit.errors import InputError
from rbpkit.sections import s5_1_emergence
from rbpkit.stats.bootstrap import DRAWS, interval
from rbpkit.summary import Summary

SUDDEN_K = 100  # of Table 1's k, Eq. 8 climbs faster the larger k
LN10 = np.log(10)

# -- rules that give p_{N,k} from shorter windows -----------------------------------------------

MIN_RUNS = 5  # fewer separate runs of hits are too few to judge a rule by
RULES = {
    "markov": "chain of pairs",
    "power": "N^b tokens",
    "mixture": "fixed chance, from pairs",
    "documents": "fixed chance, from documents",
    "shuffled": "documents shuffled",
}
"""Columns of `rule_predictions`. The first three take p_1 and p_2, the others p_1 and how hits
differ from document to document. Order in a document makes short ones differ, too: part
of what the last two explain there is order."""


def power_tokens(p_1: ArrayLike, p_2: ArrayLike, N: ArrayLike) -> NDArray[np.float64]:
    """p_{N,k} if N tokens count for N^b independent ones, with b from p_2: exp(N^b log p_1).

    A rule 1 + c (N - 1) in place of N^b would be the chain of pairs (column markov) itself:
    RBP_k^c is then p_2 / p_1. p_1 and p_2 in (0, 1).
    """
    log_1 = np.log(np.asarray(p_1, dtype=np.float64))
    b = np.log2(np.log(p_2) / log_1)
    return np.exp(log_1 * np.asarray(N, dtype=np.float64) ** b)


def fixed_chance(p_1: ArrayLike, p_2: ArrayLike, N: ArrayLike) -> NDArray[np.float64]:
    """p_{N,k} = E[theta^N] for a chance theta that is beta distributed and stays for the window.

    E[theta] = p_1 and E[theta^2] = p_2, so N hits of N in a beta-binomial with the correlation
    rho = (p_2 - p_1^2) / (p_1 (1 - p_1)); p_1^N at rho = 0. NaN for rho < 0, which no chance gives.
    Shapes broadcast.
    """
    p_1, p_2, N = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (p_1, p_2, N)))
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = (p_2 - p_1**2) / (p_1 * (1 - p_1))
        size = (1 - rho) / rho  # of the beta, a + b
        found = betabinom.pmf(N, N, p_1 * size, (1 - p_1) * size)
    return np.where(np.abs(rho) < 1e-12, p_1**N, np.where(rho > 0, found, np.nan))


def rule_predictions(table: pd.DataFrame) -> pd.DataFrame:
    """A table of windows (with N = 1 and 2) and the columns of RULES that it lacks.

    documents: the beta of single tokens: p_1, and the shuffled share at N = 2 for p_2; NaN where
    no counts by document are known (published). InputError for a table without N = 2.
    """
    keys = ["corpus", "family", "model", "k"]
    pairs = table.loc[table["N"] == 2, [*keys, "shuffled"]]
    if len(table) and not len(pairs):
        raise InputError("the rules are fitted at N = 2, which this table lacks")
    table = table.merge(pairs, on=keys, how="left", suffixes=("", "_2"))
    p_1, p_2, N = (table[name].to_numpy() for name in ("p_1", "p_2", "N"))
    with np.errstate(divide="ignore", invalid="ignore"):  # no hit at all, or no pair known: NaN
        table["power"] = power_tokens(p_1, p_2, N)
        table["mixture"] = fixed_chance(p_1, p_2, N)
        table["documents"] = fixed_chance(p_1, table["shuffled_2"].to_numpy(), N)
    return table.drop(columns="shuffled_2")


# -- laws fitted at N <= 5 ----------------------------------------------------------------------

FITTED_N = (1, 2, 5)
LAWS = {
    "independent": "Eq. 6",
    "power_5": "N^gamma tokens",
    "documents": "beta-binomial of documents",
    "chained": "documents and a chain",
    "both": "beta-binomial and a chain, from windows",
    "reinforced": "reinforced runs",
}
"""Columns of `law_predictions`. chained takes the documents' own spread, where it is known."""


def tokens_exponent(Ns: ArrayLike, p: ArrayLike, p_1: float) -> float:
    """gamma of log p_N = N^gamma log p_1 by least squares of log(log p_N / log p_1) on log N."""
    x, y = np.log(np.asarray(Ns, float)), np.log(np.log(np.asarray(p)) / np.log(p_1))
    return float(x @ y / (x @ x))


def chain_in_documents(p_1: float, pair: float, stay: float, N: int) -> float:
    """p_{N,k} = E[theta (theta + stay (1 - theta))^(N - 1)]: a document has a chance theta of a
    hit, beta with E[theta] = p_1 and E[theta^2] = pair, and a hit follows a hit with the chance
    theta + stay (1 - theta).

    stay = 0: a beta-binomial; pair = p_1^2: a chain of pairs. NaN unless p_1^2 <= pair < p_1.
    """
    if not (0 < p_1 < 1 and p_1**2 * (1 - 1e-12) <= pair < p_1):
        return float("nan")
    rho = max((pair - p_1**2) / (p_1 * (1 - p_1)), 1e-9)
    size = (1 - rho) / rho
    at = np.arange(N)
    moments = np.cumprod((p_1 * size + at) / (size + at))  # E[theta^(j + 1)]
    return float(np.sum(comb(N - 1, at) * stay ** (N - 1 - at) * (1 - stay) ** at * moments))


def stay_of(p_1: float, pair: float, p_2: float) -> float:
    """`stay` of `chain_in_documents` that gives p_2 of two tokens: (p_2 - pair) / (p_1 - pair)."""
    return (p_2 - pair) / (p_1 - pair)


def pair_of(p_1: float, p_2: float, p_N: float, N: int = 5) -> float:
    """`pair` of `chain_in_documents` that gives both p_2 and p_N of N tokens; NaN if none does.

    Between pair = p_1^2 (a chain alone) and pair = p_2 (documents alone) the share of N rises.
    """

    def off(pair: float) -> float:
        return chain_in_documents(p_1, pair, stay_of(p_1, pair, p_2), N) - p_N

    low, high = p_1**2, p_2 * (1 - 1e-12)
    if not (low < high and off(low) < 0 < off(high)):
        return float("nan")
    return float(brentq(off, low, high))


def reinforced(p_1: float, a: float, b: float, N: int) -> float:
    """p_{N,k} = p_1 prod_{n=1}^{N-1} (a + n) / (a + b + n): the longer a run of hits, the likelier
    the next hit, as in Polya's urn. For large N it falls as N^-b, not exponentially."""
    n = np.arange(1, N)
    return float(p_1 * np.prod((a + n) / (a + b + n)))


def reinforced_of(p_1: float, p_2: float, p_5: float) -> tuple[float, float]:
    """(a, b) of `reinforced` that give p_2 and p_5; the nearest with a > -1 where none does."""
    aims = np.log([p_2 / p_1, p_5 / p_1])

    def off(t: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b = np.expm1(t[0]), np.exp(t[1])
        return np.log([reinforced(1.0, a, b, N) for N in FITTED_N[1:]]) - aims

    found = least_squares(off, [0.0, 0.0]).x
    return float(np.expm1(found[0])), float(np.exp(found[1]))


def law_predictions(table: pd.DataFrame, Ns: Sequence[int] = (10, 20, 50, 100)) -> pd.DataFrame:
    """LAWS fitted to each model at N <= 5 and held against longer windows.

    table: windows with N = 1, 2 and 5 (`s5_1_emergence`). A row a (model, k, N, law): corpus,
    family, model, S, k, N, p, law, predicted, ratio = log predicted / log p (1 is right). Left out:
    shares from fewer than MIN_RUNS separate runs of hits, and what a law cannot be fitted to.
    """
    keys, rows = ["corpus", "family", "model", "k"], []
    for about, part in table.groupby(keys, sort=False):
        at = part.set_index("N")
        p = at["p"].to_dict()
        if not set(FITTED_N) <= set(p) or at["runs_low"][5] < MIN_RUNS or p[1] >= 1:
            continue
        p_1, p_2, p_5 = (p[N] for N in FITTED_N)
        shuffled, pair = float(at["shuffled"][2]), pair_of(p_1, p_2, p_5)
        gamma, (a, b) = tokens_exponent((2, 5), (p_2, p_5), p_1), reinforced_of(p_1, p_2, p_5)
        for N in Ns:
            if N not in p or at["runs_low"][N] < MIN_RUNS:
                continue
            found = {
                "independent": p_1**N,
                "power_5": p_1 ** (N**gamma),
                "documents": float(fixed_chance(p_1, shuffled, N)),
                "chained": chain_in_documents(p_1, shuffled, stay_of(p_1, shuffled, p_2), N),
                "both": chain_in_documents(p_1, pair, stay_of(p_1, pair, p_2), N),
                "reinforced": reinforced(p_1, a, b, N),
            }
            one = dict(zip(keys, about, strict=True)) | {"S": at["S"][N], "N": N, "p": p[N]}
            rows += [one | {"law": law, "predicted": q} for law, q in found.items() if q > 0]
    long = pd.DataFrame(rows)
    long["ratio"] = np.log(long["predicted"]) / np.log(long["p"])
    return long


# -- Eq. 8 -------------------------------------------------------------------------------------


def width_decades(alpha: ArrayLike, low: float = 0.1, high: float = 0.9) -> NDArray[np.float64]:
    """Decades of S in which Eq. 8 climbs from low to high: 1.34 / alpha for 10 to 90%, at every N.

    inf where alpha is not positive: it does not climb.
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(
            alpha > 0, s5_1_emergence.width(1.0, low, high) / LN10 / alpha.clip(0), np.inf
        )


def table1_widths(k: int = SUDDEN_K) -> pd.DataFrame:
    """Corpus, family, alpha (Table 1's, three decimals), width (decades): 24 rows for one k."""
    table = paper.table1()
    rows = table[table["k"] == str(k)].rename(columns={"dataset": "corpus"})
    found = rows.assign(alpha=-rows["slope"])[["corpus", "family", "alpha"]]
    return found.assign(width=width_decades(found["alpha"])).reset_index(drop=True)


# -- pocket ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Widths:
    """table: corpus, family, n, alpha, alpha_low, alpha_high, width, width_low, width_high
    (decades); median: of the widths, with low and high. The intervals are bootstraps of the text
    (95%, for these models). missing: a line for each ladder that gives no exponent.
    """

    table: pd.DataFrame
    median: float
    low: float
    high: float
    missing: tuple[str, ...] = ()


def measured_widths(summaries: Iterable[Summary], k: int = SUDDEN_K, draws: int = DRAWS) -> Widths:
    """The width of Eq. 8 for every ladder that was measured, and the median over ladders.

    InputError as `fit.curve_of`, and where no ladder is left.
    """
    boot = intervals.bootstrap(summaries, (k,), draws)
    # The bootstrap fits CE beside RBP_k; Eq. 8 is of RBP_k alone.
    cells = {key: boot.cells[key] for key in sorted(boot.cells) if key[2] != "CE"}
    missing = tuple(line for line in boot.missing if ", CE: " not in line)
    if not cells:
        raise InputError("; ".join(missing) or f"nothing was measured at k = {k}")
    rows = []
    for (corpus, family, _), cell in cells.items():
        ends = interval(cell.alphas)
        widths = (float(width_decades(alpha)) for alpha in (cell.fit.alpha, ends[1], ends[0]))
        rows.append((corpus, family, cell.fit.n, cell.fit.alpha, *ends, *widths))
    names = "corpus family n alpha alpha_low alpha_high width width_low width_high".split()
    table = pd.DataFrame(rows, columns=names)
    drawn = [width_decades(cell.alphas) for cell in cells.values()]
    low, high = interval(np.median(drawn, axis=0))
    return Widths(table, float(table["width"].median()), low, high, missing)
