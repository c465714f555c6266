"""RBP per word: a word is right within k where all of its tokens are, beside RBP per token.

A token is a unit of the tokenizer, not of the text: families cut the same text into different
numbers of tokens, so that their RBP_k, a mean over tokens, are means over different things.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rbpkit import paper
from rbpkit.audit.strata import KS, Context
from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law
from rbpkit.records import Records
from rbpkit.sources import published_curves

LENGTHS = ("all", "1", "2", "3", "4 or more")
# Here all families score one text. HotpotQA's documents are short; of HumanEval's 164 the limit of
# 512 tokens cuts nine for GPT-2's tokenizer (3% of the tokens; counted with the tokenizer itself)
# and two for Pythia's, so the families that need most tokens score a little less of it.
# Of Wiki and AusLegal most documents are cut, and not at the same place for all families.
WHOLE_TEXT = ("HumanEval", "HotpotQA")


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


def word_fits(table: pd.DataFrame) -> pd.DataFrame:
    """alpha per word beside alpha per token, from `words_table` of all jobs (its "all" rows).

    Columns: corpus, family, k, n, tokens a word (mean), token, word (RBP_k of the largest model),
    alpha_token, alpha_word, difference (word less token) with low and high (95% t interval of the
    regression of the ratio of the two losses on S: for new models), R2_token, R2_word.
    """
    rows = []
    whole = table[table["length"] == "all"]
    for (corpus, family, k), cell in whole.groupby(["corpus", "family", "k"], sort=False):
        cell = cell.sort_values("S")
        token = (cell["token_hits"] / cell["tokens"]).to_numpy()
        word = (cell["word_hits"] / cell["words"]).to_numpy()
        S = cell["S"].to_numpy()
        try:
            by_token, by_word = (fit_power_law(S, -np.log(rbp)) for rbp in (token, word))
            apart = fit_power_law(S, np.log(word) / np.log(token))
        except InputError:
            continue
        mean = float(cell["tokens"].iloc[0] / cell["words"].iloc[0])
        row = {"corpus": corpus, "family": family, "k": k, "n": by_token.n, "tokens a word": mean}
        row |= {"token": token[-1], "word": word[-1]}
        row |= {"alpha_token": by_token.alpha, "alpha_word": by_word.alpha}
        row["difference"] = apart.alpha
        row["low"], row["high"] = apart.alpha_interval
        rows.append(row | {"R2_token": by_token.r2, "R2_word": by_word.r2})
    return pd.DataFrame(rows)


def bits_table(table: pd.DataFrame) -> pd.DataFrame:
    """Bits a word and a token of each job: corpus, family, model, S, tokens a word, bits_token,
    bits_word; from `words_table` of all jobs.
    """
    one = table[(table["length"] == "all") & (table["k"] == KS[0])].copy()
    bits = one["nll"] / np.log(2)
    one["tokens a word"] = one["tokens"] / one["words"]
    one["bits_token"], one["bits_word"] = bits / one["tokens"], bits / one["words"]
    names = ["corpus", "family", "model", "S", "tokens a word", "bits_token", "bits_word"]
    return one[names].reset_index(drop=True)


def published_by_text(S: float, k: int = 1) -> pd.DataFrame:
    """-log RBP_k of the families at one size, a token and for the text: corpus, family, tokens,
    token (of the fitted line at S), text (tokens x token), token and text over the smallest.

    `text` is -log of the chance that all of a text is within k, were its tokens independent: it
    adds up over a text, however the text is cut. For WHOLE_TEXT only. S is to lie in the range of
    each family, or the line is an extrapolation ("beyond").
    """
    counts = paper.token_counts().set_index(["dataset", "family"])["tokens"]
    rows = []
    for (corpus, family), curve in published_curves(k).items():
        if corpus not in WHOLE_TEXT:
            continue
        line = fit_power_law(curve.S, curve.loss, labels=curve.models)
        loss, tokens = line.predict(S).loss, int(counts[corpus, family])
        beyond = not line.S_min <= S <= line.S_max
        rows.append((corpus, family, tokens, loss, tokens * loss, beyond))
    frame = pd.DataFrame(rows, columns=["corpus", "family", "tokens", "token", "text", "beyond"])
    for name in ("token", "text"):
        least = frame.groupby("corpus")[name].transform("min")
        frame[f"{name} / least"] = frame[name] / least
    return frame


CONTEXT_TABLES = {"words": words_table}
