"""Runs that ship as totals: the grid of sizes and tokens, ablations, other seeds. Copying."""

from __future__ import annotations

import dataclasses
import itertools
import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from rbpkit.errors import InputError
from rbpkit_pocket import paths, recipes
from rbpkit_pocket.ablations import (
    ABLATION_TOKENS,
    load_totals,
    save_totals,
    size_and_tokens,
    totals_of,
)
from rbpkit_pocket.copying import LENGTH, copying_probe
from rbpkit_pocket.plugin import TEXT_CORPORA

TEXT_NAMES = [f"pocket:{name}" for name in TEXT_CORPORA]


@pytest.fixture(scope="module")
def grid():
    return load_totals(paths.GRID)


def changed(one, **fields):
    """A summary or totals with other fields of its manifest."""
    return dataclasses.replace(one, manifest=one.manifest.model_copy(update=fields))


def by_job(totals):
    """(corpus, model) -> its totals."""
    return {(one.manifest.corpus, one.manifest.model): one for one in totals}


def only(summaries, **fields):
    """Those whose manifests have these fields."""
    chosen = []
    for summary in summaries:
        if {name: getattr(summary.manifest, name) for name in fields} == fields:
            chosen.append(summary)
    return chosen


GRID_TOKENS = (1.5e6, 3e6, 6e6)  # and 12 million


def test_the_grid_is_whole_and_its_losses_are_those_of_the_totals(grid):
    table = size_and_tokens(grid, (1, 100))
    assert not table.duplicated(["corpus", "quantity", "S", "T"]).any()
    names = [run.name for run in recipes.runs_of("Pythia")]
    # The two largest, of over a million parameters, are trained on 12 million tokens alone.
    expected = {(name, 12e6) for name in names}
    expected.update(itertools.product(names[:-2], GRID_TOKENS))
    for _, part in table.groupby(["corpus", "quantity"]):
        assert set(zip(part["model"], part["T"], strict=True)) == expected
        assert len(part) == len(expected)
    assert set(table["corpus"]) == set(TEXT_NAMES) and ABLATION_TOKENS in GRID_TOKENS
    first = grid[0]
    millions = float(first.manifest.model.split("-")[-1][:-1])
    rows = table[(table["corpus"] == first.manifest.corpus) & (table["S"] == first.manifest.S)]
    losses = rows[rows["T"] == 1e6 * millions].set_index("quantity")["loss"]
    assert losses["CE"] == pytest.approx(first.ce())
    for k in (1, 100):
        assert losses[f"RBP_{k}"] == pytest.approx(-np.log(first.rbp(k)))
    with pytest.raises(InputError, match="pythia-w32-l2 is not of the grid"):
        size_and_tokens([changed(first, model="pythia-w32-l2")], (1,))


def test_pairs_and_other_tokens_are_the_whole_of_every_model_of_the_grid(grid):
    pairs, others = by_job(load_totals(paths.PAIR_TOKENS)), by_job(load_totals(paths.OTHER_TOKENS))
    assert pairs.keys() == others.keys()
    for job, whole in by_job(grid).items():
        both = pairs[job].plus(others[job])
        assert both.manifest.tokens == whole.manifest.tokens
        # Up to a rank: they may have been measured on different processors.
        assert max(abs(hits - both.hits[k]) for k, hits in whole.hits.items()) <= 2  # of 100,000
        assert both.ce() == pytest.approx(whole.ce())


def test_totals_are_those_of_the_summary(shipped, tmp_path):
    one = only(shipped, corpus="pocket:humaneval")[0]
    whole = totals_of(one)
    assert whole.manifest == one.manifest and whole.ce() == one.ce()
    assert all(whole.rbp(int(k)) == one.rbp(int(k)) for k in one.k_grid)
    with pytest.raises(InputError, match=r"k = 11, .* was counted at k = 1, 2"):
        whole.rbp(11)
    path = tmp_path / "totals.jsonl.gz"
    save_totals([whole], path)
    assert load_totals(path) == [whole]
    path.write_bytes(path.read_bytes()[:-20])
    for broken in (path, tmp_path / "none.jsonl.gz"):
        with pytest.raises(InputError, match=f"{broken.name}: missing or damaged"):
            load_totals(broken)


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


def followers(seen):
    """What followed the last token before, as an induction head would look it up."""
    return [after for before, after in pairwise(seen) if before == seen[-1]]


def test_the_copying_probe_tells_a_copy_from_less():
    # A right guess of one token out of V, against a prediction without any.
    gain = math.log(Planted.V) - math.log1p((Planted.V - 1) * math.exp(-Planted.rise))
    copies = copying_probe(Planted(lambda seen: seen[-LENGTH:][:1] if len(seen) >= LENGTH else []))
    assert copies["drop"] == pytest.approx(gain)
    # In another order the copies are wrong, except one in LENGTH: a token that stays in its place.
    assert copies["order"] == pytest.approx(Planted.rise * (1 - 1 / LENGTH), abs=0.1)
    induction = copying_probe(Planted(followers), sequences=64)
    assert induction["drop_low"] > 0.9 * gain and induction["order_low"] > 0.9 * gain
    # No context; the last token alone (it may err, but the same way twice): exactly nothing.
    for rule in (lambda seen: [3, 5, 7], lambda seen: [seen[-1] * 7 % 500]):
        nothing = copying_probe(Planted(rule), sequences=64)
        assert nothing["drop"] == pytest.approx(0, abs=1e-5) == nothing["order"]
    # Every token seen becomes likelier, in whatever order: CE falls, and the order adds nothing.
    bag = copying_probe(Planted(lambda seen: sorted(set(seen))), sequences=64)
    assert bag["drop_low"] > 1 and bag["order"] == pytest.approx(0, abs=1e-5)
