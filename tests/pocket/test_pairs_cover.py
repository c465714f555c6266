"""The intervals of `predict --pairs` cover: simulations on n-grams.

What is withheld, and what counts as covered, is the entry "intervals for pairs that cover" of
docs/margins.md. The slow test has all n-grams of it (`pytest -m slow -s` prints the counts).
"""

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer

from rbpkit import load_corpus
from rbpkit_pocket import paths
from rbpkit_pocket.accuracy_rule import predict_pairs

DATA = paths.SUMMARIES.parent
V = 4096
SMOOTHINGS = ("constant", "Witten-Bell", "discounting")


def mixed(lower: np.ndarray, continuations: Counter, smoothing: str) -> np.ndarray:
    """The distribution after a context: its continuations' counts, and the lower order's."""
    ids = np.fromiter(continuations, int)
    counts = np.fromiter(continuations.values(), float)
    total, kinds = counts.sum(), len(counts)
    left, own = 0.4, 0.6 * counts / total
    if smoothing == "Witten-Bell":
        left, own = kinds / (total + kinds), counts / (total + kinds)
    elif smoothing == "discounting":
        left, own = 0.75 * kinds / total, (counts - 0.75) / total
    p = left * lower
    p[ids] += own
    return p


def counted(documents: list[list[int]]) -> dict[tuple, Counter]:
    """What follows each context of up to three ids, and how often."""
    after: dict[tuple, Counter] = defaultdict(Counter)
    for ids in documents:
        for place in range(3, len(ids)):
            for order in range(4):
                after[tuple(ids[place - order : place])][ids[place]] += 1
    return after


def n_gram_pairs(corpus: str, smoothing: str, amounts, places: int) -> pd.DataFrame:
    """Losses and accuracies of n-grams of orders 2 to 4, counted on growing parts of a text."""
    tokenizer = Tokenizer.from_file(str(DATA / "tokenizer" / "tokenizer.json"))
    ids = [tokenizer.encode(text).ids for text in load_corpus(corpus).documents]
    heldout, training = ids[: len(ids) // 4], ids[len(ids) // 4 :]
    scored = [(one, place) for one in heldout for place in range(3, min(len(one), 200))][:places]
    rows = []
    for amount in amounts:
        after = counted(training[: max(1, round(amount * len(training)))])
        found = np.empty((5, 2, len(scored)))  # of each order the nll and the rank
        for number, (document, place) in enumerate(scored):
            p = np.full(V, 1 / V)
            for order in range(4):
                context = tuple(document[place - order : place])
                if context in after:
                    p = mixed(p, after[context], smoothing)
                likely = p[document[place]]
                found[order + 1, :, number] = -np.log(likely), (p >= likely).sum()
        for order, k in product((2, 3, 4), (1, 5, 20)):
            nll, rank = found[order]
            about = {"set": smoothing, "text": corpus, "model": f"{order}-gram", "run": ""}
            rows.append(about | {"ce": nll.mean(), "k": k, "acc": (rank <= k).mean()})
    return pd.DataFrame(rows)


def withheld(table: pd.DataFrame, draws: int) -> dict[str, list[np.ndarray]]:
    """Each kind of withholding -> which rows are withheld, (n,) bool, for each simulated table."""
    rng = np.random.default_rng(0)
    kinds = {"rows": [rng.random(len(table)) < 0.3 for _ in range(draws)], "runs": []}
    for _, of_run in table.groupby(["set", "text", "model", "run"]):
        kinds["runs"].append(table.index.isin(of_run.index))
    ranks = table.groupby(["set", "text", "k"])["ce"].rank(pct=True)
    kinds["lower losses"] = [(ranks <= 1 / 3).to_numpy()]
    kinds["largest k"] = [(table["k"] == table["k"].max()).to_numpy()]
    return kinds


def simulated(tables: list[pd.DataFrame], draws: int) -> pd.DataFrame:
    """For each kind of withholding how many rows it has, how many are answered, and inside."""
    found = []
    for table in tables:
        for kind, masks in withheld(table, draws).items():
            nameless = table.drop(columns=["model", "run"])
            told = {kind: table, f"{kind}, no names": nameless}
            for (name, known), mask in product(told.items(), masks):
                if known is table or kind in ("rows", "runs"):
                    predicted = predict_pairs(known.assign(acc=table["acc"].mask(mask)))
                    truth = table["acc"][mask]
                    inside = (predicted["low"] <= truth) & (truth <= predicted["high"])
                    found.append((name, mask.sum(), predicted["low"].count(), inside.sum()))
    counts = pd.DataFrame(found, columns=["kind", "rows", "answered", "inside"])
    return counts.groupby("kind", sort=False).sum()


def test_intervals_cover_a_few_tables():
    table = n_gram_pairs("pocket:code", "Witten-Bell", np.geomspace(1 / 64, 1 / 8, 5), 300)
    small_k = table[table["k"] < 20].reset_index(drop=True)
    counts = simulated([small_k], draws=1)
    assert (counts["inside"] >= 0.88 * counts["answered"]).all()
    assert counts.loc["largest k", "answered"] == 0 < counts.loc["lower losses", "answered"]


@pytest.mark.slow
def test_intervals_cover_n_grams():
    amounts = np.geomspace(1 / 64, 1, 8)
    tables = []
    for smoothing in SMOOTHINGS:
        texts = ("pocket:prose", "pocket:code")
        pairs = [n_gram_pairs(text, smoothing, amounts, 2500) for text in texts]
        tables.append(pd.concat(pairs, ignore_index=True))
    counts = simulated(tables, draws=20)
    print(counts.to_string())
    share = (counts["inside"] / counts["answered"]).dropna()
    named = share[~share.index.str.contains("no names")]
    assert (share >= 0.90).all() and (named <= 0.99).all(), share
    answered = counts["answered"] / counts["rows"]
    assert answered["lower losses"] >= 0.5 and answered["largest k"] == 0
