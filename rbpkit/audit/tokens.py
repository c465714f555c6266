"""The tokens that are missed at large k, and words.

If misses fall on the same tokens in every model, they are no chance; and a token is a unit of the
tokenizer, so families that cut one text differently average over different things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbpkit.audit.strata import KS, Context, checked_ladder, frequency_groups
from rbpkit.errors import InputError
from rbpkit.records import Records
from rbpkit.stats.misses import k_at_share
from rbpkit.summary import document_index

# -- missed tokens -------------------------------------------------------------------------------

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
    missed independently of one another). Raises InputError as `strata_alpha`.
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


# -- words ---------------------------------------------------------------------------------------

LENGTHS = ("all", "1", "2", "3", "4 or more")


@dataclass(frozen=True, eq=False)
class Words:
    """The whole words of records: `start`, `length` (W,) int64, rows of the first token, tokens."""

    start: np.ndarray
    length: np.ndarray


def words_of(records: Records, context: Context) -> Words:
    """Where the words are. A word is a run of whitespace and the run of other text after it.

    So a token that begins with whitespace begins a word, unless the token before is whitespace
    alone; and a token of whitespace alone stands in the word that follows it. The first and last
    word of a document may be cut and are left out, and so are those beside a gap in positions.
    Raises InputError for a target that the context does not know.
    """
    text = context.token_text
    if records.target.max() >= len(text):
        raise InputError(f"target {records.target.max()} is outside the {len(text)} tokens given")
    blank = np.array([not t.strip() and bool(t) for t in text])[records.target]
    begins = np.array([bool(t) and t[0].isspace() for t in text])[records.target]
    ends_blank = np.array([bool(t) and t[-1].isspace() for t in text])[records.target]
    new_run = np.diff(records.document, prepend=-1) != 0
    new_run |= np.diff(records.position, prepend=-1) != 1
    before_blank, before_ends = np.roll(blank, 1), np.roll(ends_blank, 1)
    starts = new_run | ((begins | before_ends) & ~before_blank)
    start = np.flatnonzero(starts)
    length = np.diff(np.append(start, records.tokens))
    first_of_run = new_run[start]
    last_of_run = np.append(first_of_run[1:], True)
    whole = ~first_of_run & ~last_of_run
    return Words(start[whole], length[whole])


def words_table(records: Records, context: Context) -> pd.DataFrame:
    """One job by words: length (tokens in a word: "all", "1", ...), k, words, word_hits, tokens,
    token_hits, nll (nats, summed over those words).

    word_hits: words of which every token has R <= k; token_hits: tokens of the same words with
    R <= k. RBP per word is word_hits / words, per token token_hits / tokens.
    """
    words = words_of(records, context)
    if not words.start.size:
        raise InputError(f"no whole word in {records.manifest.corpus}")
    rank = records.rank()
    # Sums from each start to the next take in what stands between words, so go by prefix sums.
    ends = words.start + words.length
    upto = np.concatenate(([0.0], np.cumsum(records.nll, dtype=np.float64)))
    nll = upto[ends] - upto[words.start]
    group = np.minimum(words.length, 4)
    rows = []
    for k in KS:
        hits_upto = np.concatenate(([0], np.cumsum(rank <= k)))
        hits = hits_upto[ends] - hits_upto[words.start]
        whole = hits == words.length
        for i, name in enumerate(LENGTHS):
            here = group == i if i else np.ones(group.size, dtype=bool)
            tokens = int(words.length[here].sum())
            row = (name, k, int(here.sum()), int(whole[here].sum()), tokens)
            rows.append((*row, int(hits[here].sum()), float(nll[here].sum())))
    names = ["length", "k", "words", "word_hits", "tokens", "token_hits", "nll"]
    return pd.DataFrame(rows, columns=names)


FAMILY_TABLES = {"shared_misses": shared_misses}
CONTEXT_TABLES = {"missed": missed_table, "words": words_table}
"""Tables of the records of a family on a corpus, and of one job and its context."""
