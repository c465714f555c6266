"""Runs that ship as totals: the grid of sizes and tokens, ablations, other seeds. Copying."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from conftest import refused
from made_summaries import records_of

from rbpkit_pocket.ablations import (
    completes_pair,
    load_totals,
    save_totals,
    totals_of,
    totals_of_tokens,
)
from rbpkit_pocket.copying import LENGTH, copying_probe


def test_totals_are_those_of_the_summary(shipped, tmp_path):
    one = next(one for one in shipped if one.manifest.corpus == "pocket:humaneval")
    whole = totals_of(one)
    assert whole.ce() == one.ce()
    assert all(whole.rbp(int(k)) == one.rbp(int(k)) for k in one.k_grid)
    refused("k = 11", whole.rbp, 11)

    save_totals([whole], tmp_path / "totals.jsonl.gz")
    assert load_totals(tmp_path / "totals.jsonl.gz") == [whole]


class Planted:
    """A model by a rule: `logits` are `rise` nats up where the rule says, and 0 elsewhere."""

    V, S, family, rise = 500, 1, "planted", 8.0

    def __init__(self, rule):
        self.rule = rule

    def logits(self, ids):
        logits = torch.zeros(*ids.shape, self.V)
        for b, row in enumerate(ids.tolist()):
            for i in range(len(row)):
                likely = self.rule(row[: i + 1])
                logits[b, i, likely] = self.rise
        return logits


def copy(seen):
    """The token that comes after LENGTH tokens that repeat."""
    return seen[-LENGTH:][:1] if len(seen) >= LENGTH else []


def followers(seen):
    """What followed the last token before, as an induction head would look it up."""
    return [after for before, after in pairwise(seen) if before == seen[-1]]


def test_the_copying_probe_tells_a_copy_from_less():
    # A right guess of one token out of V, against a prediction without any.
    gain = math.log(Planted.V) - math.log1p((Planted.V - 1) * math.exp(-Planted.rise))
    copies = copying_probe(Planted(copy))
    assert copies["drop"] == pytest.approx(gain)
    # In another order the copies are wrong, except one in LENGTH: a token that stays in its place.
    assert copies["order"] == pytest.approx(Planted.rise * (1 - 1 / LENGTH), abs=0.1)
    induction = copying_probe(Planted(followers), sequences=64)
    assert min(induction["drop_low"], induction["order_low"]) > 0.9 * gain
    # The last token alone may err, but it errs the same way twice: exactly nothing.
    no_context = copying_probe(Planted(lambda seen: [seen[-1] * 7 % 500]), sequences=64)
    assert no_context["drop"] == pytest.approx(0, abs=1e-5) == no_context["order"]
    # Every token seen becomes likelier, in whatever order: CE falls, and the order adds nothing.
    bag = copying_probe(Planted(lambda seen: sorted(set(seen))), sequences=64)
    assert bag["drop_low"] > 1 and bag["order"] == pytest.approx(0, abs=1e-5)


# -- pairs of tokens that repeat, and totals over some tokens alone --------------------------------


def some_records(seed: int, T: int = 600, V: int = 12):
    """Random ranks of few kinds of token, in some twenty documents, one or two of one token."""
    rng = np.random.default_rng(seed)
    document = np.sort(np.append(rng.integers(0, 20, T - 1), 20))
    document = np.unique(document, return_inverse=True)[1]
    ranks = rng.integers(1, V + 1, T)
    return records_of(ranks, document, target=rng.integers(0, V, T), V=V)


@pytest.mark.parametrize("seed", range(4))
def test_a_pair_repeats_by_a_loop(seed):
    records = some_records(seed)
    target, document = records.target.tolist(), records.document.tolist()
    expected = []
    for i in range(len(target)):
        begins = document.index(document[i])
        before = {(target[j - 1], target[j]) for j in range(begins + 1, i)}
        expected.append(i > begins and (target[i - 1], target[i]) in before)
    assert 0 < sum(expected) < len(expected)
    assert completes_pair(records).tolist() == expected


def test_totals_of_two_kinds_add_up_to_the_whole():
    records = some_records(0)
    chosen = completes_pair(records)
    pairs = totals_of_tokens(records, chosen)
    others = totals_of_tokens(records, ~chosen)
    assert pairs.manifest.tokens == chosen.sum()
    assert others.manifest.tokens == (~chosen).sum()
    assert pairs.rbp(1) == (records.rank()[chosen] == 1).mean()
    assert pairs.ce() == pytest.approx(records.nll[chosen].astype(float).mean())
    whole, expected = pairs.plus(others), totals_of(records.summary)
    assert whole.manifest == expected.manifest and whole.hits == expected.hits
    assert whole.nll == pytest.approx(expected.nll)
