"""The one cluster bootstrap: what it draws, that draws are shared, and what it covers."""

import dataclasses

import numpy as np
import pytest
from conftest import refused

from rbpkit import InputError, load_corpus
from rbpkit.fit import relabelled
from rbpkit.summary import interval, resample, resample_weights


def test_units_of_summaries_are_modules_of_pocket_corpora_and_documents_of_others(shipped):
    corpora = {one.manifest.corpus: load_corpus(one.manifest.corpus) for one in shipped}
    for one in shipped:
        units = corpora[one.manifest.corpus].unit_numbers()
        assert np.array_equal(one.document_units, units[one.document])
    modules = corpora["pocket:qa"].units
    assert len(set(modules)) < len(modules) / 5
    assert corpora["pocket:humaneval"].units is None


def test_bad_bootstrap_is_refused():
    for units, draws in ((1, 10), (0, 10)):
        with pytest.raises(InputError):
            resample_weights(units, draws)
    with pytest.raises(InputError):
        interval(np.array([0.0, np.nan]))


def test_intervals_of_a_mean_cover_by_modules_and_not_by_documents():
    """Modules of five documents that share half of their variance: 400 corpora, 95% intervals."""
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(80), 5)
    of_units = resample_weights(80, 400)[:, units]
    of_documents = resample_weights(400, 400)
    covered = np.zeros(2)
    for _ in range(400):
        values = rng.normal(size=80)[units] + rng.normal(size=400)
        for place, weights in enumerate((of_units, of_documents)):
            low, high = interval(weights @ values / 400)
            covered[place] += low <= 0 <= high
    assert 0.915 <= covered[0] / 400 <= 0.98  # a percentile interval of 80 is a little short
    assert covered[1] / 400 < 0.85


@pytest.fixture
def readme(shipped):
    return [one for one in shipped if one.manifest.corpus == "pocket:readme"]


def test_resampled_losses_are_counts_by_hand(readme):
    models = readme[:3]
    ce, rbp, _ = resample(models, (1, 100), draws=5)
    place = np.unique(models[0].document_units, return_inverse=True)[1]
    weights = resample_weights(place.max() + 1, 5)[:, place]
    for m, summary in enumerate(models):
        hits_at_100 = summary.document_hits[:, list(summary.k_grid).index(100)]
        for b in range(5):
            tokens = nll = hits = 0.0
            for d, weight in enumerate(weights[b]):
                tokens += weight * float(summary.document_tokens[d])
                nll += weight * float(summary.document_nll[d])
                hits += weight * float(hits_at_100[d])
            assert ce[b, m] == pytest.approx(nll / tokens)
            assert rbp[b, m, 1] == hits / tokens


def test_what_is_not_paired_is_refused(readme, shipped):
    one, another = readme[:2]
    other_text = relabelled(one, fingerprint="other")
    other_units = dataclasses.replace(another, document_units=another.document)
    for given, ks, says in (
        (readme, (6,), "RBP_6"),
        ([other_text, another], (), "different text"),
        ([], (), "different text"),
        ([one, other_units], (), "units"),
    ):
        refused(says, resample, given, ks)
