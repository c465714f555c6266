"""What CE bounds: every model is above the bound; pairs of equal CE are found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_summaries import by_documents

from rbpkit.audit import bounds
from rbpkit.audit.bounds import equal_pairs
from rbpkit.errors import InputError


def test_every_model_is_above_the_bound(shipped):
    for table in (bounds.published_bounds(), bounds.measured_bounds(shipped, [1, 10, 100, 1000])):
        assert len(table) and (table["RBP"] >= table["bound"]).all()


def corpus_of(rng, ce, rbp, documents=100, length=60):
    """Documents of models with these CE and RBP; what is common to a document is common to all."""
    shared = rng.normal(0, 0.3, documents)
    tokens = np.full(documents, length)
    nll = np.stack([rng.gamma(length, one / length, documents) for one in ce]) * length
    nll += shared * 5
    hard = np.clip(np.array(rbp)[:, None] - 0.1 * shared, 0.02, 0.98)
    hits = rng.binomial(length, hard)
    return [
        by_documents(name, 1, tokens, *one, 1) for name, *one in zip(NAMES, nll, hits, strict=True)
    ]


NAMES = ["a", "b", "c", "d", "e"]
CE = np.array([4.4, 4.0, 4.0, 3.6, 3.2])
ON_LINE = np.exp(-np.exp(0.2 + 1.3 * np.log(CE / 4)))  # RBP falls on one line in CE


def test_planted_pairs_of_equal_ce_are_found():
    rbp = ON_LINE.copy()
    rbp[2] += 0.06
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = equal_pairs(corpus_of(rng, CE, rbp), within=0.05)
        found += bool(table.query("a == 'b' and b == 'c'")["apart"].any())
    assert found >= 18


def test_pairs_on_the_line_are_not_called_apart():
    """The stated rate: at most 5% of corpora; of 120, with binomial error, at most 12."""
    called = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        called += equal_pairs(corpus_of(rng, CE, ON_LINE), within=0.05)["apart"].any()
    assert called <= 12


def test_pairs_the_other_way_round():
    ce = CE.copy()
    ce[2] = 3.75
    rng = np.random.default_rng(0)
    table = equal_pairs(corpus_of(rng, ce, ON_LINE, 400, 200), held="RBP", within=0.05)
    assert table.query("a == 'b' and b == 'c'")["apart"].all() and len(table)


def test_pairs_that_cannot_be_compared_are_refused(shipped):
    prose = [one for one in shipped if one.manifest.corpus == "pocket:prose"]
    for models, asked, says in (
        (shipped, {}, "same tokens"),
        (prose, {"k": 6}, "k_grid"),
        (prose, {"held": "S"}, "held"),
        (prose[:2], {}, "three models"),
    ):
        with pytest.raises(InputError, match=says):
            equal_pairs(models, **asked)


def test_the_figure_stands_without_the_pocket_half():
    none = pd.DataFrame()
    figure = bounds.figure_bounds(bounds.published_bounds(), none, none)
    assert len(figure.axes) == 2
    assert len(bounds.bounds_points(bounds.published_bounds(), none, none)) == 56
