"""Pairs of runs that differ in one thing: the plan, and the number of the margin."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from rbpkit_pocket import contrasts
from rbpkit_pocket.ablations import totals_of
from rbpkit_pocket.contrasts import PAIRS, log_loss, pair_differences, plan, planned, verdicts
from rbpkit_pocket.families import initial_model


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


def moved(one, name: str, shift: float):
    """The totals of a run of this name whose log loss at k = 10 is `shift` higher."""
    loss = np.exp(log_loss(one, "RBP_10") + shift)
    hits = {**one.hits, 10: round(np.exp(-loss) * one.manifest.tokens)}
    return replace(one, manifest=one.manifest.model_copy(update={"model": name}), hits=hits)


def planted(reference, shift: float):
    """Totals of one pocket model for all pairs, RBP_10 of a changed run moved by `shift`."""
    originals = [totals_of(one) for one in reference if one.manifest.model == "pythia-w48-l3"]
    noise = np.random.default_rng(0)
    runs = []
    for pair, size, seed in product(PAIRS.items(), contrasts.SIZES, contrasts.SEEDS):
        for change, by in zip(pair, (shift, 0), strict=True):
            name = planned(change, size, seed).run.name
            by += 0.001 * noise.normal()
            runs += [moved(one, name, by) for one in originals]
    return runs


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0, "through"), (-0.02, "beyond"), (0.01, "cannot be told")]
)
def test_a_planted_shift_is_found(shipped, shift, verdict):
    differences = pair_differences(planted(shipped, shift), shipped)
    table = verdicts(differences)
    assert set(table["verdict"]) == {verdict} and (table["pairs"] == 9).all()
    means = table["mean"].unstack("quantity")
    assert means["RBP_10"].to_numpy() == pytest.approx(shift, abs=0.002)
    assert means[["RBP_1", "RBP_100"]].to_numpy() == pytest.approx(0, abs=1e-12)
    few = differences[differences["size"] == 0]
    assert set(verdicts(few)["verdict"]) == {"cannot be told"}
