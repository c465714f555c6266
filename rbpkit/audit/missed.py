"""Which tokens a model misses at large k, and how their number moves with S.

A token is missed at k where R > k. Chance would spread misses over all tokens alike, and over
others in each model; what is systematic falls on the same kinds, and on the same tokens, again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from rbpkit import largek
from rbpkit.audit.strata import Context, checked_ladder, frequency_groups
from rbpkit.largek import Misses, k_at_share
from rbpkit.records import Records
from rbpkit.sources import published_curves
from rbpkit.summary import Summary, document_index

LARGE_KS = (20_000, 30_000)  # Figure 5
TREND_Z = 2.0  # a trend of fewer standard errors is none to fit
OF_V = 4096
MISSED_KS = (410, 2500)  # of OF_V rows: a tenth of them, and the paper's 30,000 and some
WORST = 10
FREQUENCY_CUTS = (0.01, 0.05, 0.25, 0.5)
FREQUENCY_NAMES = ("rarest 1%", "1 to 5%", "5 to 25%", "25 to 50%", "commonest 50%")
KINDS = (
    "word start",
    "letters, no space before",
    "number",
    "punctuation",
    "symbol",
    "whitespace",
    "part of a character",
)
_PUNCTUATION = re.compile(r"[.,;:!?'\"-]+")
CHANCE_DRAWS = 200


def missed_ks(V: int) -> tuple[int, ...]:
    """The k of `missed_table` for V rows: the shares of V that 410 and 2,500 are of 4,096."""
    return tuple(k_at_share(k, V, of=OF_V) for k in MISSED_KS)


def kind_of(text: str) -> str:
    """What a decoded token is, by its text alone: one of KINDS.

    "word start": a space, then a letter. "letters, no space before": inside a word, or a word after
    a bracket or a line end, which the text alone does not tell. "number": begins with a digit.
    "punctuation": only . , ; : ! ? ' " and hyphens. "symbol": all else, such as brackets.
    "part of a character": bytes that are no character by themselves.
    """
    bare = text.strip()
    if "\N{REPLACEMENT CHARACTER}" in text:
        return "part of a character"
    if not bare:
        return "whitespace"
    if bare[0].isdigit():
        return "number"
    if bare[0].isalpha():
        return "word start" if text[0].isspace() else "letters, no space before"
    return "punctuation" if _PUNCTUATION.fullmatch(bare) else "symbol"


def missed_table(records: Records, context: Context, seed: int = 0) -> pd.DataFrame:
    """One job's misses: k, by ("frequency", "kind", "document"), stratum, tokens, missed, expected.

    expected: misses if the model's were spread over all scored tokens by chance. By "document" the
    one stratum is the 10 documents with most misses, and expected is the mean of the same over
    random spreads (the 10 with most, drawn anew each time). "all" is a row of each k.
    """
    rank, T = records.rank(), records.tokens
    kinds = np.array([KINDS.index(kind_of(text)) for text in context.token_text])
    groups = frequency_groups(context.counts(records), records.target, FREQUENCY_CUTS)
    strata = {"frequency": (FREQUENCY_NAMES, groups), "kind": (KINDS, kinds[records.target])}
    _, document = document_index(records.document)
    sizes = np.bincount(document)
    rng = np.random.default_rng(seed)
    rows = []
    for k in missed_ks(records.manifest.V):
        missed = rank > k
        total = int(missed.sum())
        rows.append((k, "all", "all", T, total, float(total)))
        for by, (names, stratum) in strata.items():
            tokens = np.bincount(stratum, minlength=len(names))
            here = np.bincount(stratum[missed], minlength=len(names))
            for i, name in enumerate(names):
                rows.append((k, by, name, tokens[i], here[i], total * tokens[i] / T))
        in_document = np.bincount(document[missed], minlength=sizes.size)
        worst = np.argsort(in_document, kind="stable")[-WORST:]
        spread = rng.multivariate_hypergeometric(sizes, total, size=CHANCE_DRAWS)
        chance = np.sort(spread, axis=1)[:, -WORST:].sum(axis=1).mean()
        named = f"{WORST} worst of {sizes.size}"
        rows.append((k, "document", named, sizes[worst].sum(), in_document[worst].sum(), chance))
    names = ["k", "by", "stratum", "tokens", "missed", "expected"]
    return pd.DataFrame(rows, columns=names)


def shared_misses(every: Sequence[Records]) -> pd.DataFrame:
    """Misses of the same tokens by the models of one (corpus, family), S ascending.

    Columns: k, n (models), tokens, smallest, largest (misses of the smallest and largest model),
    both, all (tokens missed by these two, and by all n), any, expected (`both` if the two models
    missed independently of one another). Raises InputError as `strata.strata_alpha`.
    """
    checked_ladder(every)
    ranks = np.stack([one.rank() for one in every])
    T, rows = ranks.shape[1], []
    for k in missed_ks(min(one.manifest.V for one in every)):
        missed = ranks > k
        first, last = int(missed[0].sum()), int(missed[-1].sum())
        both = int((missed[0] & missed[-1]).sum())
        together = int(missed.all(axis=0).sum()), int(missed.any(axis=0).sum())
        rows.append((k, len(every), T, first, last, both, *together, first * last / T))
    names = ["k", "n", "tokens", "smallest", "largest", "both", "all", "any", "expected"]
    return pd.DataFrame(rows, columns=names)


def over_families(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """`missed_table` of all jobs (columns corpus, model, ...), summed up for one `by`.

    A row a (k, stratum), a job counting as one: share of tokens, share of misses (medians over
    jobs), smallest and largest `times`: misses over those expected by chance; jobs.
    """
    chosen = table[table["by"] == by].copy()
    whole = table[table["by"] == "all"].set_index(["corpus", "model", "k"])
    at = pd.MultiIndex.from_frame(chosen[["corpus", "model", "k"]])
    chosen["of tokens"] = chosen["tokens"].to_numpy() / whole.loc[at, "tokens"].to_numpy()
    chosen["of misses"] = chosen["missed"].to_numpy() / whole.loc[at, "missed"].to_numpy()
    chosen["times"] = chosen["missed"] / chosen["expected"].where(chosen["expected"] > 0)
    if by == "document":
        chosen["stratum"] = f"{WORST} worst"
    grouped = chosen.groupby(["k", "stratum"], sort=False)
    result = grouped[["of tokens", "of misses", "times"]].median()
    result["times, least"] = grouped["times"].min()
    result["times, most"] = grouped["times"].max()
    result["jobs"] = grouped.size()
    return result.reset_index()


def trend_z(misses: Misses) -> float:
    """z of a trend of the share of misses with log S over all models (Cochran and Armitage).

    Positive where larger models miss more. Tokens and models are taken for independent. nan where
    no model, or every one, misses all.
    """
    T, x = misses.tokens.astype(np.float64), np.log(misses.curve.S)
    pooled = misses.missed.sum() / T.sum()
    if pooled in (0, 1):
        return float("nan")
    centred = x - (T @ x) / T.sum()
    variance = pooled * (1 - pooled) * (T @ centred**2)
    return float(centred @ (misses.missed - T * pooled) / np.sqrt(variance))


def mechanism(z: float, seen: float, low: float) -> str:
    """What acts in a cell: by its trend and whether R2 is below what noise alone leaves (2.5%)."""
    if not abs(z) >= TREND_Z:
        return "no trend to fit"
    scatter = "noise is enough" if seen >= low else "scatter beyond noise"
    return f"rising, {'no law' if seen >= low else scatter}" if z > 0 else f"falling, {scatter}"


def mechanisms(every: Iterable[Misses]) -> pd.DataFrame:
    """A row a cell: corpus, family, quantity, n, misses (by S), trend z, R2 seen, noise median,
    noise low, noise high (`largek.noise_only`: binomial), mechanism.
    """
    every = list(every)
    table = largek.noise_table(every).drop(columns="seen above")
    table.insert(5, "trend z", [trend_z(one) for one in every])
    told = zip(table["trend z"], table["R2 seen"], table["noise low"], strict=True)
    return table.assign(mechanism=[mechanism(*cell) for cell in told])


def published_large_k() -> list[Misses]:
    """The counts of the paper's cells at k = 20,000 and 30,000 (Figure 5)."""
    return [largek.published_misses(c) for k in LARGE_KS for c in published_curves(k).values()]


def pocket_large_k(
    summaries: Iterable[Summary], corpora: Sequence[str], families: Sequence[str]
) -> list[Misses]:
    """The counts of the pocket models at the same shares of V."""
    every = list(summaries)
    curves = [largek.curves_at_share(every, corpora, families, k).curves for k in LARGE_KS]
    return [largek.measured_misses(every, c) for found in curves for c in found.values()]


CONTEXT_TABLES = {"missed": missed_table}
FAMILY_TABLES = {"shared_misses": shared_misses}
