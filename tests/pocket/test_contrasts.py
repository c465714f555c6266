"""Pairs of runs that differ in one thing: the plan, and the number of the margin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbpkit import load_summaries
from rbpkit_pocket import contrasts, paths
from rbpkit_pocket.ablations import totals_of
from rbpkit_pocket.contrasts import PAIRS, log_loss, pair_differences, plan, planned, verdicts
from rbpkit_pocket.families import initial_model


@pytest.fixture(scope="module")
def reference():
    return load_summaries(paths.SUMMARIES)


def test_a_pair_differs_in_one_thing_and_every_name_is_another():
    runs = plan()
    assert len({one.run.name for one in runs}) == len(runs) == 63
    for changed, other in PAIRS.items():
        one, two = planned(changed, 1, 2).run, planned(other, 1, 2).run
        differ = [f for f in vars(one.recipe) if getattr(one.recipe, f) != getattr(two.recipe, f)]
        assert len(differ) == (changed not in ("deep", "dropout"))
        assert (one.shape == two.shape) == (changed != "deep")


@pytest.mark.parametrize("size", contrasts.SIZES)
def test_deep_and_wide_have_the_same_size(size):
    S = []
    for change in ("deep", "wide"):
        run = planned(change, size, 1).run
        network = initial_model(run.family, run.shape, 0)
        head = network.get_output_embeddings().weight.numel()
        S.append(sum(p.numel() for p in network.parameters()) - 2 * head)
    assert S[0] == pytest.approx(S[1], rel=0.02)


def planted(reference, shift):
    """Totals of one pocket model for all pairs, RBP_10 of a changed run moved by `shift`."""
    originals = [totals_of(one) for one in reference if one.manifest.model == "pythia-w48-l3"]
    runs = []
    random = np.random.default_rng(0)
    for changed, other in PAIRS.items():
        for size in contrasts.SIZES:
            for seed in contrasts.SEEDS:
                for change in (changed, other):
                    noise = 0.001 * random.normal() + (shift if change == changed else 0)
                    for one in originals:
                        name = planned(change, size, seed).run.name
                        loss = np.exp(log_loss(one, "RBP_10") + noise)
                        hits = {**one.hits, 10: round(np.exp(-loss) * one.manifest.tokens)}
                        manifest = one.manifest.model_copy(update={"model": name})
                        runs.append(replace(one, manifest=manifest, hits=hits))
    return runs


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0, "through"), (-0.02, "beyond"), (0.01, "cannot be told")]
)
def test_a_planted_shift_is_found(reference, shift, verdict):
    differences = pair_differences(planted(reference, shift), reference)
    table = verdicts(differences)
    assert set(table["verdict"]) == {verdict} and (table["pairs"] == 9).all()
    means = table["mean"].unstack("quantity")
    assert means["RBP_10"].to_numpy() == pytest.approx(shift, abs=0.002)
    assert means[["RBP_1", "RBP_100"]].to_numpy() == pytest.approx(0, abs=1e-12)
    few = differences[differences["size"] == 0]
    assert set(verdicts(few)["verdict"]) == {"cannot be told"}
